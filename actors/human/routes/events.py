"""Endpoints: an agent's events, by pages and live."""

import asyncio

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from actors.human.followers import MOST_FOLLOWERS, follow
from actors.human.routes.asking import After, Door, Limit, Named
from agiraph.api import ApiError, EventPage

router = APIRouter()


@router.get("/agents/{agent}/events")
async def page(agent: Named, door: Door, after: After = 0, limit: Limit = 1000) -> EventPage:
    """Page through the event log; `next` is the cursor to go on from."""
    events = tuple(door.events_of(agent).page(after, limit))
    return EventPage(events=events, next=events[-1].seq if events else after)


@router.websocket("/agents/{agent}/events")
async def live(socket: WebSocket, agent: Named, door: Door, after: After = 0) -> None:
    """Send the log from a cursor on, then every event as it comes."""
    if door.bells.listeners >= MOST_FOLLOWERS:
        raise ApiError(503, f"{MOST_FOLLOWERS} follow already, no more can")
    await socket.accept()
    sending = asyncio.ensure_future(
        follow(socket, door.events_of(agent), door.bells, agent.id, after)
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
