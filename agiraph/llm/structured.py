"""Structured answers: an answer that is one JSON object of a given shape.

Services that have it natively are told the schema in their own way (the wires do that); all others
are asked in words (`in_words`, `PromptedSchemaProvider`).
"""

import json
from typing import Any

from agiraph.core.turns import ModelRequest, ModelResponse, UserTurn
from agiraph.llm.base import OnAnswer, OnText, Provider, unmetered

JsonObject = dict[str, Any]

ASKED = """[Runtime]: Answer with one JSON object and nothing else: no greeting, no remarks, no \
code fence. It must satisfy this JSON Schema:

"""
SCHEMA_NAME = "answer"


def is_closed(schema: Any) -> bool:
    """Whether every object in a schema names all its properties as required and takes no others.

    It is what OpenAI's `strict` demands.
    """
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        named = set(schema.get("properties") or ())
        is_tight = schema.get("additionalProperties") is False
        if not is_tight or named != set(schema.get("required") or ()):
            return False
    return all(map(is_closed, schema.values()))


def in_words(request: ModelRequest) -> ModelRequest:
    """Return the same request with its schema told in the last turn, so that prefixes stay."""
    if request.response_schema is None:
        return request
    schema = json.dumps(request.response_schema, ensure_ascii=False)
    turns = (*request.turns, UserTurn(content=f"{ASKED}{schema}"))
    return request.model_copy(update={"turns": turns, "response_schema": None})


class PromptedSchemaProvider:
    """A provider that has no structured output, and is asked for it in words."""

    def __init__(self, inner: Provider) -> None:
        """Ask `inner`."""
        self._inner = inner

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        return await self._inner.generate(in_words(request), on_text, on_answer)

    async def close(self) -> None:
        """Let the inner provider go."""
        await self._inner.close()
