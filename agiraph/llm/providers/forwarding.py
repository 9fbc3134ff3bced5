"""ForwardingProvider: forwards a request that is already in the service's own format.

The rules of its format decide which parts may be in it (`agiraph.llm.wire.request_rules`). The
answer is sent to the external agent event by event, as fast as the agent reads, and is read
meanwhile for its content and its cost. So features of a format that Agiraph's own request lacks
(pictures, cache marks, reasoning settings) work for an external agent.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import split_model
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.foreign.http import read_json
from agiraph.llm.base import OnAnswer, OnText, PartialUsage, ProviderError, unmetered
from agiraph.llm.failures import ServiceError, UnreadableAnswer, explained, is_error
from agiraph.llm.key_redaction import without_key
from agiraph.llm.providers.service import EVENT_STREAM, HttpService, events_of, refuse_page
from agiraph.llm.request_body_cache import as_json
from agiraph.llm.token_counts import InputSize
from agiraph.llm.wire.format import UNREADABLE, WireFormat
from agiraph.llm.wire.key_redactor import without_key_in_json
from agiraph.models.registry import ModelTraits

if TYPE_CHECKING:
    from httpx2 import Response

PASSED_BACK = ("content-type", "request-id", "x-request-id", "retry-after")
FORMAT_HEADERS = ("anthropic-version", "anthropic-beta")
BETAS = "anthropic-beta"
FORMAT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
PRICED_BETAS = ("context-1m", "fast-mode")
"""Prefixes of betas that change the price of a call."""


class AnswerSink(Protocol):
    """The receiver of an answer: the HTTP response to the external agent."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of the answer."""
        ...

    async def write(self, data: bytes) -> None:
        """Send a piece of the answer; return when there is room for more."""
        ...


class AnswerBrokenOff(ProviderError):
    """The answer broke off after the agent had received some of it: it cannot be retried."""

    @property
    def is_retryable(self) -> bool:
        """False: the part of the answer that was sent cannot be taken back."""
        return False


def format_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the agent's headers that are forwarded: only headers about the format itself.

    Raises InvalidInput for a value that is not a plain name: a service might read another name.
    """
    kept = {name: headers[name] for name in FORMAT_HEADERS if headers.get(name)}
    betas = [beta.strip(" \t") for beta in kept.pop(BETAS, "").split(",")]
    for name, value in (*kept.items(), *((BETAS, beta) for beta in betas if beta)):
        if not FORMAT_NAME.fullmatch(value):
            raise InvalidInput(
                f"{name}: {value[:60]!r} is not forwarded "
                f"(possible: a name of letters, digits, '.', '_' and '-'"
                f"{', or several with commas between them' if name == BETAS else ''})"
            )
    sent = [beta for beta in betas if beta and not beta.lower().startswith(PRICED_BETAS)]
    return kept | ({BETAS: ",".join(sent)} if sent else {})


class ForwardingProvider:
    """A Provider for one request: forwards the agent's own body, and the answer back.

    `size` is the input size of the body, `traits` are those of the model; `query` is appended to
    the path.
    """

    def __init__(
        self,
        service: HttpService,
        body: JsonObject,
        sink: AnswerSink,
        *,
        size: InputSize,
        traits: ModelTraits,
        headers: Mapping[str, str],
        query: str,
    ) -> None:
        self._service = service
        self._body = body
        self._sink = sink
        self.size = size
        self._traits = traits
        self._headers = format_headers(headers)
        self._query = query
        self._has_begun = False

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Return the answer to one request; see `Provider.generate`.

        Raises AnswerBrokenOff if the answer has begun before.
        """
        if self._has_begun:
            raise AnswerBrokenOff("unreachable", "the answer broke off and was not begun again")
        service = self._service
        model = split_model(request.model)[1]
        reader = _LenientReader(service.wire, on_text)
        limit = request.max_tokens
        body = as_json(service.wire.forwarded(self._body, model, limit, self._traits))
        is_streamed = self._body.get("stream") is True
        path = service.wire.path(model, is_streamed=is_streamed) + self._query
        try:
            with explained(service.name, model, service.url, service.key):
                # The head of an unstreamed answer comes when the whole answer is complete.
                reader.is_accepted = not is_streamed
                on_answer(reader.so_far)
                async with service.post(path, body, self._headers) as response:
                    reader.is_accepted = True
                    await self._pass_on(response, reader)
                return reader.response(request)
        except ProviderError as error:
            if not self._has_begun:
                raise
            raise AnswerBrokenOff(error.kind, str(error)) from error

    async def _pass_on(self, response: "Response", reader: "_LenientReader") -> None:
        key = self._service.key
        headers = {
            name: without_key(response.headers[name], key)
            for name in PASSED_BACK
            if name in response.headers
        }
        if EVENT_STREAM not in response.headers.get("content-type", ""):
            refuse_page(response)
            data = without_key_in_json(await response.aread(), key)
            if (problem := _error_in(data)) is not None:
                raise ServiceError(problem, None, response.headers)
            reader.feed_whole(data)
            await self._begin(response.status_code, headers)
            await self._sink.write(data)
            return
        async for event in events_of(response, self._service.wire, key):
            if not self._has_begun:
                if is_error(event.data):
                    raise ServiceError(event.data, None, response.headers)
                await self._begin(response.status_code, headers)
            if event.is_end:
                reader.end()
            reader.feed(event.data, len(event.raw))
            if self._service.wire.is_shown(self._body, event.data):
                await self._sink.write(event.raw)

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._has_begun = True
        await self._sink.begin(status, headers)

    async def close(self) -> None:
        """Do nothing: the service's connections are shared."""


def _error_in(data: bytes) -> JsonObject | None:
    """Return the error of an unstreamed answer, None if it is not an error."""
    try:
        answer = read_json(data)
    except UNREADABLE:
        return None
    return answer if is_error(answer) else None


class _LenientReader:
    """An answer reader that skips events it cannot read: the agent receives them nevertheless."""

    def __init__(self, wire: WireFormat, on_text: OnText) -> None:
        self._wire = wire
        self._reader = wire.reader()
        self._on_text = on_text
        self._error: Exception | None = None
        self._unread_bytes = 0
        self.is_accepted = False

    def feed(self, event: JsonObject | None, size: int) -> None:
        if event is None or self._error is not None:
            self._unread_bytes += size if self._error is not None else 0
            return
        try:
            text = self._reader.read(event)
        except UnreadableAnswer as error:
            self._error = error
            self._unread_bytes += size
        except ServiceError as error:
            self._error = error
        else:
            if text:
                self._on_text(text)

    def end(self) -> None:
        self._reader.end()

    def feed_whole(self, data: bytes) -> None:
        try:
            events = self._wire.answer_events(read_json(data))
        except UNREADABLE:
            self._error = UnreadableAnswer("the answer was forwarded, but cannot be read")
            self._unread_bytes = len(data)
            return
        for event in events:
            self.feed(event, len(data))

    def so_far(self) -> PartialUsage:
        """Return the usage of the answer; unreadable events count with all their bytes."""
        so_far = self._reader.so_far()
        size = so_far.streamed_bytes + self._unread_bytes
        return replace(so_far, streamed_bytes=size, is_accepted=self.is_accepted)

    def response(self, request: ModelRequest) -> ModelResponse:
        if self._error is not None:
            raise self._error
        return self._reader.response(request)
