"""Google's Gemini format: answers and errors, read and written. Pure.

A request has its model, and whether its answer streams, in its path and not in its body: the LLM
proxy puts both into the body, as `model` and `stream`, before this module sees it.
"""

import re
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from agiraph.core.turns import (
    JsonObject,
    ModelResponse,
    StopReason,
    ToolCall,
    Usage,
    encoded_length,
)
from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.failures import ServiceError
from agiraph.llm.token_counts import byte_length, token_count
from agiraph.llm.wire.format import (
    AnswerContent,
    AnswerReader,
    AnswerWriter,
    WireError,
    WireFormat,
    asked_model,
    clamped,
    mapping,
)
from agiraph.llm.wire.google_requests import (
    API,
    RULES,
    SIGNATURE,
    UNSIGNED,
    encode_request,
    field_of,
    parse_request,
    sign_first_call,
)
from agiraph.llm.wire.sse import encode_event
from agiraph.llm.wire.transcript import Layout, read_call
from agiraph.models.registry import ModelTraits

SHORTEST_THINKING = 128  # the lowest budget that all models accept
STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "MALFORMED_FUNCTION_CALL": "end_turn",
    "UNEXPECTED_TOOL_CALL": "end_turn",
    "OTHER": "end_turn",
}
UNNAMED_CALL = "unnamed_call"
_CALLED = re.compile(r"(?:default_api\.|call:)(\w+)\s*\(")
BROKEN_OFF = "MALFORMED_RESPONSE"
BROKEN_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
FINISH_REASONS: dict[StopReason, str] = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "cancelled": "STOP",
}
# Gemini CLI and Google's SDKs retry every 5xx, regardless of `x-should-retry`: a permanent failure
# is a 4xx.
ERRORS: dict[FailureKind, tuple[int, str]] = {
    "bad_key": (403, "PERMISSION_DENIED"),
    "unknown_model": (404, "NOT_FOUND"),
    "bad_request": (400, "INVALID_ARGUMENT"),
    "context_too_long": (400, "INVALID_ARGUMENT"),
    "out_of_budget": (402, "FAILED_PRECONDITION"),
    "no_credit": (402, "FAILED_PRECONDITION"),
    "rate_limited": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "unreachable": (502, "UNAVAILABLE"),
    "timed_out": (504, "DEADLINE_EXCEEDED"),
    "internal": (400, "INTERNAL"),
}
REFUSALS = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
METHODS = ("generateContent", "countTokens")


# --- forwarding ----------------------------------------------------------------------------------


def _repaired(contents: list[Any], *, signs: bool) -> Iterator[Any]:
    """Yield contents whose calls are signed, if `signs`, and have one result each."""
    answered: set[str] = set()
    for content in contents:
        parts = content.get("parts") if isinstance(content, dict) else None
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            yield content
            continue
        if content.get("role") == "model":
            answered.clear()
            if signs and not any(field_of(part, SIGNATURE) for part in parts):
                parts = [dict(part) for part in parts]
                sign_first_call(parts)
            yield {**content, "parts": parts}
        elif rest := [part for part in parts if _is_first_result(part, answered)]:
            yield {**content, "parts": rest}


def _is_first_result(part: JsonObject, answered: set[str]) -> bool:
    """Whether a part is no repeated result; ids of results are added to `answered`."""
    given = field_of(part, "functionResponse")
    id = given.get("id") if isinstance(given, dict) else None
    if not isinstance(id, str) or not id:
        return True
    if id in answered:
        return False
    answered.add(id)
    return True


# --- reading answers -----------------------------------------------------------------------------


class GoogleReader(AnswerReader):
    """Assembles a model response from the chunks of a Gemini stream."""

    def __init__(self) -> None:
        super().__init__()
        self._layout: Layout = []
        self._calls: list[ToolCall] = []
        self._thoughts: list[str] = []
        self._finish_text = ""

    def feed(self, event: JsonObject) -> str:
        if isinstance(error := event.get("error"), dict):
            raise ServiceError(error)
        self.has_begun = self.has_begun or bool(event)
        self.counts |= mapping(event.get("usageMetadata"))
        feedback = event.get("promptFeedback") or {}
        self.finish = feedback.get("blockReason") or self.finish
        candidates = event.get("candidates") or ()
        if not candidates:
            return ""
        first = mapping(candidates[0])
        self.finish = first.get("finishReason") or self.finish
        self._finish_text = first.get("finishMessage") or self._finish_text
        if self.finish == BROKEN_OFF:
            raise ServiceError({"message": f"the answer is malformed: {self._finish_text}"})
        parts = mapping(first.get("content")).get("parts") or ()
        return "".join(map(self._read_part, filter(None, parts)))

    def _read_part(self, part: JsonObject) -> str:
        call = part.get("functionCall") or {}
        self.streamed_bytes += byte_length(str(part.get("text") or "")) + encoded_length(call)
        extra = {SIGNATURE: part[SIGNATURE]} if part.get(SIGNATURE) else {}
        if (call := part.get("functionCall")) is not None:
            self._add({"call": len(self._calls)}, extra)
            call = mapping(call)
            self._calls.append(read_call(call.get("id"), call.get("name"), call.get("args")))
            return ""
        if not isinstance(part.get("text"), str):
            return ""
        if part.get("thought"):
            self._thoughts.append(part["text"])
            return ""
        last = self._layout[-1] if self._layout else {}
        if "text" in last and not extra and "extra" not in last:
            last["text"].append(part["text"])
        elif part["text"] or extra:
            self._add({"text": [part["text"]]}, extra)
        return str(part["text"])

    def _add(self, part: JsonObject, extra: JsonObject) -> None:
        self._layout.append(part | ({"extra": extra} if extra else {}))

    def generated(self) -> object:
        calls = [[call.arguments, call.malformed] for call in self._calls]
        return [[part.get("text") for part in self._layout], self._thoughts, calls]

    def parts(self) -> int:
        return len(self._layout)

    def content(self, model: str) -> AnswerContent:
        calls = list(self._calls)
        if self.finish in BROKEN_CALLS and not calls:
            calls.append(_broken_call(self._finish_text))
        layout = [
            part | ({"text": "".join(part["text"])} if "text" in part else {})
            for part in self._layout
        ]
        is_signed = any("extra" in part for part in layout)
        return AnswerContent(
            "".join(part.get("text", "") for part in layout),
            calls,
            STOP_REASONS.get(self.finish or "", "refusal"),
            {"api": API, "model": model, "layout": layout} if is_signed else None,
        )

    def usage(self) -> Usage:
        # Each chunk counts all chunks so far; thoughts are tokens of the answer, too.
        counts = self.counts
        asked = ("promptTokenCount", "toolUsePromptTokenCount")
        answered = ("candidatesTokenCount", "thoughtsTokenCount")
        return Usage(
            input_tokens=sum(token_count(counts.get(name)) for name in asked),
            output_tokens=sum(token_count(counts.get(name)) for name in answered),
            cache_read_tokens=token_count(counts.get("cachedContentTokenCount")),
        )


def _broken_call(told: str) -> ToolCall:
    """Return the call that the service could not read; `told` is the service's description."""
    named = _CALLED.search(told)
    name = named[1] if named else UNNAMED_CALL
    return ToolCall(id="", name=name, malformed=told or "the service could not read the call")


# --- writing answers -----------------------------------------------------------------------------


def _head(model: str) -> JsonObject:
    return {"modelVersion": model, "responseId": secrets.token_hex(12)}


def _candidate(parts: list[JsonObject], finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"index": 0, "content": {"role": "model", "parts": parts}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


def _ended(response: ModelResponse, text: str) -> JsonObject:
    """Return the last chunk of an answer, with the text that was not sent before."""
    parts: list[JsonObject] = [{"text": text}] if text else []
    parts += [{"functionCall": _encode_call(call)} for call in response.tool_calls]
    finish = FINISH_REASONS[response.stop_reason]
    return _candidate(parts, finish) | {"usageMetadata": _encode_usage(response.usage)}


def _encode_call(call: ToolCall) -> JsonObject:
    """Return a call; invalid arguments are shown, so that the agent can report them."""
    arguments = call.arguments if call.malformed is None else {"malformed": call.malformed}
    return {"id": call.id, "name": call.name, "args": arguments}


def _encode_usage(usage: Usage) -> JsonObject:
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.tokens,
    }


class GoogleWriter(AnswerWriter):
    """Writes an answer as chunks, each in the shape of a whole answer."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._head = _head(model)

    def piece(self, text: str, *, is_first: bool) -> bytes:
        return encode_event(self._head | _candidate([{"text": text}]))

    def rest(self, response: ModelResponse) -> bytes:
        return encode_event(self._head | _ended(response, ""))


# --- the format ----------------------------------------------------------------------------------


class GoogleFormat(WireFormat):
    """Gemini's generateContent and streamGenerateContent, at `/v1beta/models/NAME:METHOD`."""

    api = API
    rules = RULES
    ends_broken_streams = True
    count_field = "totalTokens"
    errors = ERRORS
    refusals = REFUSALS
    too_long = "The input exceeds the maximum number of tokens allowed"
    encode_request = staticmethod(encode_request)
    parse_request = staticmethod(parse_request)
    reader = GoogleReader

    def path(self, model: str, *, is_streamed: bool) -> str:
        method = "streamGenerateContent?alt=sse" if is_streamed else "generateContent"
        return f"/v1beta/models/{quote(model)}:{method}"

    def auth(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def writer(self, body: JsonObject) -> GoogleWriter:
        return GoogleWriter(asked_model(body))

    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        return _head(asked_model(body)) | _ended(response, response.text or "")

    def error_body(self, status: int, name: str, message: str) -> JsonObject:
        return {"error": {"code": status, "message": message, "status": name}}

    def error(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> WireError:
        error = super().error(kind, message, retry_after=retry_after)
        if kind in RETRYABLE and retry_after is not None:
            wish = {"@type": RETRY_INFO, "retryDelay": f"{retry_after:.3f}s"}
            error.body["error"]["details"] = [wish]
        return error

    def models(self, names: tuple[str, ...]) -> JsonObject:
        return {"models": list(map(self.model, names))}

    def model(self, name: str) -> JsonObject:
        about = {"displayName": name, "version": "", "supportedGenerationMethods": list(METHODS)}
        return {"name": f"models/{name}", **about}

    def forwarded(
        self, body: JsonObject, model: str, max_tokens: int, traits: ModelTraits
    ) -> JsonObject:
        # Gemini CLI resumes a conversation without its signatures and, if it was killed, with
        # duplicate results; Google refuses both. So unsigned calls are marked as another model's,
        # and a duplicate result is left out.
        sent = {key: value for key, value in body.items() if key not in ("model", "stream")}
        if isinstance(contents := sent.get("contents"), list):
            sent["contents"] = list(_repaired(contents, signs=not model.startswith(UNSIGNED)))
        config = mapping(sent.get("generationConfig")) | {"maxOutputTokens": max_tokens}
        if isinstance(thinking := config.get("thinkingConfig"), dict):
            config["thinkingConfig"] = clamped(
                thinking, "thinkingBudget", max(SHORTEST_THINKING, max_tokens)
            )
        return sent | {"generationConfig": config}

    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        return [answer]

    def count_path(self, model: str) -> str:
        return f"/v1beta/models/{quote(model)}:countTokens"

    def count_request(self, body: JsonObject, model: str) -> JsonObject:
        whole = {key: value for key, value in body.items() if key not in ("model", "stream")}
        return {"generateContentRequest": {"model": f"models/{model}", **whole}}
