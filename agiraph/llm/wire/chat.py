"""The Chat Completions wire format: a request's body, and the answer put together from a stream.

Pure, and lenient in what it reads: a dozen services speak this format, each with its own accent.
"""

import json
from dataclasses import dataclass
from typing import Any

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.base import PartialUsage, ProviderError
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.structured import SCHEMA_NAME, is_closed
from agiraph.llm.wire.reasoning import REASONING_FIELDS, StreamedReasoning
from agiraph.llm.wire.transcript import (
    head_of,
    read_call,
    spoken,
    tail_of,
    unique_calls,
    wire_id,
    wire_name,
)

JsonObject = dict[str, Any]

API = "openai"
STOP_REASONS: dict[str, StopReason] = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


def body_of(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {traits.max_tokens_field: request.max_tokens}
    if request.temperature is not None:
        tail["temperature"] = request.temperature
    if traits.effort is not None:
        tail["reasoning_effort"] = traits.effort
    if (schema := request.response_schema) is not None:
        about = {"name": SCHEMA_NAME, "schema": schema, "strict": is_closed(schema)}
        tail["response_format"] = {"type": "json_schema", "json_schema": about}
    head = body_cache.head(request, lambda: head_of(_head(request, model), traits.extra))
    messages = _messages(request, traits, body_cache)
    return body_with(head, messages, tail_of(tail, traits.extra))


def _head(request: ModelRequest, model: str) -> JsonObject:
    head: JsonObject = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        head["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    return head


def _messages(request: ModelRequest, traits: ModelTraits, body_cache: RequestBodyCache) -> bytes:
    """Return the system text and the turns as messages, the user's neighbours made one.

    Templates of some local models refuse two user messages in a row. All up to the last answer is
    final: what follows it may still be added to. If marked, the system text and the last message
    carry a cache mark, which some services pass on to models that want to be told.
    """
    is_marked = traits.cache == "marks"
    thinker = request.model if traits.reasoning == "kept" else ""
    start, known = body_cache.beginning(request)
    messages: list[JsonObject] = []
    final = final_turns = 0
    if request.system.strip() and not start:
        system = {"role": "system", "content": request.system}
        messages.append(_marked(system) if is_marked else system)
    texts: list[str] = []
    for count, turn in enumerate(request.turns[start:], start + 1):
        message = _message(turn, thinker)
        match turn:
            case UserTurn():
                texts += [turn.content] if turn.content.strip() else []
            case ToolTurn():
                messages.append(message or {})
            case AssistantTurn() if message is not None:
                messages += [*_told(texts), message]
                texts, final, final_turns = [], len(messages), count
    messages += _told(texts)
    if is_marked and len(messages) > final:
        messages[-1] = _marked(messages[-1])
    return body_cache.joined(request, known, list(map(as_json, messages)), final, final_turns)


def _marked(message: JsonObject) -> JsonObject:
    text = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
    is_text = isinstance(message["content"], str) and message["content"]
    return message | {"content": [text]} if is_text else message


def _told(texts: list[str]) -> list[JsonObject]:
    """Return the user's texts as one message, or none."""
    return [{"role": "user", "content": "\n\n".join(texts)}] if texts else []


def _message(turn: Turn, model: str) -> JsonObject | None:
    match turn:
        case UserTurn():
            return None
        case ToolTurn():
            return {
                "role": "tool",
                "tool_call_id": wire_id(turn.call_id),
                "content": turn.content,
            }
        case AssistantTurn():
            return _answer(turn, model)


def _answer(turn: AssistantTurn, model: str) -> JsonObject | None:
    text = spoken(turn)
    if not text and not turn.tool_calls:
        return None
    message: JsonObject = {"role": "assistant", "content": text or None}
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": wire_id(call.id),
                "type": "function",
                "function": {
                    "name": wire_name(call.name),
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in turn.tool_calls
        ]
    return message | _reasoning_of(turn, model)


def _reasoning_of(turn: AssistantTurn, model: str) -> JsonObject:
    """Return the fields of an answer's reasoning, as the service that made it had them.

    Services that stream their reasoning want it back; one that did not send any is sent none.
    """
    data = turn.provider_data or {}
    if data.get("api") != API or data.get("model") != model:
        return {}
    if data.get("details"):
        return {"reasoning_details": data["details"]}
    return {data.get("field", REASONING_FIELDS[0]): data["reasoning"]}


def size_of(streamed: object) -> int:
    """Return how many characters of text there are in a piece of an answer, at any depth."""
    match streamed:
        case str():
            return len(streamed)
        case dict():
            return sum(map(size_of, streamed.values()))
        case list():
            return sum(map(size_of, streamed))
    return 0


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatAnswer:
    """An answer as it comes in: feed it the stream's chunks, then ask for the response."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._text: list[str] = []
        self._reasoning = StreamedReasoning()
        self._calls: dict[int, _Call] = {}
        self._usage: JsonObject = {}
        self._finish: str | None = None
        self._refused = False
        self._characters = 0
        self._has_begun = False

    def feed(self, chunk: JsonObject) -> str:
        """Take one chunk; return the text that it brought, "" if none."""
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices") or ()
        self._has_begun = self._has_begun or bool(choices or self._usage)
        if not choices:
            return ""
        self._finish = choices[0].get("finish_reason") or self._finish
        delta = choices[0].get("delta") or {}
        self._characters += size_of(delta)
        self._reasoning.feed(delta)
        for number, piece in enumerate(delta.get("tool_calls") or ()):
            self._grow(piece, number)
        self._refused = self._refused or bool(delta.get("refusal"))
        text = str(delta.get("content") or delta.get("refusal") or "")
        self._text.append(text)
        return text

    def _grow(self, piece: JsonObject, number: int) -> None:
        function = piece.get("function") or {}
        call = self._calls.setdefault(self._place(piece, number), _Call())
        call.id = call.id or piece.get("id") or ""
        call.name = call.name or function.get("name") or ""
        arguments = function.get("arguments") or ""
        # Some services send the arguments as an object, not as the text of one.
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def _place(self, piece: JsonObject, number: int) -> int:
        """Return which call a piece belongs to; without an index a new id begins a new call."""
        index = piece.get("index")
        if isinstance(index, int):
            return index
        for place, call in self._calls.items():
            if piece.get("id") and call.id == piece["id"]:
                return place
        if piece.get("id") or (piece.get("function") or {}).get("name") or not self._calls:
            return max(self._calls, default=-1) + 1
        return max(self._calls)

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        if self._finish is None:
            raise ProviderError("unreachable", "the answer broke off before its end")
        calls = [
            read_call(call.id, call.name, call.arguments) for _, call in sorted(self._calls.items())
        ]
        stop = STOP_REASONS.get(self._finish, "end_turn")
        if calls and stop == "end_turn":
            stop = "tool_use"
        kept = self._reasoning.kept()
        return ModelResponse(
            text="".join(self._text) or None,
            tool_calls=unique_calls(calls, request),
            stop_reason="refusal" if self._refused else stop,
            usage=self.usage(),
            model=request.model,
            provider_data={"api": API, "model": request.model} | kept if kept else None,
        )

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now: most services count at the very end, some never."""
        usage = self.usage()
        is_counted = self._finish is not None and usage.tokens > 0
        return PartialUsage(usage, self._characters, self._has_begun, is_counted)

    def usage(self) -> Usage:
        """Return the tokens counted so far; a service may also say what they cost."""
        details = self._usage.get("prompt_tokens_details") or {}
        # Moonshot and DeepSeek have names of their own for what stands in `details` elsewhere.
        others = (self._usage.get(key) for key in ("cached_tokens", "prompt_cache_hit_tokens"))
        cached = (details.get("cached_tokens"), *others)
        cost = self._usage.get("cost")
        return Usage(
            input_tokens=self._usage.get("prompt_tokens") or 0,
            output_tokens=self._usage.get("completion_tokens") or 0,
            cache_read_tokens=next(filter(None, cached), 0),
            cache_write_tokens=details.get("cache_write_tokens") or 0,
            cost_usd=float(cost) if isinstance(cost, (int, float)) else None,
        )
