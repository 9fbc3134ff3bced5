"""Gemini's format, as the door speaks it: what Gemini CLI and Google's own SDKs ask for.

A request names its model, and says whether its answer streams, in its path and not in its body: the
broker puts both into the body, as `model` and `stream`, before anything here sees it.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from agiraph.core.turns import (
    JsonObject,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    Usage,
)
from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.proxy.format import (
    NEVER_AGAIN,
    AnswerWriter,
    ProxyFailure,
    asked_model,
    number_of,
    request_of,
    tools_in,
    waits,
)
from agiraph.llm.proxy.google_reading import (
    declared,
    field_of,
    is_mute,
    schema_of,
    system_of,
    turns_of,
)
from agiraph.llm.proxy.grants import ProxyGrant
from agiraph.llm.wire.google import API, SIGNATURE, UNSIGNED, GoogleAnswer, vouch_for

FINISHES: dict[StopReason, str] = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "cancelled": "STOP",
}
# Gemini CLI and Google's SDKs try every 5xx again, whatever `x-should-retry` says: a failure that
# will stay is a 4xx.
STATUSES: dict[FailureKind, tuple[int, str]] = {
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
DENIALS = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
TOO_LONG = "exceeds the maximum number of tokens"
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
METHODS = ("generateContent", "countTokens")


class GoogleProxyFormat:
    """Gemini's generateContent and streamGenerateContent, at `/v1beta/models/NAME:METHOD`."""

    api = API
    tells_breaks = True

    def path(self, body: JsonObject, model: str) -> str:
        """Return where the service takes this request, after its base URL."""
        place = f"/v1beta/models/{quote(model)}"
        is_streamed = body.get("stream") is True
        return (
            f"{place}:streamGenerateContent?alt=sse" if is_streamed else f"{place}:generateContent"
        )

    def read(self, body: JsonObject, grant: ProxyGrant, model: str) -> ModelRequest:
        """Return a request's body in canonical terms; InvalidInput saying what is wrong."""
        settings = field_of(body, "generationConfig")
        settings = settings if isinstance(settings, dict) else {}
        return request_of(
            grant,
            model,
            system=system_of(field_of(body, "systemInstruction")),
            turns=turns_of(body.get("contents")),
            max_tokens=field_of(settings, "maxOutputTokens"),
            tools=() if is_mute(body) else tuple(declared(tools_in(body))),
            temperature=number_of(settings.get("temperature")),
            response_schema=schema_of(settings, "responseJsonSchema", "responseSchema"),
        )

    def untranslatable(self, body: JsonObject) -> str:
        """Return why no other service can answer: it is asked for a tool of Google's alone.

        Gemini CLI searches the web so, and would take a model's memory for what was found.
        """
        tools = [tool for tool in tools_in(body) if isinstance(tool, dict)]
        if not tools or any(field_of(tool, "functionDeclarations") for tool in tools):
            return ""
        names = ", ".join(sorted({name for tool in tools for name in tool}))
        return f"{names}: only Google's own service runs this tool, and it does not answer here"

    def handed_on(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service itself; the model stands in the path.

        Gemini CLI takes a conversation up again without its signatures and, if it was killed, with
        results that stand there twice; Google refuses both. So calls that nothing signs are marked
        as another model's, and of two results of a call one is left out.
        """
        sent = {key: value for key, value in body.items() if key not in ("model", "stream")}
        if isinstance(contents := sent.get("contents"), list):
            sent["contents"] = list(_mended(contents, signs=not model.startswith(UNSIGNED)))
        if max_tokens is not None:
            settings = field_of(sent, "generationConfig")
            kept = dict(settings) if isinstance(settings, dict) else {}
            sent.pop("generation_config", None)
            kept.pop("max_output_tokens", None)
            sent["generationConfig"] = kept | {"maxOutputTokens": max_tokens}
        return sent

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent sees an event: it sees all."""
        return True

    def hearing(self, body: JsonObject) -> GoogleAnswer:
        """Return what reads the service's answer."""
        return GoogleAnswer()

    def whole_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as events: it is one."""
        return [answer]

    def telling(self, body: JsonObject, model: str) -> AnswerWriter:
        """Return what tells an answer as a stream."""
        return _Telling(asked_model(body))

    def whole(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return an answer in one piece."""
        text = [{"text": response.text}] if response.text else []
        return _head(asked_model(body)) | _ended(response, [*text, *_calls(response)])

    def failure(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> ProxyFailure:
        """Return how a failed call is told."""
        code, status = STATUSES.get(kind, STATUSES["internal"])
        if kind == "context_too_long" and TOO_LONG not in message:
            message = f"The input {TOO_LONG} allowed: {message}"  # agents know it by these words
        if kind not in RETRYABLE:
            return _failure(code, status, message, NEVER_AGAIN)
        told = _failure(code, status, message, waits(retry_after))
        if retry_after is not None:
            wish = {"@type": RETRY_INFO, "retryDelay": f"{retry_after:.3f}s"}
            told.body["error"]["details"] = [wish]
        return told

    def denied(self, status: int, message: str) -> ProxyFailure:
        """Return how a request is refused that is no call."""
        return _failure(status, DENIALS.get(status, "INVALID_ARGUMENT"), message, NEVER_AGAIN)

    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of models."""
        return {"models": list(map(self.model, names))}

    def model(self, name: str) -> JsonObject:
        """Return one model."""
        about = {"displayName": name, "version": "", "supportedGenerationMethods": list(METHODS)}
        return {"name": f"models/{name}", **about}


class GoogleCount:
    """Gemini's countTokens."""

    api = API

    def path(self, model: str) -> str:
        """Return where the service takes the question, after its base URL."""
        return f"/v1beta/models/{quote(model)}:countTokens"

    def asked(self, body: JsonObject, model: str) -> JsonObject:
        """Return what to ask the service: about the whole request, tools and all."""
        whole = {key: value for key, value in body.items() if key not in ("model", "stream")}
        return {"generateContentRequest": {"model": f"models/{model}", **whole}}

    def counted(self, answer: JsonObject) -> int:
        """Return what the service says."""
        return int(answer["totalTokens"])

    def told(self, tokens: int) -> JsonObject:
        """Return how the agent is told."""
        return {"totalTokens": tokens}


# --- handing on ----------------------------------------------------------------------------------


def _mended(contents: list[Any], *, signs: bool) -> Iterator[Any]:
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
                vouch_for(parts)
            yield {**content, "parts": parts}
        elif kept := [part for part in parts if _is_news(part, answered)]:
            yield {**content, "parts": kept}


def _is_news(part: JsonObject, answered: set[str]) -> bool:
    """Whether a part is no second result of a call; a first one is put among the `answered`."""
    given = field_of(part, "functionResponse")
    id = given.get("id") if isinstance(given, dict) else None
    if not isinstance(id, str) or not id:
        return True
    if id in answered:
        return False
    answered.add(id)
    return True


# --- telling -------------------------------------------------------------------------------------


def _failure(code: int, status: str, message: str, headers: Mapping[str, str]) -> ProxyFailure:
    return ProxyFailure(
        code, {"error": {"code": code, "message": message, "status": status}}, headers
    )


def _head(model: str) -> JsonObject:
    return {"modelVersion": model, "responseId": secrets.token_hex(12)}


def _candidate(parts: list[JsonObject], finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"index": 0, "content": {"role": "model", "parts": parts}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


def _ended(response: ModelResponse, parts: list[JsonObject]) -> JsonObject:
    finish = FINISHES[response.stop_reason]
    return _candidate(parts, finish) | {"usageMetadata": _usage(response.usage)}


def _calls(response: ModelResponse) -> list[JsonObject]:
    return [{"functionCall": _made(call)} for call in response.tool_calls]


def _made(call: ToolCall) -> JsonObject:
    """Return a call; arguments that were no object are shown, so that the agent can say so."""
    arguments = call.arguments if call.malformed is None else {"malformed": call.malformed}
    return {"id": call.id, "name": call.name, "args": arguments}


def _usage(usage: Usage) -> JsonObject:
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.tokens,
    }


class _Telling:
    """One answer as a stream of chunks, each an answer of its own."""

    def __init__(self, model: str) -> None:
        """Answer in the name of `model`."""
        self._head = _head(model)
        self._said = False

    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""
        self._said = True
        return _data(self._head | _candidate([{"text": piece}]))

    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is whole."""
        left = response.text if response.text and not self._said else ""
        text = [{"text": left}] if left else []
        return _data(self._head | _ended(response, [*text, *_calls(response)]))

    def failed(self, failure: ProxyFailure) -> bytes:
        """Return what to send when the answer breaks off."""
        return _data(failure.body)


def _data(body: JsonObject) -> bytes:
    return b"data: %b\n\n" % json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
