"""LocalProvider: models that run on this machine, each in a process beside this one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.failures import explain
from agiraph.llm.local_weights import file_of
from agiraph.llm.network import CONNECT_SECONDS, PAST_PROXIES
from agiraph.llm.providers.local.process import LocalModelAddress, LocalProcess
from agiraph.llm.providers.local.prompts import as_told, read_answer
from agiraph.llm.providers.local.schemas import answer_schema, plain
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.service_errors import ServiceError, beginning_of
from agiraph.llm.wire.chat import ChatAnswer, body_of
from agiraph.llm.wire.sse import SseSplitter

if TYPE_CHECKING:
    from httpx2 import AsyncClient
PLAIN = ModelTraits(api="openai")


class LocalProvider:
    """Runs the packaged model, and the person's own."""

    def __init__(
        self,
        name: str,
        *,
        own: str | None,
        context: int,
        threads: int,
        idle_seconds: float,
        timeout_seconds: float,
        environ: Mapping[str, str],
    ) -> None:
        """Know `own`, the file of the person's own model; nothing runs before the first call."""
        import httpx2

        self._name = name
        self._own = own
        self._context = context
        self._threads = threads
        self._idle_seconds = idle_seconds
        self._environ = dict(environ)
        self._processes: dict[Path, LocalProcess] = {}
        self._client: AsyncClient = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS), mounts=PAST_PROXIES
        )

    def process(self, model: str) -> LocalProcess:
        """Return the process of a model; ProviderError if it is not known or not installed."""
        try:
            file = file_of(model, self._own)
        except InvalidInput as error:
            raise ProviderError("unknown_model", str(error)) from None
        if file not in self._processes:
            self._processes[file] = LocalProcess(
                file,
                context=self._context,
                threads=self._threads,
                idle_seconds=self._idle_seconds,
                environ=self._environ,
            )
        return self._processes[file]

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        model = request.model.removeprefix("text:").partition("/")[2]
        async with self.process(model).used() as place:
            try:
                hear = None if request.tools else on_text
                answer = await self._asked(place, _body(request), hear, on_answer)
                response = answer.response(request)
            except ProviderError:
                raise
            except Exception as error:  # what the engine brings about fails the call, no more
                raise explain(error, self._name, model, place.url, place.key) from error
        if not request.tools:
            return response
        read = read_answer(response, request)
        if read.text:
            on_text(read.text)
        return read

    async def _asked(
        self,
        place: LocalModelAddress,
        body: JsonObject,
        on_text: OnText | None,
        on_answer: OnAnswer,
    ) -> ChatAnswer:
        """Return the answer; `on_text` is None where its text is a shape that holds the calls."""
        answer, cutter = ChatAnswer(), SseSplitter()
        url = f"{place.url}/v1/chat/completions"
        headers = {"authorization": f"Bearer {place.key}"}
        async with self._client.stream("POST", url, json=body, headers=headers) as stream:
            if stream.status_code >= 400:
                raise ServiceError(stream, await beginning_of(stream))
            on_answer(answer)
            async for piece in stream.aiter_raw():
                for event in cutter.feed(piece):
                    text = answer.feed(event.data) if event.data is not None else ""
                    if text and on_text is not None:
                        on_text(text)
        return answer

    async def close(self) -> None:
        """End the models' processes."""
        for process in self._processes.values():
            await process.close()
        await self._client.aclose()


def _body(request: ModelRequest) -> JsonObject:
    """Return what the engine is asked; a shape holds the answer to a call, or to what is wanted."""
    told = as_told(request).model_copy(update={"response_schema": None})
    body: dict[str, Any] = json.loads(body_of(told, "local", PLAIN, RequestBodyCache()))
    body["cache_prompt"] = True
    wanted = None if request.response_schema is None else plain(request.response_schema)
    schema = answer_schema(request.tools, wanted) if request.tools else wanted
    if schema is not None:
        shape = {"name": "answer", "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body
