"""Endpoints for a run's timeline and the message traffic between its entities."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Query

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, GatewayDep, RunDep
from agiraph.api.strict_json import StrictRoute
from agiraph.board.board import Board
from agiraph.board.critical_path import CriticalStretch, Wait, critical_path, divided
from agiraph.core.ids import COORDINATOR_NAME, NodeId, coordinator_address, worker_address
from agiraph.core.models import Agent
from agiraph.http.api import CriticalStretchView, SpanView, TimelineView, TrafficView
from agiraph.readmodel.message_log import JOURNAL
from agiraph.tracing.timeline import Bar, RunTimeline, bounded, entity_order, marked

MOST_BARS: Final = 2000

router = APIRouter(route_class=StrictRoute, dependencies=[READ], tags=["work"])

Resolution = Annotated[
    float,
    Query(ge=0, le=1e9, description="Bars that are shorter are put together with their next."),
]
Time = Annotated[float | None, Query(ge=0, le=1e12, description="Epoch seconds.")]


@router.get("/agents/{agent}/timeline")
def timeline(
    agent: AgentDep,
    run: RunDep,
    gateway: GatewayDep,
    resolution_seconds: Resolution = 0.0,
    since: Time = None,
    until: Time = None,
) -> TimelineView:
    """Show a run as timelines of its entities, with its critical path.

    `since` and `until` select the bars that overlap this time. If there are too many bars, they are
    merged at a coarser resolution than requested.
    """
    if run is None:
        return TimelineView()
    id, path = run.path.name, gateway.agents.home_of(agent).events
    with gateway.timelines.current(path, id, lambda: RunTimeline(agent.id, id)) as made:
        bars, start, end, seq = made.bars(), made.start, made.end, made.seq
    if start is None:
        return TimelineView(run=id, seq=seq)
    board, now = gateway.boards.get(run), end or gateway.clock.now()
    if end is None and agent.run == id:
        bars += _thinking(gateway, agent, board)
    names = _names(agent, board)
    named = [
        replace(bar, entity=names[bar.entity]) if bar.entity in names else bar
        for bar in bars
        if bar.entity
    ]
    shown = [
        bar for bar in named if bar.start <= (until or now) and (bar.end or now) >= (since or start)
    ]
    stretches = _with_waits(board, critical_path(board, start, now), named, now)
    found, resolution = bounded(_marked(shown, stretches, now), resolution_seconds, MOST_BARS)
    return TimelineView(
        run=id,
        start=start,
        end=end,
        seq=seq,
        resolution_seconds=resolution,
        entities=entity_order(shown),
        spans=tuple(_span_view(bar, now) for bar in found),
        critical=tuple(_stretch_view(board, stretch) for stretch in stretches),
    )


def _thinking(gateway: Gateway, agent: Agent, board: Board) -> Iterator[Bar]:
    """Yield a bar for each current model call; its event is written only when it ends."""
    holders: dict[str, NodeId | None] = {coordinator_address(agent.id): None}
    holders |= {worker_address(agent.id, one.id): one.node for one in board.workers.values()}
    for address, node in holders.items():
        reported = gateway.activities.get(address)
        if reported is not None and (model := reported.model):
            name = model.partition("/")[2] or model  # the same name as in the spans of ended calls
            yield Bar(f"now-{address}", "model", address, name, reported.since, None, node=node)


def _names(agent: Agent, board: Board) -> dict[str, str]:
    """Return the names of entities by their addresses."""
    names: dict[str, str] = {coordinator_address(agent.id): COORDINATOR_NAME}
    return names | {worker_address(agent.id, one.id): one.name for one in board.workers.values()}


def _with_waits(
    board: Board, path: Sequence[CriticalStretch], bars: Sequence[Bar], now: float
) -> list[CriticalStretch]:
    """Return the critical path with the waits for the person as separate stretches."""
    waits: dict[str, list[tuple[Wait, float, float]]] = {}
    for bar in bars:
        if bar.kind == "human" or bar.kind == "paused":
            waits.setdefault(bar.entity, []).append((bar.kind, bar.start, bar.end or now))
    return [part for one in path for part in divided(one, waits.get(_entity_of(board, one), ()))]


def _marked(bars: Sequence[Bar], stretches: Sequence[CriticalStretch], now: float) -> list[Bar]:
    by_node: dict[str | None, list[tuple[float, float]]] = {}
    for one in stretches:
        by_node.setdefault(one.node, []).append((one.start, one.end))
    return [
        marked(bar, by_node.get(bar.node, ()), now)
        if bar.node is not None or bar.entity == COORDINATOR_NAME
        else bar
        for bar in bars
    ]


def _span_view(bar: Bar, now: float) -> SpanView:
    if bar.count == 1:
        bar = replace(bar, seconds=max(0.0, (bar.end or now) - bar.start))
    return SpanView.model_validate(bar, from_attributes=True)


def _entity_of(board: Board, stretch: CriticalStretch) -> str:
    worker = board.nodes[stretch.node].assigned_worker if stretch.node is not None else None
    return board.workers[worker].name if worker is not None else COORDINATOR_NAME


def _stretch_view(board: Board, stretch: CriticalStretch) -> CriticalStretchView:
    return CriticalStretchView(
        entity=_entity_of(board, stretch),
        node=stretch.node,
        start=stretch.start,
        end=stretch.end,
        wait=stretch.wait,
    )


@router.get("/agents/{agent}/communication")
def communication(run: RunDep, gateway: GatewayDep) -> list[TrafficView]:
    """Count the texts of a run by sender and receiver, in the order of the first texts."""
    if run is None:
        return []
    with gateway.traffic.current(run.messages / JOURNAL, "", dict) as made:
        return list(made.values())
