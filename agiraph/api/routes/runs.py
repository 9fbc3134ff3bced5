"""Endpoints that list the runs of one agent and search the runs of all agents."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, GatewayDep, Limit
from agiraph.api.routes.entities import EXTRA_SECONDS, if_answered
from agiraph.api.strict_json import StrictRoute
from agiraph.board.board import RunFacts
from agiraph.board.failure_class import class_of
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import BROKER
from agiraph.core.models import Agent, RunStatus
from agiraph.core.turns import Usage
from agiraph.http.api import FoundRunView, RunOrder, RunsPageView, RunView
from agiraph.messages.model import AskUsage, UsageTable

AROUND: Final = 80
"""Characters that a snippet shows before and after the found word."""

router = APIRouter(route_class=StrictRoute, tags=["agents"])


@router.get("/agents/{agent}/runs", dependencies=[READ])
async def runs(agent: AgentDep, gateway: GatewayDep) -> list[RunView]:
    """List an agent's runs, oldest first."""
    home = gateway.agents.home_of(agent)
    boards = (gateway.boards.get(home.run(run)) for run in gateway.agents.runs_of(agent))
    views = [RunView.model_validate(_shown(board.run, agent)) for board in boards if board.run]
    return sorted(views, key=lambda run: run.started_at)


@router.get("/runs", dependencies=[READ])
async def find(
    gateway: GatewayDep,
    q: Annotated[
        str,
        Query(
            description="Words that are all in the agent's name, the goal, the result or reason.",
            max_length=200,
        ),
    ] = "",
    status: Annotated[list[RunStatus] | None, Query(description="One of these.")] = None,
    order: RunOrder = "newest",
    limit: Limit = 50,
) -> RunsPageView:
    """Search the runs of all agents; the answer contains the first matches and their number."""
    agents = gateway.agents.all()
    found, table = await asyncio.gather(
        asyncio.to_thread(_found, gateway, agents, q, status),
        if_answered(
            gateway.bus.ask(BROKER, AskUsage(by="run"), UsageTable, within_seconds=EXTRA_SECONDS)
        ),
    )
    spent = {row.key: row.usage for row in table.rows} if table is not None else {}
    now = gateway.clock.now()
    key, is_last_first = ORDERS[order]
    found.sort(key=lambda run: key(run, spent, now), reverse=is_last_first)
    views = tuple(_with_cost(run, spent) for run in found[:limit])
    return RunsPageView(runs=views, total=len(found))


def _found(
    gateway: Gateway, agents: list[Agent], words: str, statuses: list[RunStatus] | None
) -> list[FoundRunView]:
    """Return the runs that contain all the words; a run with a damaged board is left out."""
    wanted = words.casefold().split()
    found = []
    for agent in agents:
        home = gateway.agents.home_of(agent)
        for id in gateway.agents.runs_of(agent):
            try:
                run = gateway.boards.facts(home.run(id))
            except (AgiraphError, OSError):
                continue
            if run is None or (statuses and run.status not in statuses):
                continue
            texts = (agent.name, run.goal, run.summary or "", run.reason or "")
            if all(word in "\n".join(texts).casefold() for word in wanted):
                more = {"agent": agent.id, "agent_name": agent.name, "result": None}
                more["snippet"] = _snippet((run.summary or "", run.reason or ""), wanted)
                found.append(FoundRunView.model_validate(_shown(run, agent) | more))
    return found


def _snippet(texts: tuple[str, ...], words: list[str]) -> str:
    """Return the text around the first of `words`, from the first of `texts` that has one.

    '' if no text contains one.
    """
    for text in texts:
        line = " ".join(text.split())
        places = [place for word in words if (place := line.casefold().find(word)) >= 0]
        if places:
            start = max(0, min(places) - AROUND)
            end = min(places) + AROUND
            return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
    return ""


def _shown(run: RunFacts, agent: Agent) -> dict[str, Any]:
    is_current = run.id == agent.run
    has_roles = run.roles is not None or (is_current and agent.roles is not None)
    shown = {"id": run.id, "result": run.summary, "is_current": is_current, "has_roles": has_roles}
    return dict(run) | shown | {"failure_class": class_of(run.status, run.reason)}


def _with_cost(run: FoundRunView, spent: Mapping[str, Usage]) -> FoundRunView:
    usage = spent.get(run.id)
    return run.model_copy(update=usage.sums()) if usage is not None else run


def _seconds(run: FoundRunView, now: float) -> float:
    return (run.ended_at or now) - run.started_at


def _cost(run: FoundRunView, spent: Mapping[str, Usage]) -> tuple[float, int]:
    sums = spent[run.id].sums() if run.id in spent else {}
    return float(sums.get("cost_usd") or 0), int(sums.get("tokens") or 0)


SortKey = Callable[[FoundRunView, Mapping[str, Usage], float], Any]
ORDERS: Final[dict[RunOrder, tuple[SortKey, bool]]] = {
    "newest": (lambda run, spent, now: run.started_at, True),
    "oldest": (lambda run, spent, now: run.started_at, False),
    "longest": (lambda run, spent, now: _seconds(run, now), True),
    "costliest": (lambda run, spent, now: _cost(run, spent), True),
    "name": (lambda run, spent, now: (run.agent_name.casefold(), run.started_at), False),
}
"""The sort key of each order, and whether the greatest value comes first."""
