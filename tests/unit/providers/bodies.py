"""Request bodies as the wire formats make them, read back from their JSON."""

import json
from typing import Any

from agiraph.providers import anthropic_wire, openai_wire
from agiraph.providers.memo import Memo
from agiraph.turns import ModelRequest, Turn
from tests.unit.providers.requests import ask

JsonObject = dict[str, Any]


def anthropic_body(request: ModelRequest, model: str) -> JsonObject:
    """Return the body of a call of the Messages API."""
    body: JsonObject = json.loads(anthropic_wire.body_of(request, model, Memo()))
    return body


def anthropic_messages(turns: tuple[Turn, ...]) -> list[JsonObject]:
    """Return these turns as the Messages API is told them."""
    messages: list[JsonObject] = anthropic_body(ask(*turns), "fake")["messages"]
    return messages


def openai_body(request: ModelRequest, model: str, max_tokens_field: str) -> JsonObject:
    """Return the body of a call of Chat Completions."""
    body: JsonObject = json.loads(openai_wire.body_of(request, model, max_tokens_field, Memo()))
    return body
