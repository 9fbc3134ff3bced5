"""OpenAIProvider: any service that speaks one of OpenAI's formats, through the official SDK.

The SDK keeps authentication, connections, time-outs and errors; bodies go through its `post` as
bytes, because its typed `create` would check and encode a long transcript again on every call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, PartialUsage, unmetered
from agiraph.llm.failures import explained
from agiraph.llm.network import CONNECT_SECONDS, mounts_for
from agiraph.llm.registry import ProviderPreset
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire import chat, responses

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = "openai.com"
NO_KEY = "none"  # the SDK insists on a key; local services do not look at it


class OpenAIAnswer(Protocol):
    """An answer as it comes in."""

    def feed(self, event: dict[str, Any], /) -> str:
        """Take one event of the stream; return the text that it brought."""
        ...

    def response(self, request: ModelRequest, /) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        ...

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        ...


@dataclass(frozen=True, slots=True)
class OpenAIFormat:
    """A wire format: where a request goes, what it looks like, how its answer is read."""

    path: str
    body_of: Callable[[ModelRequest, str, ProviderPreset, RequestBodyCache], bytes]
    answer: Callable[[], OpenAIAnswer]


CHAT = OpenAIFormat("/chat/completions", chat.body_of, chat.ChatAnswer)
RESPONSES = OpenAIFormat("/responses", responses.body_of, responses.ResponsesAnswer)


class OpenAIProvider:
    """One service that speaks Chat Completions or Responses."""

    def __init__(
        self,
        name: str,
        preset: ProviderPreset,
        format: OpenAIFormat,
        *,
        url: str,
        key: str | None,
        timeout_seconds: float,
    ) -> None:
        """Make a client for the service at `url`; imports the SDK (half a second) at first."""
        import openai

        self._name = name
        self._preset = preset
        self._format = format
        self._url = url
        self._key = key or ""
        self._body_cache = RequestBodyCache()
        self._sdk = openai
        self._client = _open(url, key, preset.headers, timeout_seconds)

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        model = request.model.partition("/")[2]
        with explained(self._name, model, self._url, self._key):
            return await self._stream(request, model, on_text, on_answer)

    async def _stream(
        self, request: ModelRequest, model: str, on_text: OnText, on_answer: OnAnswer
    ) -> ModelResponse:
        answer = self._format.answer()
        stream = await self._client.post(
            self._format.path,
            cast_to=object,
            content=self._format.body_of(request, model, self._preset.of(model), self._body_cache),
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )
        on_answer(answer)
        async with stream:
            async for event in stream:
                if isinstance(event, dict) and (text := answer.feed(event)):
                    on_text(text)
        return answer.response(request)

    async def close(self) -> None:
        """Let connections go."""
        await self._client.close()


def _open(
    url: str, key: str | None, headers: Mapping[str, str], timeout_seconds: float
) -> "AsyncOpenAI":
    """Return the SDK's client of the service at `url`."""
    import openai

    timeout = openai.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
    client = openai.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=url,
        max_retries=0,  # the broker tries again, for all who call this provider together
        timeout=timeout,
        default_headers=headers,
        http_client=openai.DefaultAsyncHttpxClient(timeout=timeout, mounts=mounts_for(url)),
    )
    if not (urlsplit(url).hostname or "").endswith(OPENAI):
        client.organization = None  # the SDK reads these from the environment, for any base_url
        client.project = None
    return client
