"""Anthropic's Messages format: answers and errors, read and written. Pure."""

import json
import secrets
from dataclasses import replace
from typing import Any

from agiraph.core.turns import (
    JsonObject,
    ModelResponse,
    StopReason,
    ToolCall,
    Usage,
    encoded_length,
)
from agiraph.llm.base import FailureKind, PartialUsage
from agiraph.llm.failures import ServiceError
from agiraph.llm.token_counts import byte_length, token_count
from agiraph.llm.wire.anthropic_requests import (
    API,
    RULES,
    THINKING,
    encode_request,
    parse_request,
    tool_use,
)
from agiraph.llm.wire.format import (
    ANSWER_PARTS,
    AnswerContent,
    AnswerReader,
    AnswerWriter,
    WireError,
    WireFormat,
    asked_model,
    clamped,
    mapping,
)
from agiraph.llm.wire.sse import encode_event
from agiraph.llm.wire.transcript import Layout, name_text, read_call
from agiraph.models.registry import ModelTraits

GROWS_IN = {"text": "text", "thinking": "thinking"}
IMPLICIT = {"text_delta": "text", "thinking_delta": "thinking"}
"""The types of the blocks that a delta may begin."""
SHORTEST_THINKING = 1024
GENERATED = ("text", "thinking", "json", "input")
STREAMED = ("text", "thinking", "partial_json", "data", "name")
COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
STOP_REASONS: dict[str, StopReason] = {
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    # Services that translate send the reasons of other formats.
    **dict.fromkeys(("model_context_window_exceeded", "length"), "max_tokens"),
    **dict.fromkeys(("refusal", "content_filter"), "refusal"),
}
ERRORS: dict[FailureKind, tuple[int, str]] = {
    "bad_key": (403, "permission_error"),
    "unknown_model": (404, "not_found_error"),
    "bad_request": (400, "invalid_request_error"),
    "context_too_long": (400, "invalid_request_error"),
    "out_of_budget": (402, "billing_error"),
    "no_credit": (402, "billing_error"),
    "rate_limited": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "unreachable": (502, "api_error"),
    "timed_out": (504, "timeout_error"),
    "internal": (500, "api_error"),
}
REFUSALS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
}


# --- reading answers -----------------------------------------------------------------------------


class AnthropicReader(AnswerReader):
    """Assembles a model response from the events of an Anthropic stream."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[JsonObject] = []
        self._newest: dict[object, JsonObject] = {}
        self._stop: str | None = None

    def feed(self, event: JsonObject) -> str:
        match event.get("type"):
            case "message_start":
                self.has_begun = True
                self._count(mapping(event.get("message")).get("usage"))
            case "content_block_start":
                block = mapping(event.get("content_block"))
                block["type"] = kind = block.get("type") or _kind_of(block)
                grown = GROWS_IN.get(kind)
                begun = {grown: [block.get(grown) or ""]} if grown else {}
                self._begin(event.get("index"), {**block, **begun, "json": []})
                self.streamed_bytes += _streamed(block)
                return str(block.get("text") or "") if kind == "text" else ""
            case "content_block_delta":
                delta, index = mapping(event.get("delta")), event.get("index")
                if index is None and self._blocks:
                    return self._grow(self._blocks[-1], delta)
                if index not in self._newest:  # some services begin no block
                    self._begin(index, {"type": IMPLICIT[delta.get("type", "")], "json": []})
                return self._grow(self._newest[index], delta)
            case "message_delta":
                self._stop = mapping(event.get("delta")).get("stop_reason") or self._stop
                self.finish = self._stop  # some services send no `message_stop` after it
                self._count(event.get("usage"))
            case "message_stop":
                self.finish = self._stop or ""
            case "error":
                raise ServiceError(event)
        return ""

    def _begin(self, index: object, block: JsonObject) -> None:
        """Begin a block; some services give all blocks the same index, or none."""
        self._blocks.append(block)
        self._newest[index] = block

    def _count(self, usage: object) -> None:
        """Read the counts of a usage object; later counts (not 0, null) replace earlier ones."""
        counts = mapping(usage)
        known = {key: counts[key] for key in COUNTS if counts.get(key) is not None}
        self.counts = known | self.counts | {key: count for key, count in known.items() if count}

    def _grow(self, block: JsonObject, delta: JsonObject) -> str:
        self.streamed_bytes += _streamed(delta)
        match delta.get("type"):
            case "text_delta":
                text = str(delta.get("text") or "")
                block.setdefault("text", []).append(text)
                return text
            case "input_json_delta":
                block["json"].append(delta.get("partial_json") or "")
            case "thinking_delta":
                block.setdefault("thinking", []).append(delta.get("thinking") or "")
            case "signature_delta":
                block["signature"] = delta.get("signature") or block.get("signature") or ""
        return ""

    def generated(self) -> object:
        return [[block.get(name) for name in GENERATED] for block in self._blocks]

    def parts(self) -> int:
        return len(self._blocks)

    def content(self, model: str) -> AnswerContent:
        blocks = list(map(_joined, self._blocks))
        return AnswerContent(
            "".join(block["text"] for block in blocks if block.get("type") == "text"),
            [_call(block) for block in blocks if block.get("type") == "tool_use"],
            STOP_REASONS.get(self.finish or "", "end_turn"),
            _private_data(blocks, model),
        )

    def so_far(self) -> PartialUsage:
        # The final counts come before the stream ends.
        return replace(super().so_far(), is_complete=self._stop is not None)

    def usage(self) -> Usage:
        # The API counts cached input separately, Agiraph includes it.
        fresh, output, read, write = (token_count(self.counts.get(key)) for key in COUNTS)
        return Usage(
            input_tokens=fresh + read + write,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=write,
        )


def _kind_of(block: JsonObject) -> str:
    """Return the type of a block that names none."""
    fields = {**GROWS_IN, "tool_use": "name"}
    return next((kind for kind, field in fields.items() if field in block), "")


def _streamed(block: JsonObject) -> int:
    """Return the number of content bytes in a block or a delta."""
    size = sum(byte_length(block.get(key) or "") for key in STREAMED)
    return size + (encoded_length(block["input"]) if block.get("input") else 0)


def _joined(block: JsonObject) -> JsonObject:
    """Return a block with its texts, which arrive in pieces, joined."""
    texts = (name for name in (*GROWS_IN.values(), "json") if isinstance(block.get(name), list))
    return block | {name: "".join(block[name]) for name in texts}


def _call(block: JsonObject) -> ToolCall:
    if block["json"]:
        return read_call(block.get("id"), block.get("name"), block["json"])
    arguments = mapping(block.get("input"))
    id, name = name_text(block.get("id")), name_text(block.get("name"))
    return ToolCall(id=id, name=name, arguments=arguments)


def _private_data(blocks: list[JsonObject], model: str) -> JsonObject | None:
    """Return the thinking blocks, which the API requires unchanged in the next request.

    If some of them are between text and calls, the order of all parts is stored.
    """
    raw = [{k: v for k, v in b.items() if k != "json"} for b in blocks]
    is_thought = [block.get("type") in THINKING for block in raw]
    if not any(is_thought):
        return None
    stored: JsonObject = {"api": API, "model": model}
    count = sum(is_thought)
    if all(is_thought[:count]):
        return stored | {"thinking": raw[:count]}
    layout: Layout = []
    calls = 0
    for block in raw:
        if block.get("type") in THINKING:
            layout.append({"raw": block})
        elif block.get("type") == "text":
            layout.append({"text": block["text"]})
        elif block.get("type") == "tool_use":
            layout.append({"call": calls})
            calls += 1
    return stored | {"layout": layout}


# --- writing answers -----------------------------------------------------------------------------


def _message(model: str) -> JsonObject:
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _encode_usage(Usage()),
    }


def _stop_reason(response: ModelResponse) -> str:
    return "end_turn" if response.stop_reason == "cancelled" else response.stop_reason


def _encode_usage(usage: Usage) -> JsonObject:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    }


def _input(call: ToolCall) -> JsonObject:
    """Return a call's input; invalid input is shown, so that the agent can report it."""
    return call.arguments if call.malformed is None else {"malformed": call.malformed}


class AnthropicWriter(AnswerWriter):
    """Writes a model response as the events of an Anthropic stream."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    def beginning(self) -> bytes:
        return _event("message_start", message=_message(self._model))

    def piece(self, text: str, *, is_first: bool) -> bytes:
        block = {"type": "text", "text": ""}
        start = _event("content_block_start", index=0, content_block=block) if is_first else b""
        delta = {"type": "text_delta", "text": text}
        return start + _event("content_block_delta", index=0, delta=delta)

    def rest(self, response: ModelResponse) -> bytes:
        sent = [_event("content_block_stop", index=0)] if self.has_text else []
        for index, call in enumerate(response.tool_calls, start=len(sent)):
            block = tool_use(call.id, call.name, {})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(_input(call))}
            sent += [
                _event("content_block_start", index=index, content_block=block),
                _event("content_block_delta", index=index, delta=delta),
                _event("content_block_stop", index=index),
            ]
        stop = {"stop_reason": _stop_reason(response), "stop_sequence": None}
        sent += [
            _event("message_delta", delta=stop, usage=_encode_usage(response.usage)),
            _event("message_stop"),
        ]
        return b"".join(sent)

    def error(self, error: WireError) -> bytes:
        return encode_event(error.body, "error")


def _event(type: str, **data: Any) -> bytes:
    return encode_event({"type": type, **data}, type)


# --- the format ----------------------------------------------------------------------------------


class AnthropicFormat(WireFormat):
    """Anthropic's Messages API, at `/v1/messages`."""

    api = API
    rules = RULES
    endpoint = "/v1/messages"
    count_field = "input_tokens"
    errors = ERRORS
    refusals = REFUSALS
    too_long = "prompt is too long"
    encode_request = staticmethod(encode_request)
    parse_request = staticmethod(parse_request)
    reader = AnthropicReader

    def auth(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", "x-api-key": key}

    def writer(self, body: JsonObject) -> AnthropicWriter:
        return AnthropicWriter(asked_model(body))

    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        data = response.provider_data or {}
        thinking = list(data.get("thinking", ())) if data.get("api") == API else []
        text = [{"type": "text", "text": response.text}] if response.text else []
        calls = [tool_use(call.id, call.name, _input(call)) for call in response.tool_calls]
        return _message(asked_model(body)) | {
            "content": [*thinking, *text, *calls],
            "stop_reason": _stop_reason(response),
            "usage": _encode_usage(response.usage),
        }

    def error_body(self, status: int, name: str, message: str) -> JsonObject:
        error = {"type": name, "message": message}
        return {"type": "error", "error": error, "request_id": f"req_{secrets.token_hex(12)}"}

    def models(self, names: tuple[str, ...]) -> JsonObject:
        data = list(map(self.model, names))
        return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def model(self, name: str) -> JsonObject:
        created = "1970-01-01T00:00:00Z"
        return {"type": "model", "id": name, "display_name": name, "created_at": created}

    def forwarded(
        self, body: JsonObject, model: str, max_tokens: int, traits: ModelTraits
    ) -> JsonObject:
        sent = super().forwarded(body, model, max_tokens, traits)
        thinking = mapping(body.get("thinking"))
        if isinstance(thinking.get("budget_tokens"), int):
            # The service refuses a budget that leaves nothing for the answer, or is very small.
            thinking = clamped(thinking, "budget_tokens", max_tokens - 1)
            is_possible = thinking["budget_tokens"] >= SHORTEST_THINKING
            sent["thinking"] = thinking if is_possible else {"type": "disabled"}
        return sent

    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        blocks = (answer.get("content") or [])[: ANSWER_PARTS + 1]  # more are refused
        return [
            {"type": "message_start", "message": answer},
            *(
                {"type": "content_block_start", "index": index, "content_block": block}
                for index, block in enumerate(blocks)
            ),
            {"type": "message_delta", "delta": answer, "usage": answer.get("usage")},
            {"type": "message_stop"},
        ]

    def count_path(self, model: str) -> str:
        return f"{self.endpoint}/count_tokens"
