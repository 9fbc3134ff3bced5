"""Visit: one HTTP request of an outside agent: who, for what, in which format, with which body."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from actors.broker.door.replies import Reply
from agiraph.door.anthropic import AnthropicDoor
from agiraph.door.chat import ChatDoor
from agiraph.door.responses import ResponsesDoor
from agiraph.door.wire import Wire

Receive = Callable[[], Awaitable[dict[str, Any]]]
BODY_SECONDS = 60.0
ANTHROPIC, OPENAI = "/anthropic", "/openai"
CALLS: dict[str, Wire] = {
    "/anthropic/v1/messages": AnthropicDoor(),
    "/openai/v1/chat/completions": ChatDoor(),
    "/openai/v1/responses": ResponsesDoor(),
}


class BrokenOff(Exception):
    """The answer cannot go on, and what the agent has of it is not whole."""


class Visit:
    """One request: what it says of itself."""

    def __init__(self, scope: dict[str, Any], receive: Receive, reply: Reply) -> None:
        """Read the head."""
        self.method = str(scope["method"])
        self.path = str(scope["path"]).rstrip("/")
        self.query = bytes(scope.get("query_string", b"")).decode("latin-1")
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        self.receive = receive
        self.reply = reply

    @property
    def wire(self) -> Wire:
        """The format that the client speaks, to tell it errors in."""
        if self.path.startswith(OPENAI):
            return CALLS.get(self.path, CALLS["/openai/v1/chat/completions"])
        return CALLS["/anthropic/v1/messages"]

    @property
    def token(self) -> str:
        """The token that the client shows, "" if none."""
        bearer = self.headers.get("authorization", "")
        given = bearer[7:] if bearer[:7].lower() == "bearer " else ""
        return (self.headers.get("x-api-key") or given).strip()

    async def body(self, most: int) -> bytes | None:
        """Return the body, None if it has more than `most` bytes. TimeoutError, ConnectionError."""
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > most:
            return None
        data = bytearray()
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                event = await self.receive()
                if event["type"] == "http.disconnect":
                    raise ConnectionError("the client has gone")
                data += event.get("body", b"")
                if len(data) > most:
                    return None
                if not event.get("more_body"):
                    return bytes(data)

    async def until_gone(self) -> None:
        """Wait until the client hangs up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
