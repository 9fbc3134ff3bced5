"""Request bodies as the wire formats make them, read back from their JSON."""

import json
from typing import Any

from agiraph.providers import anthropic_wire, google_wire, openai_wire, responses_wire
from agiraph.providers.memo import Memo
from agiraph.providers.registry import Preset, load_presets
from agiraph.turns import ModelRequest, Turn
from tests.unit.providers.requests import ask

JsonObject = dict[str, Any]


def anthropic_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of the Messages API."""
    preset = load_presets()["anthropic"].model_copy(update=traits)
    body: JsonObject = json.loads(anthropic_wire.body_of(request, model, preset, Memo()))
    return body


def anthropic_messages(turns: tuple[Turn, ...]) -> list[JsonObject]:
    """Return these turns as the Messages API is told them."""
    messages: list[JsonObject] = anthropic_body(ask(*turns), "fake")["messages"]
    return messages


def openai_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Chat Completions."""
    preset = Preset(api="openai", **traits)
    body: JsonObject = json.loads(openai_wire.body_of(request, model, preset, Memo()))
    return body


def responses_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Responses."""
    preset = Preset(api="responses", **traits)
    body: JsonObject = json.loads(responses_wire.body_of(request, model, preset, Memo()))
    return body


def google_body(request: ModelRequest, model: str, **traits: Any) -> JsonObject:
    """Return the body of a call of Gemini."""
    preset = Preset(api="google", **traits)
    body: JsonObject = json.loads(google_wire.body_of(request, model, preset, Memo()))
    return body
