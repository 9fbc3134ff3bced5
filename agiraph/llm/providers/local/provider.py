"""LocalProvider: models that run on this machine, each in a separate process."""

import os
from collections.abc import Mapping
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import split_model
from agiraph.core.json_text import parse_json
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.failures import explained
from agiraph.llm.providers.local.process import LocalModelAddress, LocalProcess
from agiraph.llm.providers.local.prompts import as_rendered, read_answer
from agiraph.llm.providers.local.schemas import answer_schema, plain
from agiraph.llm.providers.service import HttpService, http_client
from agiraph.llm.request_body_cache import RequestBodyCache, as_json
from agiraph.llm.wire.chat import ChatFormat
from agiraph.llm.wire.chat_requests import encode_request
from agiraph.models.local_weights import file_of
from agiraph.models.registry import UNKNOWN_WINDOW, ModelTraits, ProviderPreset

PLAIN = ModelTraits(api="openai")
LOOPBACK = "http://127.0.0.1"


class LocalProvider:
    """The packaged model, and the model file that the preset names; a process for each.

    A process starts at the first call of its model.
    """

    def __init__(
        self,
        name: str,
        preset: ProviderPreset,
        environ: Mapping[str, str],
        timeout_seconds: float,
    ) -> None:
        self._name = name
        self._preset = preset
        self._environ = dict(environ)
        self._processes: dict[Path, LocalProcess] = {}
        self._client = http_client(LOOPBACK, timeout_seconds)
        # The engine closes a connection after some requests, sometimes just as it is reused.
        self._client.headers["connection"] = "close"

    def process(self, model: str) -> LocalProcess:
        """Return the process of a model. Raises ProviderError if it is unknown or not installed."""
        try:
            file = file_of(model, self._preset.model)
        except InvalidInput as error:
            raise ProviderError("unknown_model", str(error)) from None
        if file not in self._processes:
            self._processes[file] = LocalProcess(
                file,
                context=self._preset.context or UNKNOWN_WINDOW,
                threads=self._preset.threads or max(1, (os.cpu_count() or 2) // 2),
                idle_seconds=self._preset.idle_seconds,
                environ=self._environ,
            )
        return self._processes[file]

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        model = split_model(request.model)[1]
        async with self.process(model).used() as place:
            url = f"{place.url}/v1"
            service = HttpService(
                name=self._name, wire=ChatFormat(), url=url, key=place.key, client=self._client
            )
            with explained(self._name, model, place.url, place.key):
                # With tools the text is a JSON object that contains the call: it is not streamed.
                stream_to = no_text if request.tools else on_text
                reader = await service.ask(model, self._body(request), stream_to, on_answer)
                response = reader.response(request)
        if not request.tools:
            return response
        read = read_answer(response, request)
        if read.text:
            on_text(read.text)
        return read

    async def count(self, request: ModelRequest) -> int:
        """Return the number of tokens of a request, by the model's own template and tokenizer."""
        model = split_model(request.model)[1]
        async with self.process(model).used() as place:
            with explained(self._name, model, place.url, place.key):
                body = parse_json(self._body(request))
                prompt = await self._ask(place, "apply-template", {"messages": body["messages"]})
                found = await self._ask(place, "tokenize", {"content": prompt["prompt"]})
        return len(found["tokens"])

    async def _ask(self, place: LocalModelAddress, path: str, body: JsonObject) -> JsonObject:
        """Return the JSON answer of llama.cpp's server to `body` at `path`."""
        headers = {"authorization": f"Bearer {place.key}"}
        answer = await self._client.post(f"{place.url}/{path}", json=body, headers=headers)
        answer.raise_for_status()
        found: JsonObject = answer.json()
        return found

    def _body(self, request: ModelRequest) -> bytes:
        """Return the body of the engine's request.

        With tools or a schema, a grammar limits the answer to calls or the schema.
        """
        rendered = as_rendered(request).model_copy(update={"response_schema": None})
        traits = PLAIN.model_copy(
            update={"extra": self._preset.of(split_model(request.model)[1]).extra}
        )
        body: JsonObject = parse_json(encode_request(rendered, "local", traits, RequestBodyCache()))
        body["cache_prompt"] = True
        wanted = None if request.response_schema is None else plain(request.response_schema)
        schema = answer_schema(request.tools, wanted) if request.tools else wanted
        if schema is not None:
            shape = {"name": "answer", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return as_json(body)

    async def close(self) -> None:
        """End the models' processes."""
        for process in self._processes.values():
            await process.close()
        await self._client.aclose()


def no_text(_: str) -> None:
    """An `on_text` that ignores the text."""
