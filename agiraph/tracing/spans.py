"""A span: an activity with a duration and a parent, and its attributes. Pure.

Names and attributes are those in OpenTelemetry's semantic conventions for generative AI (https:

opentelemetry.io/docs/specs/semconv/gen-ai/); a test compares them with the published package.
"""

import functools
import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE = "gen_ai.usage.cache_creation.input_tokens"
CONVERSATION_ID = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OPERATION = "gen_ai.operation.name"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_RESULT = "gen_ai.tool.call.result"
TOOL_TYPE = "gen_ai.tool.type"

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

TRACE_BYTES = 16
SPAN_BYTES = 8

CONTENT_LIMIT = 2000
TEXT_LIMIT = 200

JsonObject = dict[str, Any]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Span:
    """One finished span; ids in hexadecimal, times in epoch seconds.

    `is_call`: the span is a call of a model service. `problem` is the reason of a failure.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start: float
    end: float
    attributes: dict[str, Value] = field(default_factory=dict)
    is_call: bool = False
    problem: str = ""


@functools.lru_cache(maxsize=64)
def trace_id(agent: str, run: str) -> str:
    """Return the id of the trace of one run."""
    return _digest(TRACE_BYTES, "trace", agent, run)


def span_id(kind: str, *about: str) -> str:
    """Return the id of a span: the same kind and subject give the same id."""
    return _digest(SPAN_BYTES, kind, *about)


def _digest(size: int, *parts: str) -> str:
    digest = blake2b("\x1f".join(parts).encode(), digest_size=size).hexdigest()
    return digest if int(digest, 16) else f"{1:0{2 * size}x}"  # all zeros is not a valid id


def as_json(arguments: JsonObject) -> str:
    """Return arguments as JSON of at most about `CONTENT_LIMIT` characters; long texts are cut."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    if len(text) > CONTENT_LIMIT:
        text = json.dumps(_shortened(arguments), ensure_ascii=False, default=str)
    if len(text) > CONTENT_LIMIT:
        text = json.dumps({"cut": text[:CONTENT_LIMIT]}, ensure_ascii=False)
    return text


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > TEXT_LIMIT:
            return f"{value[:TEXT_LIMIT]}…"
        case dict():
            return {key: _shortened(one) for key, one in value.items()}
        case list():
            return [_shortened(one) for one in value]
        case _:
            return value


def has_usage(data: JsonObject) -> bool:
    """Whether an event's data reports a usage: without a report the usage is unknown, not zero."""
    return any(data.get(key) for key in ("input_tokens", "output_tokens", "cost_usd"))


def usage_of(data: JsonObject) -> dict[str, Value]:
    """Return the tokens and cost in an event's data as attributes of a span."""
    usage = {
        INPUT_TOKENS: data.get("input_tokens"),
        OUTPUT_TOKENS: data.get("output_tokens"),
        CACHE_READ: data.get("cache_read_tokens"),
        CACHE_WRITE: data.get("cache_write_tokens"),
        "agiraph.cost_usd": data.get("cost_usd"),
        "agiraph.is_estimate": data.get("is_estimate") or None,
    }
    return {name: value for name, value in usage.items() if value is not None}


def model_of(model: str) -> dict[str, Value]:
    """Return the attributes of a model with the name `provider/name`, none for ''."""
    if not model:
        return {}
    provider, slash, name = model.partition("/")
    attributes: dict[str, Value] = {REQUEST_MODEL: name or model, RESPONSE_MODEL: name or model}
    return attributes | ({PROVIDER: provider} if slash else {})
