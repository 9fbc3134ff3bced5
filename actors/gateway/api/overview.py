"""Endpoint: all agents with their teams, in one answer; and how a team is listed."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.agents import summary
from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.entities import EXTRA_SECONDS, children, if_answered, shown_activity
from actors.gateway.api.live import last_event
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import Gateway
from actors.gateway.state.boards import worker_view
from actors.gateway.statuses import StatusReader
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import BROKER, worker_address
from agiraph.core.models import Agent
from agiraph.core.turns import Usage
from agiraph.http.api import TeamView, WorkerView
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.storage.home import RunHome

router = APIRouter(tags=["agents"])

NOTHING = Usage()


@router.get("/overview", dependencies=[READ])
async def overview(
    gateway: GatewayDep,
    agent: Annotated[list[str] | None, Query(description="Only these.")] = None,
) -> list[TeamView]:
    """List all agents with their workers: what each does, has spent and has to say to you.

    An agent whose board is damaged is listed without its workers.
    """
    agents = [gateway.agents.find(one) for one in agent] if agent else gateway.agents.all()
    table, spent = await asyncio.gather(
        if_answered(children(gateway)), if_answered(spent_by_all(gateway))
    )
    statuses = gateway.statuses(table or ())
    by_run = {row.key: row.usage for row in spent.rows} if spent else {}
    return [_team_view(gateway, one, statuses, spent, by_run) for one in agents]


async def spent_by_all(gateway: Gateway) -> UsageTable:
    """Return what each entity and each run has spent."""
    asked = AskUsage(by="run")
    return await gateway.ask(BROKER, asked, UsageTable, within_seconds=EXTRA_SECONDS)


def _team_view(
    gateway: Gateway,
    agent: Agent,
    statuses: StatusReader,
    spent: UsageTable | None,
    by_run: dict[str, Usage],
) -> TeamView:
    try:
        workers = team(gateway, agent, gateway.agents.run_of(agent), statuses, spent)
    except (AgiraphError, OSError):
        workers = []
    usage = by_run.get(agent.run or "", NOTHING)
    cost = {"tokens": usage.tokens, "cost_usd": usage.cost_usd} if spent else {}
    shown = summary(gateway, agent, statuses, last_event(gateway, agent))
    return TeamView.model_validate({**dict(shown), **cost, "workers": tuple(workers)})


def team(
    gateway: Gateway,
    agent: Agent,
    run: RunHome | None,
    statuses: StatusReader,
    spent: UsageTable | None,
) -> list[WorkerView]:
    """Return the workers of a run, also those that have left; `spent` is None if nobody knows."""
    board, unread = gateway.boards.get(run), gateway.messages.unread(agent.id)
    views = []
    for worker in board.workers.values():
        address, status = worker_address(agent.id, worker.id), statuses.worker(agent, worker)
        child = statuses.child(address)
        # What one that has stopped last reported is over.
        doing = {} if status == "stopped" else shown_activity(gateway, statuses, address)
        usage = spent.by_entity.get(address, NOTHING) if spent else None
        views.append(
            worker_view(
                board,
                agent.id,
                worker,
                status,
                **doing,
                unread=unread.get(worker.name, 0),
                process=child.state if child is not None else None,
                tokens=usage.tokens if usage else None,
                cost_usd=usage.cost_usd if usage else None,
            )
        )
    return views
