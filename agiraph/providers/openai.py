"""OpenAIProvider: any service that speaks Chat Completions, through the official SDK's own client.

The SDK keeps authentication, connections, time-outs and errors; bodies go through its `post` as
bytes, because its typed `create` would check and encode a long transcript again on every call.
"""

from typing import TYPE_CHECKING

from agiraph.providers.base import OnText, ProviderError
from agiraph.providers.failures import explain
from agiraph.providers.memo import Memo
from agiraph.providers.network import CONNECT_SECONDS, mounts_for
from agiraph.providers.openai_wire import Answer, body_of
from agiraph.turns import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = "openai"
NO_KEY = "none"  # the SDK insists on a key; local services do not look at it


class OpenAIProvider:
    """One service that speaks Chat Completions."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        key: str | None,
        timeout_seconds: float,
        max_tokens_field: str = "max_tokens",
    ) -> None:
        """Make a client for `base_url`; imports the SDK (half a second) the first time."""
        import openai

        self._name = name
        self._url = base_url
        self._memo = Memo()
        self._key = key or ""
        self._max_tokens_field = max_tokens_field
        self._sdk = openai
        timeout = openai.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        self._client: AsyncOpenAI = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=base_url,
            max_retries=0,  # the broker tries again, for all who call this provider together
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout, mounts=mounts_for(base_url)
            ),
        )
        if name != OPENAI:  # the SDK reads these from the environment, for whatever base_url
            self._client.organization = None
            self._client.project = None

    async def generate(self, request: ModelRequest, on_text: OnText) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        model = request.model.partition("/")[2]
        try:
            return await self._stream(request, model, on_text)
        except ProviderError:
            raise
        except Exception as error:  # what a remote service brings about fails the call, no more
            raise explain(error, self._name, model, self._url, self._key) from error

    async def _stream(self, request: ModelRequest, model: str, on_text: OnText) -> ModelResponse:
        answer = Answer()
        stream = await self._client.post(
            "/chat/completions",
            cast_to=object,
            content=body_of(request, model, self._max_tokens_field, self._memo),
            stream=True,
            stream_cls=self._sdk.AsyncStream[object],
        )
        async with stream:
            async for chunk in stream:
                if isinstance(chunk, dict) and (text := answer.feed(chunk)):
                    on_text(text)
        return answer.response(request)

    async def close(self) -> None:
        """Let connections go."""
        await self._client.close()
