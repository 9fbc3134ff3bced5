"""ForwardingProvider: a request that is in the service's own format already is forwarded unchanged.

The answer goes to the external agent event by event, as fast as the agent reads, and is read
meanwhile for what it says and what it costs. So whatever a format can do that Agiraph's own request
cannot (pictures, cache marks, the service's tools) works for an external agent.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from agiraph.core.ids import split_model
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, PartialUsage, ProviderError, unmetered
from agiraph.llm.failures import ServiceError, UnreadableAnswer, explained
from agiraph.llm.providers.service import EVENT_STREAM, HttpService, events_of
from agiraph.llm.request_body_cache import as_json
from agiraph.llm.wire.format import UNREADABLE, WireFormat

if TYPE_CHECKING:
    from httpx2 import Response

PASSED_BACK = ("content-type", "request-id", "x-request-id", "retry-after")


class AnswerSink(Protocol):
    """Where an answer goes: the HTTP response to the external agent."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of the answer."""
        ...

    async def write(self, data: bytes) -> None:
        """Send a piece of the answer; return when there is room for more."""
        ...


class AnswerBrokenOff(ProviderError):
    """The answer broke off after the agent had some of it: it cannot be asked for again."""

    @property
    def is_retryable(self) -> bool:
        """Never: what was sent cannot be taken back."""
        return False


def format_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the agent's headers that are forwarded: those about the format itself, no others."""
    return {name: value for name, value in headers.items() if name.startswith("anthropic-")}


class ForwardingProvider:
    """A Provider for one request: forwards the agent's own body, and the answer back.

    `max_tokens` is the longest answer that the agent asked for; the answer is bounded if the
    request that is made for it may have less. `query` is appended to the path.
    """

    def __init__(
        self,
        service: HttpService,
        body: JsonObject,
        sink: AnswerSink,
        *,
        max_tokens: int,
        headers: Mapping[str, str],
        query: str,
    ) -> None:
        self._service = service
        self._body = body
        self._sink = sink
        self._max_tokens = max_tokens
        self._headers = format_headers(headers)
        self._query = query
        self._has_begun = False

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`. Raises AnswerBrokenOff once it has begun."""
        if self._has_begun:
            raise AnswerBrokenOff("unreachable", "the answer broke off and was not begun again")
        service = self._service
        model = split_model(request.model)[1]
        reader = _LenientReader(service.wire, on_text)
        bound = request.max_tokens if request.max_tokens != self._max_tokens else None
        body = as_json(service.wire.forwarded(self._body, model, bound))
        is_streamed = self._body.get("stream") is True
        path = service.wire.path(model, is_streamed=is_streamed) + self._query
        try:
            with explained(service.name, model, service.url, service.key):
                async with service.post(path, body, self._headers) as response:
                    on_answer(reader.so_far)
                    await self._pass_on(response, reader)
                return reader.response(request)
        except ProviderError as error:
            if not self._has_begun:
                raise
            raise AnswerBrokenOff(error.kind, str(error)) from error

    async def _pass_on(self, response: "Response", reader: "_LenientReader") -> None:
        headers = {name: response.headers[name] for name in PASSED_BACK if name in response.headers}
        if EVENT_STREAM not in response.headers.get("content-type", ""):
            data = await response.aread()
            reader.feed_whole(data)
            await self._begin(response.status_code, headers)
            await self._sink.write(data)
            return
        async for event in events_of(response):
            if not self._has_begun:
                if event.data is not None and "error" in event.data:
                    raise ServiceError(event.data, response.status_code, response.headers)
                await self._begin(response.status_code, headers)
            reader.feed(event.data)
            if self._service.wire.is_shown(self._body, event.data):
                await self._sink.write(event.raw)

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._has_begun = True
        await self._sink.begin(status, headers)

    async def close(self) -> None:
        """Do nothing: the service's connections are shared."""


class _LenientReader:
    """A reader that ignores what it cannot read: the agent gets it all the same."""

    def __init__(self, wire: WireFormat, on_text: OnText) -> None:
        self._wire = wire
        self._reader = wire.reader()
        self._on_text = on_text
        self._error: Exception | None = None

    def feed(self, event: JsonObject | None) -> None:
        if event is None or self._error is not None:
            return
        try:
            text = self._reader.read(event)
        except (ServiceError, UnreadableAnswer) as error:
            self._error = error
        else:
            if text:
                self._on_text(text)

    def feed_whole(self, data: bytes) -> None:
        try:
            events = self._wire.answer_events(json.loads(data))
        except UNREADABLE:
            self._error = UnreadableAnswer("the answer was forwarded, but cannot be read")
            return
        for event in events:
            self.feed(event)

    def so_far(self) -> PartialUsage:
        return self._reader.so_far()

    def response(self, request: ModelRequest) -> ModelResponse:
        if self._error is not None:
            raise self._error
        return self._reader.response(request)
