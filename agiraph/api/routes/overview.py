"""Endpoint that lists all agents with their teams in one answer."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.agents import summary
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.routes.entities import (
    EXTRA_SECONDS,
    children,
    if_answered,
    machine_of,
    shown_activity,
)
from agiraph.api.routes.live import last_event
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import BROKER, agent_of, worker_address
from agiraph.core.models import Agent
from agiraph.core.turns import Usage
from agiraph.http.api import TeamView, WorkerView
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.readmodel.boards import worker_view
from agiraph.readmodel.statuses import StatusReader
from agiraph.storage.home import RunHome

router = APIRouter(route_class=StrictRoute, tags=["agents"])

NOTHING = Usage()
Spent = Mapping[str, Usage]


@router.get("/overview", dependencies=[READ])
async def overview(
    gateway: GatewayDep,
    agent: Annotated[list[str] | None, Query(description="Only these.")] = None,
) -> list[TeamView]:
    """List all agents with their workers: activity, spending and unread messages.

    An agent whose board is damaged is listed without its workers.
    """
    agents = [gateway.agents.find(one) for one in agent] if agent else gateway.agents.all()
    runs = [one.run for one in agents if one.run is not None]
    table, spent = await asyncio.gather(
        if_answered(children(gateway)), if_answered(spent_in(gateway, runs))
    )
    statuses = gateway.statuses(table or ())
    of_agent: dict[str | None, dict[str, Usage]] = {one.id: {} for one in agents}
    for address, usage in (spent or {}).items():
        of_agent.setdefault(agent_of(address), {})[address] = usage
    return [
        _team_view(gateway, one, statuses, None if spent is None else of_agent[one.id])
        for one in agents
    ]


async def spent_in(gateway: Gateway, runs: Sequence[str]) -> Spent:
    """Return the spending of each entity in these runs, by address."""
    if not runs:
        return {}
    asked = AskUsage(runs=tuple(runs))
    table = await gateway.bus.ask(BROKER, asked, UsageTable, within_seconds=EXTRA_SECONDS)
    return table.by_entity


def _team_view(
    gateway: Gateway,
    agent: Agent,
    statuses: StatusReader,
    spent: Spent | None,
) -> TeamView:
    try:
        workers = team(gateway, agent, gateway.agents.run_of(agent), statuses, spent)
    except (AgiraphError, OSError):
        workers = []
    cost: dict[str, object] = {}
    if spent is not None:
        cost = sum(spent.values(), NOTHING).sums()
    shown = summary(gateway, agent, statuses, last_event(gateway, agent))
    return TeamView.model_validate({**dict(shown), **cost, "workers": tuple(workers)})


def team(
    gateway: Gateway,
    agent: Agent,
    run: RunHome | None,
    statuses: StatusReader,
    spent: Spent | None,
) -> list[WorkerView]:
    """Return the workers of a run, including those that left.

    `spent` is their usage by address, None if unknown.
    """
    board, unread = gateway.boards.get(run), gateway.messages.unread(agent.id)
    views = []
    for worker in board.workers.values():
        address, status = worker_address(agent.id, worker.id), statuses.worker(agent, worker)
        child = statuses.child(address)
        # The last report of a stopped worker is outdated.
        doing = {} if status == "stopped" else shown_activity(gateway, statuses, address)
        usage = spent.get(address, NOTHING) if spent is not None else None
        views.append(
            worker_view(
                board,
                agent.id,
                worker,
                status,
                **doing,
                unread=unread.get(worker.name, 0),
                host=machine_of(child) if child is not None else "",
                process=child.state if child is not None else None,
                **(usage.sums() if usage else {}),
            )
        )
    return views
