"""Endpoints: an agent's events, by pages and live."""

import asyncio
import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response, WebSocket, WebSocketDisconnect

from actors.gateway.api.dependencies import LAST_CURSOR, After, GatewayDep, Limit, AgentDep
from actors.gateway.events.followers import follow
from actors.gateway.events.streams import MEDIA_TYPE, EventStream
from actors.gateway.gateway import Gateway
from actors.recorder.event_log import LATEST, EventLog
from agiraph.board.names import find_node
from agiraph.core.errors import InvalidInput
from agiraph.core.event_filter import EventFilter
from agiraph.core.event_types import types_meant
from agiraph.core.models import Agent
from agiraph.http.api import ApiError, EventPageView

router = APIRouter(tags=["events"])
NODE_ID = re.compile(r"[0-9a-f]{6}")


async def _wanted(
    agent: AgentDep,
    gateway: GatewayDep,
    type: Annotated[list[str] | None, Query()] = None,
    entity: str | None = None,
    node: str | None = None,
) -> EventFilter:
    """Return what the query asks for; 422 lists the types and nodes that are possible."""
    try:
        types = types_meant(type or ())
        found = None if node is None else _node_named(gateway, agent, node)
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None
    return EventFilter(types, entity, found)


def _node_named(gateway: Gateway, agent: Agent, named: str) -> str:
    """Return a node's id by its name in the current run; an id of any run serves as it is."""
    if NODE_ID.fullmatch(named):
        return named
    return find_node(gateway.boards.of(gateway.agents.run_of(agent)), named).id


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


@router.get("/agents/{agent}/events", response_model=EventPageView, responses=STREAMED)
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

    `next` is the cursor to go on from, at the log's end the same again. With
    `Accept: text/event-stream` the events come as server-sent events, first the log from `after`
    (or `Last-Event-ID`) on, then each as it comes; the same path as a WebSocket does it too.
    """
    if MEDIA_TYPE in accept:
        return _stream(gateway, agent, wanted, after if last_event_id is None else last_event_id)
    return _page(gateway, agent, wanted, after, limit)


def _page(
    gateway: Gateway, agent: Agent, wanted: EventFilter, after: int, limit: int
) -> EventPageView:
    log = gateway.events_of(agent)
    of = (log, min(log.last(), after + limit) if wanted.takes_all else log.last(), log.begun)

    def pick() -> EventPageView:
        events, seen = log.pick(after, limit, wanted)
        return EventPageView(events=tuple(events), next=seen)

    if limit > LATEST:
        return pick()
    return gateway.event_pages.get((agent.id, wanted, after, limit), of, pick)


def _stream(gateway: Gateway, agent: Agent, wanted: EventFilter, after: int) -> Response:
    log = _readable(gateway, agent, after)
    return EventStream(lambda socket: follow(socket, log, gateway.bells, agent.id, after, wanted))


def _readable(gateway: Gateway, agent: Agent, after: int) -> EventLog:
    """Return a log that can be followed from a cursor on.

    ApiError 503 if too many follow, Corrupt if the log cannot be read there: who is let in and then
    lost would come again at once.
    """
    _check_room(gateway)
    log = gateway.events_of(agent)
    log.page(after, 1)
    return log


def _check_room(gateway: Gateway) -> None:
    if gateway.bells.listeners >= gateway.config.http.followers:
        raise ApiError(503, f"{gateway.bells.listeners} follow already, no more can (http.followers)")


@router.websocket("/agents/{agent}/events")
async def live(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, wanted: Wanted, after: After = 0
) -> None:
    """Send what is wanted of the log from a cursor on, then every event as it comes."""
    log = _readable(gateway, agent, after)
    await socket.accept()
    sending = asyncio.ensure_future(follow(socket, log, gateway.bells, agent.id, after, wanted))
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


async def _until_gone(socket: WebSocket) -> None:
    """Return when the other side has left; what it says is of no interest."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
