"""Google's Gemini wire format: a request's body, and the answer put together from a stream.

Pure. A model that thinks signs parts of its answer, and newer ones refuse a conversation in which a
signature is missing or stands elsewhere: answers go back part by part, as they came.
"""

from typing import Any

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolTurn,
    Usage,
    UserTurn,
    encoded_length,
)
from agiraph.llm.base import PartialUsage, ProviderError
from agiraph.llm.failures import StreamedError
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.wire.transcript import (
    GO_ON,
    Layout,
    head_of,
    laid_out,
    tail_of,
    unique_calls,
    wire_id,
    wire_name,
)

JsonObject = dict[str, Any]

API = "google"
SIGNATURE = "thoughtSignature"
# What the API takes for the signature of a call that another model made.
FOREIGN = "skip_thought_signature_validator"
UNSIGNED = ("gemini-1", "gemini-2")
STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "MALFORMED_FUNCTION_CALL": "end_turn",
    "UNEXPECTED_TOOL_CALL": "end_turn",
    "OTHER": "end_turn",
}
BROKEN_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")


def body_of(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a request to `model`, as JSON."""
    settings: JsonObject = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if traits.effort is not None:
        settings["thinkingConfig"] = {"thinkingLevel": traits.effort}
    if request.response_schema is not None:
        settings["responseMimeType"] = "application/json"
        settings["responseJsonSchema"] = request.response_schema
    extra = dict(traits.extra)
    tail = {"generationConfig": tail_of(settings, extra.pop("generationConfig", {}))}
    head = body_cache.head(request, lambda: head_of(_head(request), extra))
    contents = _contents(request, model, body_cache)
    return body_with(head, contents, tail_of(tail, extra), field="contents")


def _head(request: ModelRequest) -> JsonObject:
    tools = [
        {"name": tool.name, "description": tool.description}
        | {"parametersJsonSchema": tool.parameters}
        for tool in request.tools
    ]
    head: JsonObject = {"tools": [{"functionDeclarations": tools}] if tools else []}
    if request.system.strip():
        head["systemInstruction"] = {"parts": [{"text": request.system}]}
    return head


def _contents(request: ModelRequest, model: str, body_cache: RequestBodyCache) -> bytes:
    """Return the turns as contents, roles in turn, the user's first; results stand before words.

    All up to the last answer is final: what follows it may still be added to.
    """
    start, known = body_cache.beginning(request)
    contents: list[JsonObject] = []
    results: list[JsonObject] = []
    texts: list[JsonObject] = []
    final = final_turns = 0
    for count, turn in enumerate(request.turns[start:], start + 1):
        match turn:
            case UserTurn():
                texts += [{"text": turn.content}] if turn.content.strip() else []
            case ToolTurn():
                results.append(_result(turn))
            case AssistantTurn():
                parts = _answered(turn, request.model, model)
                if not parts:
                    continue
                told = [*results, *texts]
                if told or not (start or contents):
                    contents.append(_content("user", told or [{"text": GO_ON}]))
                contents.append(_content("model", parts))
                results, texts = [], []
                final, final_turns = len(contents), count
    if results or texts or not contents or contents[-1]["role"] == "model":
        contents.append(_content("user", [*results, *texts] or [{"text": GO_ON}]))
    return body_cache.joined(request, known, list(map(as_json, contents)), final, final_turns)


def _content(role: str, parts: list[JsonObject]) -> JsonObject:
    return {"role": role, "parts": parts}


def _result(turn: ToolTurn) -> JsonObject:
    said = {"error" if turn.is_error else "output": turn.content}
    about = {"id": wire_id(turn.call_id), "name": wire_name(turn.name)}
    return {"functionResponse": about | {"response": said}}


def _answered(turn: AssistantTurn, full_name: str, model: str) -> list[JsonObject]:
    parts: list[JsonObject] = []
    layout = laid_out(turn, API, full_name)
    is_signed = any(SIGNATURE in (part.get("extra") or {}) for part in layout)
    for part in layout:
        extra = part.get("extra") or {}
        if "text" in part:
            parts.append({"text": part["text"]} | extra)
        elif "call" in part:
            call = turn.tool_calls[part["call"]]
            made = {"id": wire_id(call.id), "name": wire_name(call.name)}
            parts.append({"functionCall": made | {"args": call.arguments}} | extra)
    if not is_signed and not model.startswith(UNSIGNED):
        vouch_for(parts)
    return [part for part in parts if part.get("text") != "" or SIGNATURE in part]


def vouch_for(parts: list[JsonObject]) -> None:
    """Sign the first call, as a model that thinks wants it of every step with calls."""
    for part in parts:
        if "functionCall" in part:
            part[SIGNATURE] = FOREIGN
            return


class GoogleAnswer:
    """An answer as it comes in: feed it the stream's chunks, then ask for the response."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._layout: Layout = []
        self._calls: list[ToolCall] = []
        self._usage: JsonObject = {}
        self._finish: str | None = None
        self._finish_text = ""
        self._characters = 0
        self._has_begun = False

    def feed(self, chunk: JsonObject) -> str:
        """Take one chunk; return the text that it brought, "" if none."""
        if isinstance(error := chunk.get("error"), dict):
            raise StreamedError(error)
        self._has_begun = self._has_begun or bool(chunk)
        self._usage |= chunk.get("usageMetadata") or {}
        feedback = chunk.get("promptFeedback") or {}
        self._finish = feedback.get("blockReason") or self._finish
        candidates = chunk.get("candidates") or ()
        if not candidates:
            return ""
        self._finish = candidates[0].get("finishReason") or self._finish
        self._finish_text = candidates[0].get("finishMessage") or self._finish_text
        parts = (candidates[0].get("content") or {}).get("parts") or ()
        return "".join(map(self._take, parts))

    def _take(self, part: JsonObject) -> str:
        call = part.get("functionCall") or {}
        self._characters += len(str(part.get("text") or "")) + encoded_length(call)
        extra = {SIGNATURE: part[SIGNATURE]} if part.get(SIGNATURE) else {}
        if (call := part.get("functionCall")) is not None:
            self._lay({"call": len(self._calls)}, extra)
            arguments = call.get("args") or {}
            made = ToolCall(id=call.get("id") or "", name=call["name"], arguments=arguments)
            self._calls.append(made)
            return ""
        if part.get("thought") or not isinstance(part.get("text"), str):
            return ""
        last = self._layout[-1] if self._layout else {}
        if "text" in last and not extra and "extra" not in last:
            last["text"] += part["text"]
        elif part["text"] or extra:
            self._lay({"text": part["text"]}, extra)
        return str(part["text"])

    def _lay(self, part: JsonObject, extra: JsonObject) -> None:
        self._layout.append(part | ({"extra": extra} if extra else {}))

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        if self._finish is None:
            raise ProviderError("unreachable", "the answer broke off before its end")
        calls = list(self._calls)
        if self._finish in BROKEN_CALLS and not calls:
            calls.append(ToolCall(id="", name="unknown", malformed=self._finish_text))
        stop = STOP_REASONS.get(self._finish, "refusal")
        is_signed = any("extra" in part for part in self._layout)
        kept = {"api": API, "model": request.model, "layout": self._layout}
        return ModelResponse(
            text="".join(part.get("text", "") for part in self._layout) or None,
            tool_calls=unique_calls(calls, request),
            stop_reason="tool_use" if calls and stop == "end_turn" else stop,
            usage=self.usage(),
            model=request.model,
            provider_data=kept if is_signed else None,
        )

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now; each chunk counts what came before it."""
        usage = self.usage()
        is_counted = self._finish is not None and usage.tokens > 0
        return PartialUsage(usage, self._characters, self._has_begun, is_counted)

    def usage(self) -> Usage:
        """Return the tokens counted so far; thoughts are answered tokens, too."""
        counts = self._usage
        asked = (counts.get("promptTokenCount"), counts.get("toolUsePromptTokenCount"))
        answered = (counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount"))
        return Usage(
            input_tokens=sum(count or 0 for count in asked),
            output_tokens=sum(count or 0 for count in answered),
            cache_read_tokens=counts.get("cachedContentTokenCount") or 0,
        )
