"""ProxyCall: one model call of an external agent, from its request to the last byte of its answer.

The call is made like every other call. If the service speaks the agent's format, the body is
forwarded; otherwise it is converted into the canonical request, and the answer is written in the
agent's format while it arrives. A call that fails after the agent has received part of its answer
is not retried here: the sent part cannot be withdrawn, and the agent sees that it is incomplete.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from actors.broker.call_quarantine import CallQuarantine
from actors.broker.call_retries import AttemptFailure, WaitEnded
from actors.broker.calls import ModelCalls
from actors.broker.llm_proxy.grant_table import ProxyGrant
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.turns import JsonObject, ModelRequest
from agiraph.llm.base import Provider, ProviderError
from agiraph.llm.provider_pool import ProviderPool
from agiraph.llm.providers.forwarding import ForwardingProvider
from agiraph.llm.request_body_cache import as_json
from agiraph.llm.token_counts import InputSize, forwarded_size, texts_of
from agiraph.llm.wire.format import AnswerWriter, WireError, WireFormat
from agiraph.logs.log import Logger
from agiraph.models.registry import ModelName

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Report = Callable[[ModelRequest, str, JsonObject], None]
OnFailure = Callable[[str, ProviderError], None]
STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request of an external agent: its format, its grant, and the data to forward.

    `digest` is the same if the agent sends the request again. Once the call has begun, `body`
    contains only the parts that the format's rules allow; the original body had `size` bytes.
    """

    wire: WireFormat
    token: str
    grant: ProxyGrant
    body: JsonObject
    digest: bytes
    headers: Mapping[str, str]
    query: str
    size: int = 0


class ProxyAnswerBroken(Exception):
    """The answer cannot continue, and the agent has received an incomplete part of it."""


class ProxyReply:
    """The HTTP response to the agent; an AnswerSink of `agiraph.llm.providers.forwarding`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and the headers."""
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


@dataclass(slots=True, kw_only=True)
class ProxyCall:
    """One model call: the agent's request `asked`, and the canonical `request` made of it.

    Call `run` once. `on_failure` is called if the call fails.
    """

    asked: ProxyRequest
    request: ModelRequest
    reply: ProxyReply
    calls: ModelCalls
    quarantine: CallQuarantine
    services: ProviderPool
    report: Report
    on_failure: OnFailure
    log: Logger
    _is_forwarded: bool = False
    _writer: AnswerWriter | None = None
    _unsent: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)

    @property
    def _is_streamed(self) -> bool:
        return self.asked.body.get("stream") is True

    async def run(self) -> None:
        """Answer the request; raise ProxyAnswerBroken if the answer could not be completed."""
        sending = asyncio.create_task(self._send_pieces())
        try:
            try:
                async with self.quarantine.making(self.asked.digest.hex()):
                    response = await self.calls.answer(
                        self.request, self._on_text, self._on_attempt_failed, via=self._via
                    )
            except Exception as error:
                await self._send_rest(sending)
                await self._fail(error)
                return
            if self._is_forwarded:
                await self.reply.end()
            elif self._is_streamed:
                self._unsent.put_nowait(self._answer_writer().end(response))
                await self._send_rest(sending)
                await self.reply.end()
            else:
                answer = self.asked.wire.encode_answer(self.asked.body, response)
                await self.reply.send_json(answer)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _via(self, name: ModelName) -> Provider | None:
        """Return a forwarding provider if the service speaks the agent's format, else None.

        Raises InvalidInput if the request needs such a service and this service does not speak it.
        """
        service = await self.services.native_service(name, self.asked.wire.api)
        self._is_forwarded = service is not None
        if service is None:
            if problem := self.asked.wire.rules.why_native_only(self.asked.body):
                raise InvalidInput(problem)
            return None
        return ForwardingProvider(
            service,
            self.asked.body,
            self.reply,
            size=self._size(name),
            traits=self.services.presets[name.provider].of(name.name),
            headers=self.asked.headers,
            query=f"?{self.asked.query}" if self.asked.query else "",
        )

    def _size(self, name: ModelName) -> InputSize:
        """Return the size of the body as input of a model."""
        body, rules = self.asked.body, self.asked.wire.rules
        return forwarded_size(
            len(as_json(body)),
            rules.attachments(body),
            self.services.known_window(name),
            has_service_tools=any(map(rules.service_tools, rules.tools(body))),
            texts=() if rules.may_shorten(body) else texts_of(self.request),
        )

    # --- while the answer streams in -------------------------------------------------------------

    def _on_text(self, text: str) -> None:
        if not self._is_forwarded and self._is_streamed:
            self._unsent.put_nowait(self._answer_writer().text(text))

    def _answer_writer(self) -> AnswerWriter:
        if self._writer is None:
            self._writer = self.asked.wire.writer(self.asked.body)
        return self._writer

    async def _send_pieces(self) -> None:
        """Send the written pieces as fast as the agent reads them."""
        while (piece := await self._unsent.get()) is not None:
            if not self.reply.has_begun:
                await self.reply.begin(200, STREAM_HEADERS)
            await self.reply.write(piece)

    async def _send_rest(self, sending: "asyncio.Task[None]") -> None:
        self._unsent.put_nowait(None)
        await sending

    def _on_attempt_failed(self, failure: AttemptFailure | WaitEnded) -> None:
        """Allow another attempt if the agent has received nothing of the last attempt yet."""
        if isinstance(failure, WaitEnded):
            return
        self.report(self.request, failure.EVENT, failure.event_data())
        if self.reply.has_begun or self._writer is not None:
            raise ProxyAnswerBroken(failure.message)

    # --- failures --------------------------------------------------------------------------------

    async def _fail(self, failure: Exception) -> None:
        error = self._error_of(failure)
        if not self.reply.has_begun:
            await self.reply.send_error(error)
            return
        if not self._can_end_with_error:
            raise ProxyAnswerBroken(str(failure)) from failure
        await self.reply.write(self._answer_writer().error(error))
        await self.reply.end()

    @property
    def _can_end_with_error(self) -> bool:
        """Whether an answer that has begun can end with an error."""
        if self._is_forwarded:
            return self._is_streamed and self.asked.wire.ends_broken_streams
        return self._writer is not None

    def _error_of(self, failure: Exception) -> WireError:
        request = self.request
        match failure:
            case ProviderError():
                data = {"model": request.model, "kind": failure.kind, "message": str(failure)}
                self.report(request, "model.failed", data)
                self.on_failure(request.entity, failure)
                wait = failure.retry_after
                return self.asked.wire.error(failure.kind, str(failure), retry_after=wait)
            case Refused():
                return self.asked.wire.error("bad_request", str(failure))
            case ProxyAnswerBroken():
                return self.asked.wire.error("overloaded", f"the answer broke off: {failure}")
            case _:
                # An unforeseen failure of one call must not end the other calls.
                self.log.error("a proxied call crashed", model=request.model, exc_info=failure)
                return self.asked.wire.error("internal", f"{type(failure).__name__}: {failure}")
