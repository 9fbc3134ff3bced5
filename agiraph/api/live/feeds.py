"""Sending of feeds to one follower, by WebSocket or as server-sent events.

A feed yields batches of items, an empty batch from time to time while there are none, and a FeedEnd
at the end. The next batch is requested after the previous one was sent: each feed bounds its own
backlog, and a follower that reads nothing for STALL_SECONDS is disconnected.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TypeVar

from fastapi import WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

MEDIA_TYPE = "text/event-stream"
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RETRY_MILLISECONDS = 500
BEAT_SECONDS = 15.0
STALL_SECONDS = 20.0
CLOSE_SECONDS = 2.0

LONGEST_REASON = 100
"""A WebSocket's close frame has room for 123 bytes (RFC 6455, section 5.5)."""

GONE = 1000
FAULT = 1011
GOING_AWAY = 1012
TRY_AGAIN = 1013

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class FeedEnd:
    """The end of a feed: the close code of a WebSocket, and why."""

    code: int
    reason: str


STOPPING = FeedEnd(GOING_AWAY, "the gateway stops")

Feed = AsyncIterator[Sequence[Item] | FeedEnd]


async def send_feed(
    socket: WebSocket,
    feed: Feed[Item],
    text_of: Callable[[Item], str],
    too_slow: Callable[[Item | None], str],
) -> None:
    """Accept a WebSocket and send it each item as one text, until either side ends.

    `too_slow` receives the last item sent and returns the reason for closing.
    """
    await socket.accept()
    sending = asyncio.ensure_future(_send_all(socket, feed, text_of, too_slow))
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


async def _send_all(
    socket: WebSocket,
    feed: Feed[Item],
    text_of: Callable[[Item], str],
    too_slow: Callable[[Item | None], str],
) -> None:
    last: Item | None = None
    async for batch in feed:
        if isinstance(batch, FeedEnd):
            await _close(socket, batch.code, batch.reason)
            return
        for item in batch:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await socket.send_text(text_of(item))
            except TimeoutError:
                await _close(socket, TRY_AGAIN, too_slow(last))
                return
            last = item


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a WebSocket with a reason; a client that does not read is not waited for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close(code, reason)


async def _until_gone(socket: WebSocket) -> None:
    """Return when the client has disconnected; its messages are ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def streamed(feed: Feed[Item], lines_of: Callable[[Item], str]) -> StreamingResponse:
    """Return a feed as server-sent events.

    `lines_of` returns the fields of an item's event, one per line.
    """
    return StreamingResponse(_lines(feed, lines_of), media_type=MEDIA_TYPE, headers=STREAM_HEADERS)


async def _lines(feed: Feed[Item], lines_of: Callable[[Item], str]) -> AsyncIterator[str]:
    """Yield server-sent events; comments in between detect dead connections."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    now = asyncio.get_running_loop().time
    sent_at = now()
    async for batch in feed:
        if isinstance(batch, FeedEnd):
            yield f"event: end\ndata: {json.dumps(asdict(batch))}\n\n"
            return
        for item in batch:
            yield f"{lines_of(item)}\n\n"
        is_silent = now() - sent_at >= BEAT_SECONDS
        if is_silent and not batch:
            yield ":\n\n"
        if is_silent or batch:
            sent_at = now()
