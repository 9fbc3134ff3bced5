"""AnthropicProvider: Anthropic's Messages API, through the official SDK's own client.

The SDK keeps authentication, connections, time-outs and errors; bodies go through its `post` as
bytes, because its typed `create` would check and encode a long transcript again on every call.
"""

from typing import TYPE_CHECKING

from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, unmetered
from agiraph.llm.failures import explained
from agiraph.llm.network import CONNECT_SECONDS, mounts_for
from agiraph.llm.registry import ProviderPreset
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.anthropic import AnthropicAnswer, body_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


class AnthropicProvider:
    """One service that speaks the Messages API."""

    def __init__(
        self, name: str, preset: ProviderPreset, *, url: str, key: str, timeout_seconds: float
    ) -> None:
        """Make a client for `url`; imports the SDK (about a second) the first time."""
        import anthropic

        self._name = name
        self._preset = preset
        self._url = url
        self._body_cache = RequestBodyCache()
        self._key = key
        self._sdk = anthropic
        timeout = anthropic.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        self._client: AsyncAnthropic = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url,
            default_headers=preset.headers,
            max_retries=0,  # the broker tries again, for all who call this provider together
            timeout=timeout,
            http_client=anthropic.DefaultAsyncHttpxClient(timeout=timeout, mounts=mounts_for(url)),
        )

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
        answer = AnthropicAnswer()
        stream = await self._client.post(
            "/v1/messages",
            cast_to=object,
            content=body_of(request, model, self._preset.of(model), self._body_cache),
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
