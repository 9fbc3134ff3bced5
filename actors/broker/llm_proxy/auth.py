"""ProxyAuth: every request at the door: from whom, for what, how large; then it is answered.

Only a client on this machine that names the loopback as its host and shows the token of an open
door gets further than a refusal; what comes from a web page (it has an Origin) never does.
"""

import json
from contextlib import suppress
from typing import Any

from actors.broker.llm_proxy.reply import ProxyClientStalled, ProxyReply, Send
from actors.broker.llm_proxy.request import (
    ANTHROPIC,
    GOOGLE,
    OPENAI,
    ProxyAnswerBroken,
    ProxyRequest,
    Receive,
)
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.proxy.format import ProxyFailure, TokenCounter
from agiraph.llm.proxy.grants import ProxyGrant

ROOTS = (ANTHROPIC, OPENAI, f"{OPENAI}/v1", GOOGLE)
MODELS = (
    "/anthropic/v1/models",
    "/openai/v1/models",
    *(f"/google/{version}/models" for version in ("v1", "v1beta", "v1alpha")),
)


class ProxyHandler:
    """What stands behind the gate; `actors.broker.llm_proxy.proxy.LlmProxy` is it."""

    def hosts(self) -> frozenset[str]:
        """Return what the door is called by those who may come in."""
        raise NotImplementedError

    def grant(self, token: str) -> ProxyGrant | None:
        """Return what a token opens."""
        raise NotImplementedError

    async def call(self, visit: ProxyRequest, grant: ProxyGrant, body: JsonObject) -> None:
        """Answer a model call."""
        raise NotImplementedError

    async def count(
        self, counting: TokenCounter, visit: ProxyRequest, grant: ProxyGrant, body: JsonObject
    ) -> int:
        """Return about how many tokens of input a request has; InvalidInput."""
        raise NotImplementedError


class ProxyAuth:
    """The ASGI application."""

    def __init__(self, inside: ProxyHandler, *, body_bytes: int, stall_seconds: float) -> None:
        """Let those in who may come in."""
        self._inside = inside
        self._body_bytes = body_bytes
        self._stall_seconds = stall_seconds

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request. An answer that is cut off ends with its connection."""
        if scope["type"] != "http":
            return
        reply = ProxyReply(send, self._stall_seconds)
        visit = ProxyRequest(scope, receive, reply)
        with suppress(ProxyAnswerBroken, ProxyClientStalled, ConnectionError):
            refusal = self._refusal(visit)
            if refusal is not None:
                await reply.failure(refusal)
                return
            await self._answer(visit)

    def _refusal(self, visit: ProxyRequest) -> ProxyFailure | None:
        if visit.headers.get("host", "").lower() not in self._inside.hosts():
            return visit.wire.denied(403, "this door is called by its loopback address alone")
        if "origin" in visit.headers:
            return visit.wire.denied(403, "this door is not for web pages")
        return None

    async def _answer(self, visit: ProxyRequest) -> None:
        if visit.method == "HEAD":
            await visit.reply.whole(200, None)
            return
        grant = self._inside.grant(visit.token)
        if grant is None:
            said = "no door is open for this token: its worker has closed it, or it never was one"
            await visit.reply.failure(visit.wire.denied(401, said))
            return
        if visit.method == "GET":
            await self._show(visit, grant)
        elif visit.method == "POST" and (visit.is_call or visit.counting is not None):
            await self._take(visit, grant)
        else:
            said = f"this door has no {visit.method} {visit.path}"
            await visit.reply.failure(visit.wire.denied(404, said))

    async def _show(self, visit: ProxyRequest, grant: ProxyGrant) -> None:
        """Answer a question about models."""
        if visit.path in ROOTS:
            await visit.reply.whole(200, {"models": list(grant.granted)})
            return
        for place in MODELS:
            if visit.path == place:
                await visit.reply.whole(200, visit.wire.models(grant.granted))
                return
            name = visit.path.removeprefix(f"{place}/")
            if name != visit.path and name in grant.granted:
                await visit.reply.whole(200, visit.wire.model(name))
                return
        said = f"this door has no {visit.path} (models: {', '.join(grant.granted)})"
        await visit.reply.failure(visit.wire.denied(404, said))

    async def _take(self, visit: ProxyRequest, grant: ProxyGrant) -> None:
        try:
            data = await visit.body(self._body_bytes)
        except TimeoutError:
            await visit.reply.failure(visit.wire.denied(408, "the body did not come in time"))
            return
        if data is None:
            said = f"the request has more than {self._body_bytes} bytes (door.body_bytes)"
            await visit.reply.failure(visit.wire.denied(413, said))
            return
        try:
            body = visit.said(_object(data))
            if (counting := visit.counting) is not None:
                tokens = await self._inside.count(counting, visit, grant, body)
                await visit.reply.whole(200, counting.told(tokens))
                return
            await self._inside.call(visit, grant, body)
        except InvalidInput as error:
            await visit.reply.failure(visit.wire.failure("bad_request", str(error)))


def _object(data: bytes) -> JsonObject:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidInput("the body is no JSON") from None
    if not isinstance(value, dict):
        raise InvalidInput("the body is no JSON object")
    return value
