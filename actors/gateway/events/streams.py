"""Following events over plain HTTP: server-sent events, for browsers and for curl.

Each event bears its `seq` as the stream's id, so a browser that lost the connection comes back with
`Last-Event-ID` and misses nothing. What is sent, and when a slow reader is let go, is decided where
WebSockets are followed (`actors.gateway.events.followers`); this is another kind of socket for it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from actors.gateway.events.followers import FAREWELL_SECONDS, FollowerSocket

MEDIA_TYPE = "text/event-stream"
RETRY_MILLISECONDS = 500
BEAT_SECONDS = 15.0

Follow = Callable[[FollowerSocket], Awaitable[None]]


class EventStream(Response):
    """Sends what `follow` sends to its socket, until that returns or the reader leaves."""

    media_type = MEDIA_TYPE

    def __init__(self, follow: Follow) -> None:
        """Hand `follow` a socket once the stream is open."""
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._follow = follow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        stream = _Stream(send)
        await stream.write(f"retry: {RETRY_MILLISECONDS}\n\n")
        tasks = [
            asyncio.ensure_future(self._follow(stream)),
            asyncio.ensure_future(_until_gone(receive)),
            asyncio.ensure_future(_beat(stream)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise error
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await send({"type": "http.response.body", "body": b""})


class _Stream:
    """A socket whose frames are events of the stream."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()

    async def send_text(self, data: str) -> None:
        """Send one event, which is JSON on one line."""
        about = json.loads(data)
        await self.write(f"id: {about['seq']}\nevent: {about['type']}\ndata: {data}\n\n")

    async def close(self, code: int = 1000, reason: str | None = None) -> None:
        """Say why nothing more comes."""
        end = json.dumps({"code": code, "reason": reason or ""})
        await self.write(f"event: end\ndata: {end}\n\n")

    async def write(self, text: str) -> None:
        async with self._turn:
            body = {"type": "http.response.body", "body": text.encode(), "more_body": True}
            await self._send(body)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _beat(stream: _Stream) -> None:
    """Write a comment now and then, so that a connection that is dead is found out."""
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        await stream.write(":\n\n")
