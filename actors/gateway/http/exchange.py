"""One HTTP request as it passes the gate: its body bounded, the headers of its answer completed."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from starlette.exceptions import HTTPException

from actors.gateway.auth.headers import RawHeaders, header
from actors.gateway.problems import MEDIA_TYPE, problem_bytes
from agiraph.http.api import ApiError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FAULT: Final = 500
WHOLE: Final = "agiraph.whole"
"""A message with all of an answer: `status`, `body` (JSON), and `closes` if nothing may follow.

It may be sent where the scope has this key, in place of ASGI's two.
"""

# A page that names its own policy keeps it. With `no-referrer` a browser would send its own forms
# with `Origin: null`, which nothing lets in: hence `same-origin`.
HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)


class HttpExchange:
    """One request and its answer; `status` is the answer's, None before it has begun."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        headers: RawHeaders,
        when_answered: Callable[[int], None],
    ) -> None:
        """Pass on what `receive` and `send` carry; tell the status just before the answer ends."""
        self._receive = receive
        self._send = send
        self._when_answered = when_answered
        self._has_all = not _has_body(headers)
        self._has_ended = False
        self._taken = 0
        self._deadline: float | None = None
        self._most_bytes = 0
        self.status: int | None = None

    def bound(self, most_bytes: int, seconds: float) -> None:
        """Take no more of a body than that, and none that has not come by then."""
        if self._has_all:
            return
        self._most_bytes = most_bytes
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def receive(self) -> Message:
        """Return the next piece; raise HTTPException 413 or 408 for too much or too late.

        FastAPI takes any other error while it reads a body for malformed JSON.
        """
        if self._has_all:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body did not come in time") from None
        self._taken += len(message.get("body", b""))
        if self._taken > self._most_bytes:
            raise HTTPException(413, f"the body is larger than {self._most_bytes} bytes")
        self._has_all = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the answer, the first one with the headers that every answer bears.

        A client that is still sending a body nobody reads is hung up on.
        """
        if message["type"] == WHOLE:
            self.status = message["status"]
            message["closes"] = not self._has_all
            self.end()
        elif message["type"] == "http.response.start":
            self.status = message["status"]
            headers = with_defaults(list(message.get("headers", ())))
            if not self._has_all:
                headers.append((b"connection", b"close"))
            message["headers"] = headers
        elif not message.get("more_body", False):
            self.end()
        await self._send(message)

    def end(self) -> None:
        """Tell the status, 500 if there is none, unless it was told."""
        if not self._has_ended:
            self._has_ended = True
            self._when_answered(self.status or FAULT)


def _has_body(headers: RawHeaders) -> bool:
    length = header(headers, b"content-length")
    return bool(header(headers, b"transfer-encoding")) or length not in ("", "0")


def with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with those that every answer bears, where it has none of its own."""
    given = {name.lower() for name, _ in headers}
    return [*headers, *((name, value) for name, value in HEADERS if name not in given)]


async def refuse(
    kind: str,
    send: Send,
    refusal: ApiError,
    path: str,
    extra: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Answer with a problem and hang up; a WebSocket is refused before its handshake."""
    start = "http" if kind == "http" else "websocket.http"
    body = problem_bytes(refusal, path)
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *HEADERS,
        *extra,
    ]
    await send({"type": f"{start}.response.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{start}.response.body", "body": body})
