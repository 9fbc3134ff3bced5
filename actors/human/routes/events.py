"""Endpoints: an agent's events, by pages and live."""

import asyncio
import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, WebSocket, WebSocketDisconnect

from actors.human.followers import follow
from actors.human.gateway import Gateway
from actors.human.patience import FRAMES
from actors.human.routes.asking import After, Door, Limit, Named
from agiraph.api import ApiError, EventPage
from agiraph.board.names import find_node
from agiraph.errors import InvalidInput
from agiraph.event_filter import EventFilter
from agiraph.event_types import types_meant
from agiraph.models import Agent

router = APIRouter()
NODE_ID = re.compile(r"[0-9a-f]{6}")


async def _wanted(
    agent: Named,
    door: Door,
    type: Annotated[list[str] | None, Query()] = None,
    entity: str | None = None,
    node: str | None = None,
) -> EventFilter:
    """Return what the query asks for; 422 lists the types and nodes that are possible."""
    try:
        types = types_meant(type or ())
        found = None if node is None else _node_named(door, agent, node)
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None
    return EventFilter(types, entity, found)


def _node_named(door: Gateway, agent: Agent, named: str) -> str:
    """Return a node's id by its name in the current run; an id of any run serves as it is."""
    if NODE_ID.fullmatch(named):
        return named
    return find_node(door.boards.of(door.agents.run_of(agent)), named).id


Wanted = Annotated[EventFilter, Depends(_wanted)]


@router.get("/agents/{agent}/events")
async def page(
    agent: Named, door: Door, wanted: Wanted, after: After = 0, limit: Limit = 1000
) -> EventPage:
    """Page through the event log; `next` is the cursor to go on from, at its end the same again."""
    events, seen = door.events_of(agent).pick(after, limit, wanted)
    return EventPage(events=tuple(events), next=seen)


@router.websocket("/agents/{agent}/events")
async def live(
    socket: WebSocket, agent: Named, door: Door, wanted: Wanted, after: After = 0
) -> None:
    """Send what is wanted of the log from a cursor on, then every event as it comes."""
    if door.bells.listeners >= door.config.http.followers:
        raise ApiError(503, f"{door.bells.listeners} follow already, no more can (http.followers)")
    await socket.accept()
    frames = socket.scope.get("extensions", {}).get(FRAMES)
    sending = asyncio.ensure_future(
        follow(socket, door.events_of(agent), door.bells, agent.id, after, wanted, frames)
    )
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
