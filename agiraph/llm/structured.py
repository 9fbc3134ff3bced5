"""Structured answers: an answer that is one JSON object of a given shape.

Services that support it get the schema in their wire format; all others get it as text
(`with_schema_as_text`, `PromptedSchemaProvider`).
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
    """Whether every object in a schema requires all its properties and allows no others.

    OpenAI's `strict` demands that.
    """
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties", {}), schema.get("required", [])
        # The schema of an external agent may be invalid: then no service is asked to be strict.
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        is_tight = schema.get("additionalProperties") is False
        if not is_tight or sorted(properties) != sorted(map(str, required)):
            return False
    return all(map(is_closed, schema.values()))


def with_schema_as_text(request: ModelRequest) -> ModelRequest:
    """Return the request with its answer's schema as text in an additional last turn.

    At the end it does not change the cached beginning of the conversation.
    """
    if request.response_schema is None:
        return request
    schema = json.dumps(request.response_schema, ensure_ascii=False)
    turns = (*request.turns, UserTurn(content=f"{ASKED}{schema}"))
    return request.model_copy(update={"turns": turns, "response_schema": None})


class PromptedSchemaProvider:
    """Wraps a provider without structured output: schemas of answers are sent as text."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer one request; see `Provider.generate`."""
        return await self._inner.generate(with_schema_as_text(request), on_text, on_answer)

    async def close(self) -> None:
        """Close the inner provider."""
        await self._inner.close()
