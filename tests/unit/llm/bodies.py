"""Request bodies as the wire formats make them, read back from their JSON."""

import json
from typing import Any

from agiraph.core.turns import ModelRequest, Turn
from agiraph.llm.registry import ProviderPreset, load_presets
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire import anthropic, chat, google, responses
from tests.unit.llm.requests import ask

JsonObject = dict[str, Any]


def anthropic_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of the Messages API."""
    preset = load_presets()["anthropic"].model_copy(update=traits)
    body: JsonObject = json.loads(anthropic.body_of(request, model, preset, RequestBodyCache()))
    return body


def anthropic_messages(turns: tuple[Turn, ...]) -> list[JsonObject]:
    """Return these turns as the Messages API is told them."""
    messages: list[JsonObject] = anthropic_body(ask(*turns), "fake")["messages"]
    return messages


def openai_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Chat Completions."""
    preset = ProviderPreset(api="openai", **traits)
    body: JsonObject = json.loads(chat.body_of(request, model, preset, RequestBodyCache()))
    return body


def responses_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Responses."""
    preset = ProviderPreset(api="responses", **traits)
    body: JsonObject = json.loads(responses.body_of(request, model, preset, RequestBodyCache()))
    return body


def google_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Gemini."""
    preset = ProviderPreset(api="google", **traits)
    body: JsonObject = json.loads(google.body_of(request, model, preset, RequestBodyCache()))
    return body
