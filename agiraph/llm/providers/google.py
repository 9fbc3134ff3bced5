"""GoogleProvider: Google's Gemini API, asked over plain HTTP.

There is an official SDK; this needs nothing that is not here already, starts in a tenth of its
time, and signatures pass through as they are.
"""

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, unmetered
from agiraph.llm.failures import StreamedError, explained
from agiraph.llm.network import CONNECT_SECONDS, mounts_for
from agiraph.llm.registry import ProviderPreset
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.google import GoogleAnswer, body_of

if TYPE_CHECKING:
    import httpx2

JsonObject = dict[str, Any]

VERSION = "v1beta"
DATA = "data:"


class GoogleProvider:
    """One service that speaks Gemini's API."""

    def __init__(
        self, name: str, preset: ProviderPreset, *, url: str, key: str, timeout_seconds: float
    ) -> None:
        """Make a client for the service at `url`; imports httpx2 the first time."""
        import httpx2

        self._name = name
        self._preset = preset
        self._url = url.rstrip("/")
        self._key = key
        self._body_cache = RequestBodyCache()
        headers = {"content-type": "application/json", "x-goog-api-key": key}
        self._client = httpx2.AsyncClient(
            headers=headers | preset.headers,
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            mounts=mounts_for(url),
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
        answer = GoogleAnswer()
        place = f"{self._url}/{VERSION}/models/{quote(model)}:streamGenerateContent?alt=sse"
        body = body_of(request, model, self._preset.of(model), self._body_cache)
        async with self._client.stream("POST", place, content=body) as response:
            if response.status_code != 200:
                await response.aread()
                raise _refused(response)
            on_answer(answer)
            async for line in response.aiter_lines():
                if text := answer.feed(_chunk(line)):
                    on_text(text)
        return answer.response(request)

    async def close(self) -> None:
        """Let connections go."""
        await self._client.aclose()


def _chunk(line: str) -> JsonObject:
    """Return what an event of the stream holds, nothing for the lines between events."""
    chunk = json.loads(line.removeprefix(DATA)) if line.startswith(DATA) else {}
    return chunk if isinstance(chunk, dict) else {}


def _refused(response: "httpx2.Response") -> StreamedError:
    """Return the error that a response other than 200 is."""
    try:
        body = response.json()
    except ValueError:
        body = {"message": response.text or response.reason_phrase}
    inner = body.get("error", body) if isinstance(body, dict) else {"message": response.text}
    told = inner if isinstance(inner, dict) else {"message": str(inner)}
    return StreamedError(told, response.status_code, response.headers)
