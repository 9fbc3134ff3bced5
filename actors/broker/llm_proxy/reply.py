"""ProxyReply: what goes back over one HTTP exchange, as far as the agent takes it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agiraph.llm.providers.forwarding import AnswerSinkClosed
from agiraph.llm.proxy.format import ProxyFailure

Send = Callable[[dict[str, Any]], Awaitable[None]]


class ProxyClientStalled(AnswerSinkClosed):
    """The agent takes nothing any more."""


class ProxyReply:
    """One answer; a Sink of `agiraph.llm.providers.forwarding`."""

    def __init__(self, send: Send, stall_seconds: float) -> None:
        """Send with `send`, and wait so long for the agent to take what was sent."""
        self._send = send
        self._stall_seconds = stall_seconds
        self.has_begun = False

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head."""
        self.has_begun = True
        pairs = [(name.encode("latin-1"), value.encode("latin-1", "replace"))
                 for name, value in headers.items()]  # fmt: skip
        await self._say({"type": "http.response.start", "status": status, "headers": pairs})

    async def write(self, data: bytes) -> None:
        """Send a piece; return when there is room for more. Raises ProxyClientStalled."""
        await self._say({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Say that this was all."""
        await self._say({"type": "http.response.body", "body": b"", "more_body": False})

    async def whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send an answer in one piece; a `body` of None is an empty one."""
        data = (
            b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        )
        head = {"content-type": "application/json", "content-length": str(len(data))}
        await self.begin(status, {**head, **(headers or {})})
        await self._say({"type": "http.response.body", "body": data, "more_body": False})

    async def failure(self, failure: ProxyFailure) -> None:
        """Send an error."""
        await self.whole(failure.status, failure.body, failure.headers)

    async def _say(self, event: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._send(event)
        except TimeoutError:
            raise ProxyClientStalled from None
