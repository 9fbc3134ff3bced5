"""The Messages format of Anthropic, as the door speaks it."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.proxy.format import (
    NEVER_AGAIN,
    AnswerWriter,
    ProxyFailure,
    asked_model,
    number_of,
    request_of,
    schema_in,
    text_of,
    tools_in,
    waits,
)
from agiraph.llm.proxy.grants import ProxyGrant
from agiraph.llm.wire.anthropic import API, AnthropicAnswer

THINKING = ("thinking", "redacted_thinking")
STOP_REASONS: dict[StopReason, str] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "cancelled": "end_turn",
}
TYPES: dict[FailureKind, tuple[int, str]] = {
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
DENIALS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
}


class AnthropicProxyFormat:
    """Messages, at `/v1/messages`."""

    api = API
    tells_breaks = False

    def path(self, body: JsonObject, model: str) -> str:
        """Return where the service takes a request, after its base URL."""
        return "/v1/messages"

    def read(self, body: JsonObject, grant: ProxyGrant, model: str) -> ModelRequest:
        """Return a request's body in canonical terms; InvalidInput saying what is wrong."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise InvalidInput("messages: expected a list of messages")
        choice = body.get("tool_choice")
        is_mute = isinstance(choice, dict) and choice.get("type") == "none"
        return request_of(
            grant,
            model,
            system=_system(body.get("system"), messages),
            turns=list(_turns(messages)),
            max_tokens=body.get("max_tokens"),
            tools=() if is_mute else tuple(_tools(tools_in(body))),
            temperature=number_of(body.get("temperature")),
            response_schema=schema_in(body, "output_config", "format", "schema"),
        )

    def untranslatable(self, body: JsonObject) -> str:
        """Return "": what only the service itself could do is left out."""
        return ""

    def handed_on(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service itself."""
        bound = {} if max_tokens is None else {"max_tokens": max_tokens}
        return {**body, "model": model, **bound}

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent sees an event: it sees all."""
        return True

    def hearing(self, body: JsonObject) -> AnthropicAnswer:
        """Return what reads the service's answer."""
        return AnthropicAnswer()

    def whole_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as events."""
        blocks = answer.get("content") or []
        return [
            {"type": "message_start", "message": answer},
            *(
                {"type": "content_block_start", "index": index, "content_block": block}
                for index, block in enumerate(blocks)
            ),
            {"type": "message_delta", "delta": answer, "usage": answer.get("usage")},
            {"type": "message_stop"},
        ]

    def telling(self, body: JsonObject, model: str) -> AnswerWriter:
        """Return what tells an answer as a stream."""
        return _Telling(asked_model(body))

    def whole(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return an answer in one piece."""
        return _message(asked_model(body)) | {
            "content": _blocks(response),
            "stop_reason": STOP_REASONS[response.stop_reason],
            "usage": _usage(response.usage),
        }

    def failure(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> ProxyFailure:
        """Return how a failed call is told."""
        status, type_ = TYPES.get(kind, TYPES["internal"])
        if kind == "context_too_long" and "prompt is too long" not in message:
            message = f"prompt is too long: {message}"  # agents know it by these words
        headers = waits(retry_after) if kind in RETRYABLE else NEVER_AGAIN
        return ProxyFailure(status, _error(type_, message), headers)

    def denied(self, status: int, message: str) -> ProxyFailure:
        """Return how a request is refused that is no call."""
        type_ = DENIALS.get(status, "invalid_request_error")
        return ProxyFailure(status, _error(type_, message), NEVER_AGAIN)

    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of models."""
        data = list(map(self.model, names))
        return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def model(self, name: str) -> JsonObject:
        """Return one model."""
        created = "1970-01-01T00:00:00Z"
        return {"type": "model", "id": name, "display_name": name, "created_at": created}


class AnthropicCount:
    """Counting, at `/v1/messages/count_tokens`."""

    api = API

    def path(self, model: str) -> str:
        """Return where the service is asked, after its base URL."""
        return "/v1/messages/count_tokens"

    def asked(self, body: JsonObject, model: str) -> JsonObject:
        """Return the body to send to the service."""
        return {**body, "model": model}

    def counted(self, answer: JsonObject) -> int:
        """Return what the service counted."""
        return int(answer["input_tokens"])

    def told(self, tokens: int) -> JsonObject:
        """Return the answer to the agent."""
        return {"input_tokens": tokens}


def _error(type_: str, message: str) -> JsonObject:
    error = {"type": type_, "message": message}
    return {"type": "error", "error": error, "request_id": f"req_{secrets.token_hex(12)}"}


# --- reading -------------------------------------------------------------------------------------


def _system(system: Any, messages: list[Any]) -> str:
    """Return the system text, also that which stands among the messages."""
    said = [text_of(system)] if system else []
    said += [
        text_of(message.get("content"))
        for message in messages
        if isinstance(message, dict) and message.get("role") == "system"
    ]
    return "\n\n".join(filter(str.strip, said))


def _turns(messages: list[Any]) -> Iterator[Turn]:
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", "system"):
            raise InvalidInput(f"messages.{number}.role: expected user or assistant")
        blocks = _content(message.get("content"), number)
        if role == "assistant":
            turn = _assistant(blocks)
            names |= {call.id: call.name for call in turn.tool_calls}
            yield turn
        elif role == "user":
            yield from _user(blocks, names)


def _content(content: Any, number: int) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return content
    raise InvalidInput(f"messages.{number}.content: expected text or a list of blocks")


def _assistant(blocks: list[JsonObject]) -> AssistantTurn:
    thinking = [block for block in blocks if block.get("type") in THINKING]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return AssistantTurn(
        text="".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text") or None,
        tool_calls=tuple(
            ToolCall(
                id=str(block.get("id", "")),
                name=str(block.get("name", "")),
                arguments=block["input"] if isinstance(block.get("input"), dict) else {},
            )
            for block in calls
        ),
        provider_data={"api": API, "thinking": thinking} if thinking else None,
    )


def _user(blocks: list[JsonObject], names: dict[str, str]) -> Iterator[Turn]:
    for block in blocks:
        if block.get("type") == "tool_result":
            id = str(block.get("tool_use_id", ""))
            yield ToolTurn(
                call_id=id,
                name=names.get(id, "unknown"),
                content=text_of(block.get("content")),
                is_error=bool(block.get("is_error")),
            )
    said = [block for block in blocks if block.get("type") != "tool_result"]
    if said:
        yield UserTurn(content=text_of(said))


def _tools(tools: Any) -> Iterator[ToolSchema]:
    """Yield the agent's own tools; those that the service itself would run are left out."""
    for tool in tools:
        if isinstance(tool, dict) and isinstance(tool.get("input_schema"), dict):
            yield ToolSchema(
                name=str(tool.get("name", "")),
                description=str(tool.get("description") or ""),
                parameters=tool["input_schema"],
            )


# --- telling -------------------------------------------------------------------------------------


def _message(model: str) -> JsonObject:
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(Usage()),
    }


def _usage(usage: Usage) -> JsonObject:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    }


def _blocks(response: ModelResponse) -> list[JsonObject]:
    data = response.provider_data or {}
    thinking = list(data.get("thinking", ())) if data.get("api") == API else []
    text = [{"type": "text", "text": response.text}] if response.text else []
    return [*thinking, *text, *map(_use, response.tool_calls)]


def _use(call: ToolCall) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}


def _input(call: ToolCall) -> JsonObject:
    """Return a call's input; what was no object is shown, so that the agent can say so."""
    return call.arguments if call.malformed is None else {"malformed": call.malformed}


class _Telling:
    """One answer as a stream of events."""

    def __init__(self, model: str) -> None:
        """Answer in the name of `model`."""
        self._model = model
        self._index = -1
        self._is_begun = False
        self._is_open = False
        self._said = ""

    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""
        self._said += piece
        delta = {"type": "text_delta", "text": piece}
        return self._begin() + _event("content_block_delta", index=self._index, delta=delta)

    def _begin(self) -> bytes:
        """Return what comes before the first piece of text."""
        if self._is_open:
            return b""
        block = {"type": "text", "text": ""}
        return self._start() + self._open(block)

    def _start(self) -> bytes:
        if self._is_begun:
            return b""
        self._is_begun = True
        return _event("message_start", message=_message(self._model))

    def _open(self, block: JsonObject) -> bytes:
        self._index += 1
        self._is_open = True
        return _event("content_block_start", index=self._index, content_block=block)

    def _close(self) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        return _event("content_block_stop", index=self._index)

    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is whole."""
        sent = [self._start()]
        if response.text and not self._said:
            sent.append(self.text(response.text))
        sent.append(self._close())
        for call in response.tool_calls:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(_input(call))}
            sent += [
                self._open({**_use(call), "input": {}}),
                _event("content_block_delta", index=self._index, delta=delta),
                self._close(),
            ]
        stop = {"stop_reason": STOP_REASONS[response.stop_reason], "stop_sequence": None}
        sent += [
            _event("message_delta", delta=stop, usage=_usage(response.usage)),
            _event("message_stop"),
        ]
        return b"".join(sent)

    def failed(self, failure: ProxyFailure) -> bytes:
        """Return what to send when the answer breaks off."""
        return b"event: error\ndata: %b\n\n" % json.dumps(failure.body).encode()


def _event(type_: str, **data: Any) -> bytes:
    body = json.dumps({"type": type_, **data}, ensure_ascii=False).encode("utf-8", "replace")
    return b"event: %b\ndata: %b\n\n" % (type_.encode(), body)
