"""Endpoints for an agent's events and the thread made of them, in pages and live."""

import re
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response, WebSocket

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.live.event_feed import follow
from agiraph.api.live.feeds import MEDIA_TYPE, Feed, FeedEnd, send_feed, streamed
from agiraph.api.routes.dependencies import (
    LAST_CURSOR,
    After,
    AgentDep,
    Before,
    GatewayDep,
    Limit,
    Search,
)
from agiraph.api.strict_json import StrictRoute
from agiraph.board.board import Board
from agiraph.board.names import same
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.event_types import Audience, types_meant
from agiraph.core.ids import COORDINATOR_NAME, RESERVED_NAMES, NodeId
from agiraph.core.models import Agent, Event
from agiraph.http.api import (
    EventPageView,
    EventView,
    ThreadEntryView,
    ThreadKind,
    ThreadPageView,
)
from agiraph.http.errors import AMBIGUOUS, ApiError
from agiraph.logs.event_filter import EventFilter
from agiraph.logs.event_log import EventLog
from agiraph.readmodel.names import member_named, node_named
from agiraph.readmodel.thread import ThreadFilter, numbered, thread_before, thread_page

router = APIRouter(route_class=StrictRoute, tags=["events"])
thread_router = APIRouter(route_class=StrictRoute, tags=["conversation"])
NODE_ID = re.compile(r"[0-9a-f]{6}")


async def _wanted(
    agent: AgentDep,
    gateway: GatewayDep,
    type: Annotated[list[str] | None, Query()] = None,
    entity: str | None = None,
    node: str | None = None,
    audience: Audience = "log",
) -> EventFilter:
    """Return the filter of the query; 422 lists the possible types, 404 the nodes."""
    try:
        types = types_meant(type or ())
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None
    if node is None and entity is None:
        return EventFilter(types, audience=audience)
    board = gateway.boards.get(gateway.agents.run_of(agent))
    of_node = None if node is None else _node_named(board, node)
    of_entity = None if entity is None else entity_meant(agent, board, entity)
    return EventFilter(types, of_entity, of_node, audience)


def _node_named(board: Board, named: str) -> str:
    """Return a node's id by its name in the current run; a node id is returned unchanged."""
    return named if NODE_ID.fullmatch(named) else node_named(board, named).id


def entity_meant(agent: Agent, board: Board, named: str) -> str:
    """Return a team member's name by id or name; a name that is unknown now is kept."""
    if named in RESERVED_NAMES or "/" in named:
        return named
    try:
        worker = member_named(agent, board, named)
    except ApiError as error:
        if error.type == AMBIGUOUS:
            raise
        return named
    if worker is None:
        return COORDINATOR_NAME
    return named if same(named, worker.id) else worker.name


Wanted = Annotated[EventFilter, Depends(_wanted)]
Accept = Annotated[str, Header(include_in_schema=False)]
LastEventId = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=LAST_CURSOR,
        description="With `Accept: text/event-stream`: the `seq` of the last event that was seen.",
    ),
]

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page of events; a stream without end for `Accept: text/event-stream`.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/agents/{agent}/events",
    dependencies=[READ],
    response_model=EventPageView,
    responses=STREAMED,
)
async def page(
    agent: AgentDep,
    gateway: GatewayDep,
    wanted: Wanted,
    after: After = 0,
    before: Before = None,
    limit: Limit = 1000,
    accept: Accept = "",
    last_event_id: LastEventId = None,
) -> EventPageView | Response:
    """Page through the event log, forwards or, with `before`, backwards, or follow it as a stream.

    `next` is the cursor to continue from; at the log's end it stays the same. With `Accept:
    text/event-stream` the events are server-sent events: first the log from `after` (or
    `Last-Event-ID`) on, then new events. The same path is also a WebSocket.
    """
    view = partial(_view, gateway, agent)
    if MEDIA_TYPE in accept:
        cursor = after if last_event_id is None else last_event_id
        return streamed(_feed(gateway, agent, wanted, cursor), lambda event: _lines_of(view(event)))
    log = gateway.agents.events_of(agent)
    if before is not None:
        events, start, to = log.pick_before(before, limit, wanted, after)
        previous = start + 1 if start > after else None
        return EventPageView(events=tuple(map(view, events)), next=to, previous=previous)
    events, seen = log.pick(after, limit, wanted)
    return EventPageView(events=tuple(map(view, events)), next=seen)


@router.websocket("/agents/{agent}/events", dependencies=[READ])
async def live(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, wanted: Wanted, after: After = 0
) -> None:
    """Send the matching events of the log from a cursor on, then new events as they occur."""
    feed = _feed(gateway, agent, wanted, after)

    def too_slow(last: Event | None) -> str:
        return f"too slow: come back with after={last.seq if last else after}"

    view = partial(_view, gateway, agent)
    await send_feed(socket, feed, lambda event: view(event).model_dump_json(), too_slow)


def _lines_of(event: EventView) -> str:
    return f"id: {event.seq}\nevent: {event.type}\ndata: {event.model_dump_json()}"


def _view(gateway: Gateway, agent: Agent, event: Event) -> EventView:
    def node_name(id: str) -> str:
        try:
            board = gateway.boards.get(gateway.agents.run_of(agent, event.run_id))
        except (ApiError, Corrupt):  # the run is deleted, or its board damaged
            return id
        node = board.nodes.get(NodeId(id))
        return node.name if node else id

    return EventView.of(event, node_name)


def _feed(gateway: Gateway, agent: Agent, wanted: EventFilter, after: int) -> Feed[Event]:
    """Return an agent's feed from a cursor on.

    Raises ApiError 503 if there are too many followers, Corrupt if the log is unreadable from
    `after` on: a follower that is accepted and then dropped would reconnect at once.
    """
    gateway.check_follower()
    log = gateway.agents.events_of(agent)
    log.page(after, 1)
    return follow(log, gateway.signals, agent.id, after, wanted)


# --- the thread, made of the events ---


async def _thread_wanted(
    agent: AgentDep,
    gateway: GatewayDep,
    entity: Annotated[
        str | None, Query(description="Only the conversation with this one of the team.")
    ] = None,
    kind: Annotated[list[ThreadKind] | None, Query(description="Only entries of these.")] = None,
    search: Search = "",
) -> ThreadFilter:
    if entity is not None:
        board = gateway.boards.get(gateway.agents.run_of(agent))
        entity = entity_meant(agent, board, entity)
    return ThreadFilter(entity, frozenset(kind or ()), search)


ThreadWanted = Annotated[ThreadFilter, Depends(_thread_wanted)]


@thread_router.get("/agents/{agent}/thread", name="page", dependencies=[READ])
async def thread(
    agent: AgentDep,
    gateway: GatewayDep,
    wanted: ThreadWanted,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
) -> ThreadPageView:
    """Page through the thread, backwards with `before`, or through the changes `after` an event.

    A page may be empty although `previous` or `next` leads to more: a page covers a limited part of
    the log. The same path as a WebSocket sends each new or changed entry.
    """
    found = thread_page(gateway.agents.events_of(agent), after, limit, before, wanted)
    return found.model_copy(update={"entries": tuple(_numbered(gateway, found.entries))})


@thread_router.websocket("/agents/{agent}/thread", dependencies=[READ])
async def live_thread(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, wanted: ThreadWanted, after: After = 0
) -> None:
    """Send the entries that changed after an event, then each new or changed entry."""
    gateway.check_follower()
    log = gateway.agents.events_of(agent)
    log.page(after, 1)
    feed = _thread_feed(gateway, agent, log, after, wanted)

    def too_slow(last: ThreadEntryView | None) -> str:
        return f"too slow: come back with after={last.changed if last else after}"

    await send_feed(socket, feed, lambda entry: entry.model_dump_json(by_alias=True), too_slow)


def _numbered(gateway: Gateway, entries: Iterable[ThreadEntryView]) -> list[ThreadEntryView]:
    listed = list(entries)
    return numbered(listed, gateway.messages.numbers([entry.id for entry in listed]))


async def _thread_feed(
    gateway: Gateway, agent: Agent, log: EventLog, after: int, wanted: ThreadFilter
) -> AsyncIterator[list[ThreadEntryView] | FeedEnd]:
    known = thread_before(log, after + 1)
    events: Feed[Event] = follow(log, gateway.signals, agent.id, after)
    async for batch in events:
        if isinstance(batch, FeedEnd):
            yield batch
            return
        changed = sorted(known.add_all(batch), key=lambda entry: entry.changed)
        yield _numbered(gateway, filter(wanted.takes, changed))
