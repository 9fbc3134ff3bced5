"""Request bodies as the wire formats encode them, decoded again."""

import json
from typing import Any

from agiraph.core.turns import JsonObject, ModelRequest, Turn
from agiraph.llm.connect import FORMATS
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.models.registry import ModelTraits, ProviderPreset, load_presets
from tests.unit.llm.requests import ask


def encoded(api: str, request: ModelRequest, model: str, traits: ModelTraits) -> JsonObject:
    """Return the body of a request in a format."""
    body = FORMATS[api].encode_request(request, model, traits, RequestBodyCache())
    return dict(json.loads(body))


def anthropic_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of the Messages API."""
    preset = load_presets()["anthropic"].model_copy(update=traits)
    return encoded("anthropic", request, model, preset)


def anthropic_messages(turns: tuple[Turn, ...]) -> list[JsonObject]:
    """Return these turns as messages of the Messages API."""
    return list(anthropic_body(ask(*turns), "fake")["messages"])


def openai_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Chat Completions."""
    return encoded("openai", request, model, ProviderPreset(api="openai", **traits))


def responses_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Responses."""
    return encoded("responses", request, model, ProviderPreset(api="responses", **traits))


def google_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Gemini."""
    return encoded("google", request, model, ProviderPreset(api="google", **traits))
