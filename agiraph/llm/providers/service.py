"""ServiceProvider: a model service that is called in its wire format, over any transport."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.foreign.http import read_json
from agiraph.llm.base import OnAnswer, OnText, unmetered
from agiraph.llm.failures import (
    PAGE_TYPES,
    TEXT_LIMIT,
    PageAnswered,
    ServiceError,
    UnreadableAnswer,
    explained,
    is_error,
    reason_in,
)
from agiraph.llm.key_redaction import response_without_key
from agiraph.llm.network import CONNECT_SECONDS, client_options
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.format import UNREADABLE, AnswerReader, WireFormat
from agiraph.llm.wire.key_redactor import KeyRedactor
from agiraph.llm.wire.sse import SseEvent, SseSplitter
from agiraph.models.registry import ProviderPreset

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

EVENT_STREAM = "text/event-stream"
EVENTS_IN_A_ROW = 50
"""Events read before other calls get their turn: a flood always has more to read."""
BYTES_IN_A_ROW = 1 << 14
"""The number of bytes that are split into events at once."""
PAGE_ADVICE = "is the base URL right (most end in /v1), and does a login page stand before it?"


def http_client(url: str, timeout_seconds: float) -> "AsyncClient":
    """Return a client for the service at `url`; imports httpx2 the first time."""
    import httpx2

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        **client_options(url),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpService:
    """One service: its wire format, its address, and the key of its requests."""

    name: str
    wire: WireFormat
    url: str
    key: str
    client: "AsyncClient"
    headers: Mapping[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator["Response"]:
        """Post `body`; yield the answer, whose body is not read yet. Raises ServiceError."""
        sent = {"content-type": "application/json", "accept-encoding": "identity"}
        sent |= {**self.wire.auth(self.key), **self.headers, **(headers or {})}
        url = f"{self.url.rstrip('/')}{path}"
        async with self.client.stream("POST", url, content=body, headers=sent) as response:
            if not response.is_success:
                raise await _refused(response)
            yield response

    @asynccontextmanager
    async def stream(self, path: str, body: bytes) -> AsyncIterator[AsyncIterator[SseEvent]]:
        """Post a request; yield the events of its answer. Raises ServiceError."""
        async with self.post(path, body) as response:
            yield events_of(response, self.wire, self.key)

    async def ask(
        self, model: str, body: bytes, on_text: OnText, on_answer: OnAnswer
    ) -> AnswerReader:
        """Post a request for a streamed answer; return the reader that has read all its events."""
        reader = self.wire.reader()
        on_answer(reader.so_far)
        async with self.stream(self.wire.path(model, is_streamed=True), body) as events:
            reader.is_accepted = True
            async for event in events:
                if event.is_end:
                    reader.end()
                    break  # some services leave the connection open
                if event.is_error:
                    raise ServiceError(event.data)
                try:
                    if event.problem:
                        raise UnreadableAnswer(event.problem)
                    if event.data is not None and (text := reader.read(event.data)):
                        on_text(text)
                except UnreadableAnswer:
                    reader.has_begun = True  # the service has worked, and charges for it
                    raise
        return reader


async def events_of(response: "Response", wire: WireFormat, key: str) -> AsyncIterator[SseEvent]:
    """Yield the server-sent events of an answer as they arrive, without the service's key.

    Raises PageAnswered, UnreadableAnswer, ServiceError.
    """
    redactor = KeyRedactor(key)
    failure: Exception | None = None
    async with aclosing(_read_events(response, wire)) as events:
        try:
            async for event in events:
                for safe in redactor.feed(event):
                    yield safe
        except Exception as error:  # the events before it are billed
            failure = error
    for safe in redactor.end():
        yield safe
    if failure is not None:
        raise failure


async def _read_events(response: "Response", wire: WireFormat) -> AsyncGenerator[SseEvent, None]:
    """Yield the server-sent events of an answer.

    Some services answer in one piece although a stream was requested, others report an error with
    status 200: such a body is yielded as equivalent events.
    """
    refuse_page(response)
    splitter, unread, is_stream = SseSplitter(), b"", False
    read = 0
    async for piece in _in_short_pieces(response):
        for event in splitter.feed(piece):
            read += 1
            if read % EVENTS_IN_A_ROW == 0:
                await asyncio.sleep(0)
            is_stream = is_stream or event.is_end or bool(event.problem) or event.data is not None
            unread = unread or (b"" if is_stream else event.raw)
            yield event
    body = (unread + splitter.rest()).strip()
    for event in splitter.end():
        is_stream = True
        yield event
    if not is_stream:
        for event in _events_in(body, response, wire):
            yield event


async def _in_short_pieces(response: "Response") -> AsyncIterator[bytes]:
    """Yield the bytes of an answer; other calls get their turn between pieces of one read."""
    async for piece in response.aiter_bytes():
        yield piece[:BYTES_IN_A_ROW]
        for start in range(BYTES_IN_A_ROW, len(piece), BYTES_IN_A_ROW):
            await asyncio.sleep(0)
            yield piece[start : start + BYTES_IN_A_ROW]


def _events_in(body: bytes, response: "Response", wire: WireFormat) -> Iterator[SseEvent]:
    """Yield the events of an unstreamed answer; yield none for a stream that broke off."""
    if body[:1] == b"<":
        raise PageAnswered(f"{response.request.url} answered with a page: {PAGE_ADVICE}")
    if body[:1] not in (b"{", b"[") and EVENT_STREAM in response.headers.get("content-type", ""):
        return
    try:
        found = read_json(body)
    except ValueError:
        raise UnreadableAnswer(_instead_of_events(response, body)) from None
    raw = body
    for answer in found if isinstance(found, list) else [found]:
        try:
            events = [] if is_error(answer) else wire.answer_events(answer)
        except UNREADABLE:
            events = []
        if not events and reason_in(answer):
            raise ServiceError(answer, None, response.headers)
        if not events:
            raise UnreadableAnswer(_instead_of_events(response, body))
        for event in events:
            yield SseEvent(raw, event)
            raw = b""
    yield SseEvent(raw, is_end=True)


def _instead_of_events(response: "Response", body: bytes) -> str:
    kind = response.headers.get("content-type", "no content type")
    shown = body[:TEXT_LIMIT].decode("utf-8", "replace") or "an empty body"
    return f"{response.request.url} answered with {kind} instead of events: {shown}"


def refuse_page(response: "Response") -> None:
    """Raise PageAnswered for an answer that is a web page: the URL is then not an API's."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind.lower() in PAGE_TYPES:
        raise PageAnswered(f"{response.request.url} answered with {kind}: {PAGE_ADVICE}")


async def _refused(response: "Response") -> ServiceError:
    """Return the error of an unsuccessful answer; the client's hook limits its size."""
    data = await response.aread()
    return ServiceError(data.decode("utf-8", "replace"), response.status_code, response.headers)


class ServiceProvider:
    """One service, called in its wire format."""

    def __init__(self, service: HttpService, preset: ProviderPreset) -> None:
        self.service = service
        self._preset = preset
        self._body_cache = RequestBodyCache()

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        service = self.service
        model = request.model.partition("/")[2]
        with explained(service.name, model, service.url, service.key):
            traits = self._preset.of(model)
            body = service.wire.encode_request(request, model, traits, self._body_cache)
            reader = await service.ask(model, body, on_text, on_answer)
            return response_without_key(reader.response(request), service.key)

    async def close(self) -> None:
        """Close all connections."""
        await self.service.client.aclose()
