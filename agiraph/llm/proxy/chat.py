"""Chat Completions, as the door speaks it."""

import json
import secrets
import time
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
from agiraph.llm.base import FailureKind
from agiraph.llm.proxy.format import (
    AnswerWriter,
    ProxyFailure,
    asked_model,
    number_of,
    request_of,
    schema_in,
    text_of,
    tools_in,
)
from agiraph.llm.proxy.grants import ProxyGrant
from agiraph.llm.proxy.openai_errors import denied, failure
from agiraph.llm.wire.chat import API, ChatAnswer
from agiraph.llm.wire.transcript import read_call

FINISHES: dict[StopReason, str] = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
    "cancelled": "stop",
}
BOUNDS = ("max_completion_tokens", "max_tokens")


class ChatProxyFormat:
    """Chat Completions, at `/chat/completions`."""

    api = API
    tells_breaks = False

    def path(self, body: JsonObject, model: str) -> str:
        """Return where the service takes a request, after its base URL."""
        return "/chat/completions"

    def read(self, body: JsonObject, grant: ProxyGrant, model: str) -> ModelRequest:
        """Return a request's body in canonical terms; InvalidInput saying what is wrong."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise InvalidInput("messages: expected a list of messages")
        bounds = (body.get(name) for name in BOUNDS)
        tools = () if body.get("tool_choice") == "none" else tuple(_tools(tools_in(body)))
        return request_of(
            grant,
            model,
            system=_system(messages),
            turns=list(_turns(messages)),
            max_tokens=next((bound for bound in bounds if bound), None),
            tools=tools,
            temperature=number_of(body.get("temperature")),
            response_schema=schema_in(body, "response_format", "json_schema", "schema"),
        )

    def untranslatable(self, body: JsonObject) -> str:
        """Return "": what only the service itself could do is left out."""
        return ""

    def handed_on(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service itself; a stream must say what it took."""
        sent = {**body, "model": model}
        if max_tokens is not None:
            field = next((name for name in BOUNDS if body.get(name)), BOUNDS[0])
            sent[field] = max_tokens
        if body.get("stream") is True:
            given = body.get("stream_options")
            options = given if isinstance(given, dict) else {}
            sent["stream_options"] = {**options, "include_usage": True}
        return sent

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent sees an event: usage that it did not ask for it does not."""
        if event is None or event.get("choices") or not event.get("usage"):
            return True
        return _wants_usage(body)

    def hearing(self, body: JsonObject) -> ChatAnswer:
        """Return what reads the service's answer."""
        return ChatAnswer()

    def whole_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as events."""
        choices = [{**choice, "delta": choice["message"]} for choice in answer["choices"]]
        return [{"choices": choices, "usage": answer.get("usage")}]

    def telling(self, body: JsonObject, model: str) -> AnswerWriter:
        """Return what tells an answer as a stream."""
        return _Telling(asked_model(body), with_usage=_wants_usage(body))

    def whole(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return an answer in one piece."""
        message: JsonObject = {"role": "assistant", "content": response.text, "refusal": None}
        if response.tool_calls:
            message["tool_calls"] = list(map(_call, response.tool_calls))
        finish = FINISHES[response.stop_reason]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        head = _head(asked_model(body), "chat.completion")
        return head | {"choices": [choice], "usage": _usage(response.usage)}

    def failure(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> ProxyFailure:
        """Return how a failed call is told."""
        return failure(kind, message, retry_after)

    def denied(self, status: int, message: str) -> ProxyFailure:
        """Return how a request is refused that is no call."""
        return denied(status, message)

    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of models."""
        return {"object": "list", "data": list(map(self.model, names))}

    def model(self, name: str) -> JsonObject:
        """Return one model."""
        return {"id": name, "object": "model", "created": 0, "owned_by": "agiraph"}


# --- reading -------------------------------------------------------------------------------------


def _system(messages: list[Any]) -> str:
    said = [
        text_of(message.get("content"))
        for message in messages
        if isinstance(message, dict) and message.get("role") in ("system", "developer")
    ]
    return "\n\n".join(filter(str.strip, said))


def _turns(messages: list[Any]) -> Iterator[Turn]:
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        match message:
            case {"role": "system" | "developer"}:
                continue
            case {"role": "user", "content": content}:
                yield UserTurn(content=text_of(content))
            case {"role": "assistant"}:
                made = message.get("tool_calls")
                calls = tuple(map(_made, made)) if isinstance(made, list) else ()
                names |= {call.id: call.name for call in calls}
                text = text_of(message.get("content")) or None
                yield AssistantTurn(text=text, tool_calls=calls)
            case {"role": "tool", "tool_call_id": str(id)}:
                content = text_of(message.get("content"))
                yield ToolTurn(call_id=id, name=names.get(id, "unknown"), content=content)
            case _:
                raise InvalidInput(
                    f"messages.{number}: expected a role (system, user, assistant, tool) "
                    "and what belongs to it"
                )


def _made(call: Any) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise InvalidInput("tool_calls: expected calls of functions")
    id, name = str(call.get("id", "")), str(function.get("name", ""))
    return read_call(id, name, str(function.get("arguments") or ""))


def _tools(tools: Any) -> Iterator[ToolSchema]:
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict):
            yield ToolSchema(
                name=str(function.get("name", "")),
                description=str(function.get("description") or ""),
                parameters=function.get("parameters") or {"type": "object", "properties": {}},
            )


def _wants_usage(body: JsonObject) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


# --- telling -------------------------------------------------------------------------------------


def _head(model: str, object_: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": object_,
        "created": int(time.time()),
        "model": model,
    }


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }


def _call(call: ToolCall) -> JsonObject:
    arguments = call.malformed if call.malformed is not None else json.dumps(call.arguments)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


class _Telling:
    """One answer as a stream of chunks."""

    def __init__(self, model: str, *, with_usage: bool) -> None:
        """Answer in the name of `model`."""
        self._head = _head(model, "chat.completion.chunk")
        self._with_usage = with_usage
        self._is_begun = False
        self._said = False

    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""
        self._said = True
        return self._begin() + self._chunk({"content": piece})

    def _begin(self) -> bytes:
        if self._is_begun:
            return b""
        self._is_begun = True
        return self._chunk({"role": "assistant", "content": ""})

    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is whole."""
        sent = [self._begin()]
        if response.text and not self._said:
            sent.append(self.text(response.text))
        for index, call in enumerate(response.tool_calls):
            sent.append(self._chunk({"tool_calls": [{"index": index, **_call(call)}]}))
        sent.append(self._chunk({}, finish=FINISHES[response.stop_reason]))
        if self._with_usage:
            usage = {"choices": [], "usage": _usage(response.usage)}
            sent.append(_data({**self._head, **usage}))
        return b"".join([*sent, b"data: [DONE]\n\n"])

    def failed(self, failure: ProxyFailure) -> bytes:
        """Return what to send when the answer breaks off."""
        return _data(failure.body)

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**self._head, "choices": [choice]})


def _data(body: JsonObject) -> bytes:
    return b"data: %b\n\n" % json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
