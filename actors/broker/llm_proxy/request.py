"""ProxyRequest: one HTTP request of an outside agent: who, for what, in which format, with which
body."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from actors.broker.llm_proxy.reply import ProxyReply
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.proxy.anthropic import AnthropicCount, AnthropicProxyFormat
from agiraph.llm.proxy.chat import ChatProxyFormat
from agiraph.llm.proxy.format import ProxyFormat, TokenCounter
from agiraph.llm.proxy.google import GoogleCount, GoogleProxyFormat
from agiraph.llm.proxy.responses import ResponsesProxyFormat

Receive = Callable[[], Awaitable[dict[str, Any]]]
BODY_SECONDS = 60.0
ANTHROPIC, OPENAI, GOOGLE = "/anthropic", "/openai", "/google"
CALLS: dict[str, ProxyFormat] = {
    "/anthropic/v1/messages": AnthropicProxyFormat(),
    "/openai/v1/chat/completions": ChatProxyFormat(),
    "/openai/v1/responses": ResponsesProxyFormat(),
}
GOOGLE_WIRE: ProxyFormat = GoogleProxyFormat()
GOOGLE_PATH = re.compile(rf"{GOOGLE}/v1(?:alpha|beta)?/models/(?P<model>.+):(?P<method>\w+)")
GOOGLE_CALLS = ("generateContent", "streamGenerateContent")
COUNTS: dict[str, TokenCounter] = {
    "/anthropic/v1/messages/count_tokens": AnthropicCount(),
    "countTokens": GoogleCount(),
}


class ProxyAnswerBroken(Exception):
    """The answer cannot go on, and what the agent has of it is not whole."""


class ProxyRequest:
    """One request: what it says of itself."""

    def __init__(self, scope: dict[str, Any], receive: Receive, reply: ProxyReply) -> None:
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
        place = GOOGLE_PATH.fullmatch(self.path)
        self._model, self._method = (place["model"], place["method"]) if place else ("", "")

    @property
    def wire(self) -> ProxyFormat:
        """The format that the client speaks, to tell it errors in."""
        if self.path.startswith(GOOGLE):
            return GOOGLE_WIRE
        if self.path.startswith(OPENAI):
            return CALLS.get(self.path, CALLS["/openai/v1/chat/completions"])
        return CALLS["/anthropic/v1/messages"]

    @property
    def is_call(self) -> bool:
        """Whether it stands where model calls are taken."""
        return self.path in CALLS or self._method in GOOGLE_CALLS

    @property
    def counting(self) -> TokenCounter | None:
        """How it wants tokens counted, None if it does not ask for that."""
        return COUNTS.get(self._method or self.path)

    @property
    def token(self) -> str:
        """The token that the client shows, "" if none."""
        bearer = self.headers.get("authorization", "")
        given = bearer[7:] if bearer[:7].lower() == "bearer " else ""
        named = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return (named or given or self._asked.get("key", [""])[0]).strip()

    @property
    def query_handed_on(self) -> str:
        """What of its query the service is to see; in Google's the key stands, which is ours."""
        return "" if self._method else self.query

    @property
    def _asked(self) -> dict[str, list[str]]:
        return parse_qs(self.query) if self.path.startswith(GOOGLE) else {}

    def said(self, body: JsonObject) -> JsonObject:
        """Return the body with what stands in the path instead, in Google's format. InvalidInput.

        A count may be asked of a whole request, wrapped up.
        """
        if not self._method:
            return body
        is_streamed = self._method == "streamGenerateContent"
        if is_streamed and self._asked.get("alt") != ["sse"]:
            raise InvalidInput("streamGenerateContent: ask for server-sent events (?alt=sse)")
        wrapped = body.get("generateContentRequest") if self.counting else None
        whole = wrapped if isinstance(wrapped, dict) else body
        return {**whole, "model": self._model, "stream": is_streamed}

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
