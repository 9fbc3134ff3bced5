"""ProxyCall: one model call of an external agent, from its request to the last byte of its answer.

It goes the way of every call. Where the service speaks the agent's format the body is forwarded;
else the canonical request is made of it, and the answer written in the agent's format as it streams
in. A call that breaks off after the agent has some of its answer is not retried here: what was sent
cannot be taken back, and the agent sees that it is incomplete.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from actors.broker.calls import FallbackStarted, ModelCalls, RetryPlanned
from actors.broker.llm_proxy.grant_table import ProxyGrant
from actors.broker.provider_pool import ProviderPool
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.turns import JsonObject, ModelRequest
from agiraph.llm.base import Provider, ProviderError
from agiraph.llm.providers.forwarding import ForwardingProvider
from agiraph.llm.registry import ModelName
from agiraph.llm.wire.format import AnswerWriter, WireError, WireFormat
from agiraph.logs.log import Logger

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Report = Callable[[ModelRequest, str, JsonObject], None]
OnFailure = Callable[[str, ProviderError], None]
STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request of an external agent: its format, its grant, and what is forwarded of it."""

    wire: WireFormat
    token: str
    grant: ProxyGrant
    body: JsonObject
    headers: Mapping[str, str]
    query: str


class ProxyAnswerBroken(Exception):
    """The answer cannot continue, and what the agent has of it is incomplete."""


class ProxyReply:
    """The HTTP response to the agent; an AnswerSink of `agiraph.llm.providers.forwarding`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head."""
        self.has_begun = True
        pairs = [(n.encode("latin-1"), v.encode("latin-1", "replace")) for n, v in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def write(self, data: bytes) -> None:
        """Send a piece; return when there is room for more."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Complete the response."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def send_json(
        self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a complete response."""
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        head = {"content-type": "application/json", "content-length": str(len(data))}
        await self.begin(status, {**head, **(headers or {})})
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def send_error(self, error: WireError) -> None:
        """Send an error as a complete response."""
        await self.send_json(error.body, error.status, error.headers)


class ProxyCall:
    """One call; `run` it once."""

    def __init__(
        self,
        asked: ProxyRequest,
        request: ModelRequest,
        reply: ProxyReply,
        *,
        calls: ModelCalls,
        services: ProviderPool,
        report: Report,
        on_failure: OnFailure,
        log: Logger,
    ) -> None:
        """Answer `request`, which was made of `asked`; `on_failure` is called if it fails."""
        self._asked = asked
        self._wire = asked.wire
        self._request = request
        self._reply = reply
        self._calls = calls
        self._services = services
        self._report = report
        self._on_failure = on_failure
        self._log = log
        self._is_forwarded = False
        self._is_streamed = asked.body.get("stream") is True
        self._writer: AnswerWriter | None = None
        self._unsent: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def run(self) -> None:
        """Answer; raises ProxyAnswerBroken if the answer could not be completed."""
        sending = asyncio.create_task(self._send_pieces())
        try:
            try:
                response = await self._calls.answer(
                    self._request, self._on_text, self._on_retry, self._on_fallback, via=self._via
                )
            except Exception as error:
                await self._send_rest(sending)
                await self._fail(error)
                return
            if self._is_forwarded:
                await self._reply.end()
            elif self._is_streamed:
                self._unsent.put_nowait(self._answer_writer().end(response))
                await self._send_rest(sending)
                await self._reply.end()
            else:
                answer = self._wire.encode_answer(self._asked.body, response)
                await self._reply.send_json(answer)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _via(self, name: ModelName) -> Provider | None:
        """Return a forwarding provider if the service speaks the agent's format, else None.

        Raises InvalidInput if only such a service could answer, and this one is none.
        """
        service = await self._services.native_service(name, self._wire.api)
        self._is_forwarded = service is not None
        if service is None:
            if problem := self._wire.why_native_only(self._asked.body):
                raise InvalidInput(problem)
            return None
        return ForwardingProvider(
            service,
            self._asked.body,
            self._reply,
            max_tokens=self._request.max_tokens,
            headers=self._asked.headers,
            query=f"?{self._asked.query}" if self._asked.query else "",
        )

    # --- while the answer streams in -------------------------------------------------------------

    def _on_text(self, text: str) -> None:
        if not self._is_forwarded and self._is_streamed:
            self._unsent.put_nowait(self._answer_writer().text(text))

    def _answer_writer(self) -> AnswerWriter:
        if self._writer is None:
            self._writer = self._wire.writer(self._asked.body)
        return self._writer

    async def _send_pieces(self) -> None:
        """Send what was written, as fast as the agent reads."""
        while (piece := await self._unsent.get()) is not None:
            if not self._reply.has_begun:
                await self._reply.begin(200, STREAM_HEADERS)
            await self._reply.write(piece)

    async def _send_rest(self, sending: "asyncio.Task[None]") -> None:
        self._unsent.put_nowait(None)
        await sending

    def _on_retry(self, retry: RetryPlanned) -> None:
        self._report(self._request, "model.retry", retry.event_data(self._request.model))
        self._restart(retry.message)

    def _on_fallback(self, fallback: FallbackStarted) -> None:
        self._report(self._request, "model.fallback", fallback.event_data())
        self._restart(fallback.message)

    def _restart(self, why: str) -> None:
        """Continue with another attempt, if the agent has nothing of the last one yet."""
        if self._reply.has_begun or self._writer is not None:
            raise ProxyAnswerBroken(why)

    # --- failures --------------------------------------------------------------------------------

    async def _fail(self, failure: Exception) -> None:
        error = self._error_of(failure)
        if not self._reply.has_begun:
            await self._reply.send_error(error)
            return
        if not self._can_end_with_error:
            raise ProxyAnswerBroken(str(failure)) from failure
        await self._reply.write(self._answer_writer().error(error))
        await self._reply.end()

    @property
    def _can_end_with_error(self) -> bool:
        """Whether an answer that has begun can end with an error."""
        if self._is_forwarded:
            return self._is_streamed and self._wire.ends_broken_streams
        return self._writer is not None

    def _error_of(self, failure: Exception) -> WireError:
        request = self._request
        match failure:
            case ProviderError():
                data = {"model": request.model, "kind": failure.kind, "message": str(failure)}
                self._report(request, "model.failed", data)
                self._on_failure(request.entity, failure)
                wait = failure.retry_after
                return self._wire.error(failure.kind, str(failure), retry_after=wait)
            case Refused():
                return self._wire.error("bad_request", str(failure))
            case ProxyAnswerBroken():
                return self._wire.error("overloaded", f"the answer broke off: {failure}")
            case _:
                # One call that fails in an unforeseen way must not end all the others.
                self._log.error("a proxied call crashed", model=request.model, exc_info=failure)
                return self._wire.error("internal", f"{type(failure).__name__}: {failure}")
