"""Endpoints: an agent's events, by pages and live."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from actors.gateway.api.dependencies import LAST_CURSOR, After, AgentDep, GatewayDep, Limit
from actors.gateway.auth.scopes import READ
from actors.gateway.event_feed import Goodbye, follow
from actors.gateway.gateway import Gateway
from actors.gateway.names import member_named, node_named
from agiraph.board.board import Board
from agiraph.board.names import same
from agiraph.core.errors import InvalidInput
from agiraph.core.event_filter import EventFilter
from agiraph.core.event_types import types_meant
from agiraph.core.ids import COORDINATOR_NAME, RESERVED_NAMES
from agiraph.core.models import Agent, Event
from agiraph.http.api import EventPageView
from agiraph.http.errors import AMBIGUOUS, ApiError

MEDIA_TYPE = "text/event-stream"
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RETRY_MILLISECONDS = 500
BEAT_SECONDS = 15.0
STALL_SECONDS = 20.0
CLOSE_SECONDS = 2.0
TRY_AGAIN = 1013

Feed = AsyncIterator[list[Event] | Goodbye]

router = APIRouter(tags=["events"])
NODE_ID = re.compile(r"[0-9a-f]{6}")


async def _wanted(
    agent: AgentDep,
    gateway: GatewayDep,
    type: Annotated[list[str] | None, Query()] = None,
    entity: str | None = None,
    node: str | None = None,
) -> EventFilter:
    """Return what the query asks for; 422 lists the types that are possible, 404 the nodes."""
    try:
        types = types_meant(type or ())
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None
    if node is None and entity is None:
        return EventFilter(types)
    board = gateway.boards.get(gateway.agents.run_of(agent))
    of_node = None if node is None else _node_named(board, node)
    of_entity = None if entity is None else _entity_named(agent, board, entity)
    return EventFilter(types, of_entity, of_node)


def _node_named(board: Board, named: str) -> str:
    """Return a node's id by its name in the current run; an id of any run serves as it is."""
    return named if NODE_ID.fullmatch(named) else node_named(board, named).id


def _entity_named(agent: Agent, board: Board, named: str) -> str:
    """Return the name of a member of the team; a name that nobody has now serves as it is."""
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
    limit: Limit = 1000,
    accept: Accept = "",
    last_event_id: LastEventId = None,
) -> EventPageView | Response:
    """Page through the event log, or follow it as a stream.

    `next` is the cursor to continue from, at the log's end the same again. With
    `Accept: text/event-stream` the events come as server-sent events, first the log from `after`
    (or `Last-Event-ID`) on, then each as it comes; the same path as a WebSocket does it too.
    """
    if MEDIA_TYPE in accept:
        feed = _feed(gateway, agent, wanted, after if last_event_id is None else last_event_id)
        lines = _stream_lines(feed)
        return StreamingResponse(lines, media_type=MEDIA_TYPE, headers=STREAM_HEADERS)
    events, seen = gateway.agents.events_of(agent).pick(after, limit, wanted)
    return EventPageView(events=tuple(events), next=seen)


@router.websocket("/agents/{agent}/events", dependencies=[READ])
async def live(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, wanted: Wanted, after: After = 0
) -> None:
    """Send what is wanted of the log from a cursor on, then every event as it comes."""
    feed = _feed(gateway, agent, wanted, after)
    await socket.accept()
    sending = asyncio.ensure_future(_send_feed(socket, feed, after))
    leaving = asyncio.ensure_future(_until_gone(socket))
    try:
        await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        sending.cancel()
        leaving.cancel()
        ended = await asyncio.gather(sending, leaving, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | OSError):
            raise error


def _feed(gateway: Gateway, agent: Agent, wanted: EventFilter, after: int) -> Feed:
    """Return an agent's feed from a cursor on.

    ApiError 503 if too many follow, Corrupt if the log cannot be read there: a follower that was
    accepted and then dropped would return at once.
    """
    count = gateway.signals.followers
    if count >= gateway.config.http.followers:
        raise ApiError(503, f"{count} follow already, no more can (http.followers)")
    log = gateway.agents.events_of(agent)
    log.page(after, 1)
    return follow(log, gateway.signals, agent.id, after, wanted)


async def _send_feed(socket: WebSocket, feed: Feed, cursor: int) -> None:
    """Send each event as one text; a follower that takes nothing is closed with its cursor."""
    async for item in feed:
        if isinstance(item, Goodbye):
            await _close(socket, item.code, item.reason)
            return
        for event in item:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await socket.send_text(event.model_dump_json())
            except TimeoutError:
                await _close(socket, TRY_AGAIN, f"too slow: come back with after={cursor}")
                return
            cursor = event.seq


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    """Close with a reason, without waiting long for a client that does not read."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close(code, reason)


async def _until_gone(socket: WebSocket) -> None:
    """Return when the client has left; what it sends is ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _stream_lines(feed: Feed) -> AsyncIterator[str]:
    """Yield a feed as server-sent events; a comment now and then finds dead connections out."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    now = asyncio.get_running_loop().time
    sent_at = now()
    async for item in feed:
        if isinstance(item, Goodbye):
            yield f"event: end\ndata: {json.dumps(asdict(item))}\n\n"
            return
        for event in item:
            yield f"id: {event.seq}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
        is_silent = now() - sent_at >= BEAT_SECONDS
        if is_silent and not item:
            yield ":\n\n"
        if is_silent or item:
            sent_at = now()
