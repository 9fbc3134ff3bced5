"""Transports: the ways to a server: the pipes of a process of ours, or HTTP."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from agiraph.mcp.launching import ServerCommand

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

HTTP_SECONDS = 30.0
SESSION_HEADER = "mcp-session-id"
UNKNOWN_SESSION = (400, 404)
"""What servers say to a session that they do not know; the protocol wants 404."""
Transport = AbstractAsyncContextManager["TransportStreams"]


@contextlib.asynccontextmanager
async def over_pipes(command: ServerCommand, errors: int) -> "AsyncIterator[TransportStreams]":
    """Yield the way to a process that is started for it; its stderr goes into `errors`."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=command.words[0],
        args=list(command.words[1:]),
        env=dict(command.environment),
        cwd=command.folder,
    )
    with os.fdopen(errors, "w", encoding="utf-8") as written:
        async with stdio_client(parameters, errlog=written) as streams:
            written.close()  # the process has its own
            yield streams


@contextlib.asynccontextmanager
async def over_http(
    url: str, headers: dict[str, str], on_rejected: Callable[[], None] = lambda: None
) -> "AsyncIterator[TransportStreams]":
    """Yield the way to a server that runs elsewhere.

    `on_rejected` is called when it does not know our session any more: it has begun anew.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        asked = response.request
        is_of_session = asked.method == "POST" and SESSION_HEADER in asked.headers
        if is_of_session and response.status_code in UNKNOWN_SESSION:
            on_rejected()

    timeout = httpx2.Timeout(HTTP_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, event_hooks={"response": [look]}
        ) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def watched(transport: Transport, ended: asyncio.Event) -> "AsyncIterator[TransportStreams]":
    """Yield the streams of a transport, and set `ended` when the other side has closed them."""
    async with transport as (read, write):
        yield WatchedStream(read, ended), write


class WatchedStream:
    """A stream that sets an event at its end; in all else it is the stream that it wraps."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        """Watch `stream`."""
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has."""
        return getattr(self._stream, name)

    def __aiter__(self) -> "WatchedStream":
        """Return itself."""
        return self

    async def __anext__(self) -> Any:
        """Return the next message."""
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended.set()
            raise

    async def __aenter__(self) -> "WatchedStream":
        """Enter the stream."""
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> Any:
        """Leave the stream."""
        return await self._stream.__aexit__(*why)
