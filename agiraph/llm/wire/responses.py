"""OpenAI's Responses wire format: a request's body, and the answer put together from a stream.

Pure. Nothing is stored on the service's side, so the whole conversation is sent each time, and the
model's reasoning with it: items whose content is sealed, sent back as they came, where they stood.
"""

import json
from typing import Any

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.base import PartialUsage, ProviderError
from agiraph.llm.failures import StreamedError
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.structured import SCHEMA_NAME, is_closed
from agiraph.llm.wire.transcript import (
    Layout,
    head_of,
    laid_out,
    read_call,
    tail_of,
    unique_calls,
    wire_id,
    wire_name,
)

JsonObject = dict[str, Any]

API = "responses"
SHORTEST_ANSWER = 16  # the API refuses to be asked for less
SEALED = "reasoning.encrypted_content"
CACHE_KEY_LIMIT = 64
INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
}
ENDS = ("response.completed", "response.incomplete", "response.failed")
KEPT_OF_REASONING = ("type", "id", "summary", "content", "encrypted_content")


def body_of(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {"max_output_tokens": max(SHORTEST_ANSWER, request.max_tokens)}
    if request.temperature is not None:
        tail["temperature"] = request.temperature
    if traits.effort is not None:
        tail["reasoning"] = {"effort": traits.effort}
    if request.response_schema is not None:
        tail["text"] = {"format": _format(request.response_schema)}
    head = body_cache.head(request, lambda: head_of(_head(request, model, traits), traits.extra))
    items = _items(request, traits, body_cache)
    return body_with(head, items, tail_of(tail, traits.extra), field="input")


def _format(schema: JsonObject) -> JsonObject:
    about = {"type": "json_schema", "name": SCHEMA_NAME}
    return about | {"schema": schema, "strict": is_closed(schema)}


def _head(request: ModelRequest, model: str, traits: ModelTraits) -> JsonObject:
    head: JsonObject = {"model": model, "stream": True, "store": False}
    if traits.reasoning == "kept":
        head["include"] = [SEALED]
    if traits.cache == "automatic" and request.entity:
        head["prompt_cache_key"] = request.entity[-CACHE_KEY_LIMIT:]
    if request.system.strip():
        head["instructions"] = request.system
    if request.tools:
        head["tools"] = [
            {"type": "function", "name": tool.name, "description": tool.description}
            | {"parameters": tool.parameters, "strict": False}
            for tool in request.tools
        ]
    return head


def _items(request: ModelRequest, traits: ModelTraits, body_cache: RequestBodyCache) -> bytes:
    """Return the turns as items. A turn's items never change, so all are final at once."""
    thinker = request.model if traits.reasoning == "kept" else ""
    start, known = body_cache.beginning(request)
    items = [as_json(i) for turn in request.turns[start:] for i in _told(turn, thinker)]
    return body_cache.joined(request, known, items, len(items), len(request.turns))


def _told(turn: Turn, model: str) -> list[JsonObject]:
    match turn:
        case UserTurn():
            is_empty = not turn.content.strip()
            return [] if is_empty else [_message("user", "input_text", turn.content)]
        case ToolTurn():
            id = wire_id(turn.call_id)
            return [{"type": "function_call_output", "call_id": id, "output": turn.content}]
        case AssistantTurn():
            return _answered(turn, model)


def _message(role: str, kind: str, text: str, **more: Any) -> JsonObject:
    content = [{"type": kind, "text": text}]
    return {"type": "message", "role": role, "content": content} | more


def _answered(turn: AssistantTurn, model: str) -> list[JsonObject]:
    items: list[JsonObject] = []
    for part in laid_out(turn, API, model):
        extra = part.get("extra") or {}
        if "raw" in part:
            items.append(part["raw"])
        elif "text" in part:
            items.append(_message("assistant", "output_text", part["text"], **extra))
        else:
            items.append(_call(turn.tool_calls[part["call"]]) | extra)
    # Reasoning alone is refused: an answer that came to nothing else is left out.
    return items if any(item["type"] != "reasoning" for item in items) else []


def _call(call: ToolCall) -> JsonObject:
    return {
        "type": "function_call",
        "call_id": wire_id(call.id),
        "name": wire_name(call.name),
        "arguments": json.dumps(call.arguments, ensure_ascii=False),
    }


class ResponsesUsage:
    """What an answer takes as it comes in, whoever reads the rest of it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._characters = 0
        self._has_begun = False
        self._answer: JsonObject = {}

    def feed(self, event: JsonObject) -> None:
        """Take one event."""
        kind = str(event.get("type"))
        if kind.endswith(".delta"):
            self._characters += len(str(event.get("delta") or ""))
        elif kind == "response.output_item.done":
            # Sealed thoughts are not streamed; four characters of a seal are three bytes of them.
            sealed = (event.get("item") or {}).get("encrypted_content") or ""
            self._characters += len(sealed) * 3 // 4
        elif kind in ENDS:
            self._answer = event.get("response") or {}
        is_refused = kind == "response.failed" and not (self._characters or self.is_counted)
        self._has_begun = kind.startswith("response.") and not is_refused

    @property
    def is_counted(self) -> bool:
        """Whether the service has counted the whole."""
        return bool(self._answer.get("usage"))

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        return PartialUsage(
            usage_of(self._answer), self._characters, self._has_begun, self.is_counted
        )


class ResponsesAnswer:
    """An answer as it comes in: feed it the stream's events, then ask for the response."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._items: dict[int, JsonObject] = {}
        self._response: JsonObject | None = None
        self._tally = ResponsesUsage()

    def feed(self, event: JsonObject) -> str:
        """Take one event; return the text that it brought, "" if none."""
        self._tally.feed(event)
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                return str(event["delta"])
            case "response.output_item.done":
                self._items[event["output_index"]] = event["item"]
            case "response.completed" | "response.incomplete":
                self._response = event["response"]
            case "response.failed":
                raise StreamedError(event["response"].get("error") or {})
            case "error":
                raise StreamedError(event)
        return ""

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        if self._response is None:
            raise ProviderError("unreachable", "the answer broke off before its end")
        items = [self._items[index] for index in sorted(self._items)]
        items = items or self._response.get("output") or []
        calls: list[ToolCall] = []
        texts: list[str] = []
        layout: Layout = []
        for item in items:
            match item.get("type"):
                case "reasoning":
                    layout.append({"raw": _reasoning(item)})
                case "message":
                    texts.append(_text(item))
                    layout.append({"text": texts[-1]} | _extra(item, "phase"))
                case "function_call":
                    layout.append({"call": len(calls)} | _extra(item, "namespace"))
                    calls.append(read_call(item["call_id"], item["name"], item["arguments"]))
        return ModelResponse(
            text="".join(texts) or None,
            tool_calls=unique_calls(calls, request),
            stop_reason=self._stop(items, bool(calls)),
            usage=self.usage(),
            model=request.model,
            provider_data=_kept(layout, request.model),
        )

    def _stop(self, items: list[JsonObject], has_calls: bool) -> StopReason:
        details = (self._response or {}).get("incomplete_details") or {}
        if (cause := INCOMPLETE.get(str(details.get("reason")))) is not None:
            return cause
        parts = [part for item in items for part in item.get("content") or ()]
        if any(part.get("type") == "refusal" for part in parts):
            return "refusal"
        return "tool_use" if has_calls else "end_turn"

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now: the service counts at the very end."""
        return self._tally.so_far()

    def usage(self) -> Usage:
        """Return the tokens that the service counted."""
        return usage_of(self._response or {})


def _text(item: JsonObject) -> str:
    parts = item.get("content") or ()
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)


def _reasoning(item: JsonObject) -> JsonObject:
    return {key: item[key] for key in KEPT_OF_REASONING if item.get(key) is not None}


def _extra(item: JsonObject, key: str) -> JsonObject:
    return {"extra": {key: item[key]}} if item.get(key) else {}


def _kept(layout: Layout, model: str) -> JsonObject | None:
    """Return what has to go back as it came, None if the turn alone says all."""
    is_told = all(part.keys() <= {"text", "call"} for part in layout)
    return None if is_told else {"api": API, "model": model, "layout": layout}


def usage_of(answer: JsonObject) -> Usage:
    """Return the tokens that the service counted for a whole answer."""
    counts = answer.get("usage") or {}
    details = counts.get("input_tokens_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_read_tokens=details.get("cached_tokens") or 0,
        cache_write_tokens=details.get("cache_write_tokens") or 0,
    )
