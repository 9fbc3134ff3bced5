"""ForwardingProvider: a request that is in the service's own format already is handed on as it is.

What comes back goes to the asker event by event, as fast as it is taken, and is read meanwhile for
what it says and what it costs. So whatever a format can do that Agiraph's own request cannot
(pictures, cache marks, the service's tools) is there for an outside agent.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, PartialUsage, ProviderError, unmetered
from agiraph.llm.failures import explain
from agiraph.llm.network import CONNECT_SECONDS, mounts_for
from agiraph.llm.service_errors import ServiceError, beginning_of
from agiraph.llm.wire.sse import SseEvent, SseSplitter

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

PASSED_BACK = ("content-type", "request-id", "x-request-id", "retry-after")
EVENT_STREAM = "text/event-stream"


class ForwardedAnswerReader(Protocol):
    """Reads an answer as it comes by; see `agiraph.llm.proxy.format.AnswerReader`."""

    def feed(self, event: JsonObject) -> str:
        """Take one event; return its text."""
        ...

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if it is not whole."""
        ...

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        ...


class AnswerSink(Protocol):
    """Where an answer goes."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer."""
        ...

    async def write(self, data: bytes) -> None:
        """Take a piece of it; return when there is room for more."""
        ...


class AnswerSinkClosed(Exception):
    """Nobody takes the answer any more; raised by a AnswerSink, and passed on."""


class AnswerBrokenOff(ProviderError):
    """The answer broke off after the asker had some of it: it cannot be asked for again."""

    @property
    def is_retryable(self) -> bool:
        """Never: what was sent cannot be taken back."""
        return False


class ForwardingService:
    """One service to which requests can be handed on as they are."""

    def __init__(
        self, name: str, *, api: str, base_url: str, key: str | None, timeout_seconds: float
    ) -> None:
        """Make a client; `api` says how the key is shown."""
        import httpx2

        self.name = name
        self.url = base_url.rstrip("/")
        self.key = key or ""
        self._api = api
        self._client: AsyncClient = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            mounts=mounts_for(base_url),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    def headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return what to send with a request: the asker's own words about the format, our key."""
        kept = {name: value for name, value in given.items() if name.startswith("anthropic-")}
        if self._api == "anthropic":
            kept = {"anthropic-version": "2023-06-01"} | kept | {"x-api-key": self.key}
        elif self._api == "google":
            kept = {"x-goog-api-key": self.key}
        elif self.key:
            kept = {"authorization": f"Bearer {self.key}"}
        return kept | {"content-type": "application/json", "accept-encoding": "identity"}

    async def send(
        self,
        path: str,
        body: JsonObject,
        headers: Mapping[str, str],
        take: "Callable[[Response], Awaitable[None]]",
    ) -> None:
        """Post `body`, and hand the answer to `take`; ProviderError if the service refuses."""
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
        url = f"{self.url}{path}"
        async with self._client.stream(
            "POST", url, content=data, headers=self.headers(headers)
        ) as response:
            if response.status_code >= 400:
                raise ServiceError(response, await beginning_of(response))
            await take(response)

    async def close(self) -> None:
        """Let connections go."""
        await self._client.aclose()


class ForwardingProvider:
    """A Provider for one request: hands the asker's own body on, and the answer back."""

    def __init__(
        self,
        service: ForwardingService,
        *,
        path: str,
        headers: Mapping[str, str],
        body: Callable[[ModelRequest], JsonObject],
        hearing: Callable[[], ForwardedAnswerReader],
        whole_events: Callable[[JsonObject], list[JsonObject]],
        shown: Callable[[SseEvent], bool],
        sink: AnswerSink,
    ) -> None:
        """Send what `body` makes of the request to `path`; the asker sees the events in `shown`."""
        self._service = service
        self._path = path
        self._headers = headers
        self._body = body
        self._hearing = hearing
        self._whole_events = whole_events
        self._shown = shown
        self._sink = sink
        self._has_begun = False

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`. Raises AnswerBrokenOff once it has begun."""
        if self._has_begun:
            raise AnswerBrokenOff("unreachable", "the answer broke off and was not begun again")
        hearing = _Lenient(self._hearing(), on_text)
        service = self._service
        model = request.model.removeprefix("text:").partition("/")[2]

        async def take(response: "Response") -> None:
            on_answer(hearing)
            await self._take(response, hearing)

        try:
            await service.send(self._path, self._body(request), self._headers, take)
            return hearing.response(request)
        except AnswerSinkClosed:
            raise
        except ProviderError as error:
            raise self._final(error) from error
        except Exception as error:  # what a remote service brings about fails the call, no more
            told = explain(error, service.name, model, service.url, service.key)
            raise self._final(told) from error

    def _final(self, error: ProviderError) -> ProviderError:
        """Return an error which says that there is no second try, if the asker has something."""
        return AnswerBrokenOff(error.kind, str(error)) if self._has_begun else error

    async def _take(self, response: "Response", hearing: "_Lenient") -> None:
        headers = {name: response.headers[name] for name in PASSED_BACK if name in response.headers}
        if EVENT_STREAM in response.headers.get("content-type", ""):
            await self._take_stream(response, headers, hearing)
            return
        data = await response.aread()
        hearing.hear(self._whole_events, data)
        self._has_begun = True
        await self._sink.begin(response.status_code, headers)
        await self._sink.write(data)

    async def _take_stream(
        self, response: "Response", headers: Mapping[str, str], hearing: "_Lenient"
    ) -> None:
        cutter = SseSplitter()
        async for piece in response.aiter_raw():
            for event in cutter.feed(piece):
                if not self._has_begun:
                    if event.data is not None and "error" in event.data:
                        raise ServiceError(response, json.dumps(event.data).encode())
                    self._has_begun = True
                    await self._sink.begin(response.status_code, headers)
                hearing.feed(event.data)
                if self._shown(event):
                    await self._sink.write(event.raw)

    async def close(self) -> None:
        """Do nothing: the service's connections are not this request's."""


class _Lenient:
    """A hearing that does not mind what it cannot read: the asker has it all the same."""

    def __init__(self, inner: ForwardedAnswerReader, on_text: OnText) -> None:
        self._inner = inner
        self._on_text = on_text
        self._is_lost = False

    def feed(self, event: JsonObject | None) -> None:
        if event is None or self._is_lost:
            return
        try:
            text = self._inner.feed(event)
        except (LookupError, TypeError, AttributeError):
            self._is_lost = True
            return
        if text:
            self._on_text(text)

    def hear(self, events: Callable[[JsonObject], list[JsonObject]], data: bytes) -> None:
        try:
            answer: Any = json.loads(data)
            found = events(answer)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            self._is_lost = True
            return
        for event in found:
            self.feed(event)

    def so_far(self) -> PartialUsage:
        return self._inner.so_far()

    def response(self, request: ModelRequest) -> ModelResponse:
        if self._is_lost:
            raise ProviderError("internal", "the answer was handed on, but could not be read")
        return self._inner.response(request)
