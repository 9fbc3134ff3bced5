"""Transports: HTTP to a server that runs elsewhere (local processes: `pipes.py`)."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from agiraph.foreign.http import ACCEPTED, MOST_LINES, bound
from agiraph.foreign.proxies import proxy_for

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

HTTP_SECONDS = 30.0
ANSWER_BYTES = 64 << 20
"""The largest answer, and the largest event of a stream of answers."""
SESSION_HEADER = "mcp-session-id"
UNKNOWN_SESSION = (400, 404)
"""The answers of servers to an unknown session; the protocol requires 404."""
Transport = AbstractAsyncContextManager["TransportStreams"]


@contextlib.asynccontextmanager
async def over_http(
    url: str, headers: dict[str, str], on_rejected: Callable[[], None] = lambda: None
) -> "AsyncIterator[TransportStreams]":
    """Yield the streams to a server that runs elsewhere.

    `on_rejected` is called when the server, restarted, no longer knows our session. The SDK follows
    redirects only within the origin, and limits each event of a stream.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def check(response: httpx2.Response) -> None:
        is_stream = "text/event-stream" in response.headers.get("content-type", "")
        bound(response, None if is_stream else ANSWER_BYTES, most_lines=MOST_LINES)
        request = response.request
        is_of_session = request.method == "POST" and SESSION_HEADER in request.headers
        if is_of_session and response.status_code in UNKNOWN_SESSION:
            on_rejected()

    timeout = httpx2.Timeout(HTTP_SECONDS, read=None)
    hooks = {"response": [check]}
    proxy = proxy_for(url, os.environ)
    async with (
        httpx2.AsyncClient(
            headers={"accept-encoding": ACCEPTED, **headers},
            timeout=timeout,
            event_hooks=hooks,
            proxy=proxy,
            trust_env=False,
        ) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=ANSWER_BYTES) as streams,
    ):
        yield streams
