"""Responses, OpenAI's newer format, as the door speaks it: what Codex asks for."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agiraph.llm.base import RETRYABLE, FailureKind, PartialUsage, ProviderError
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
from agiraph.llm.proxy.responses_writer import (
    ResponsesAnswerWriter,
    ResponsesToolForm,
    ToolKinds,
    finished,
)
from agiraph.llm.wire.responses import ResponsesUsage, usage_of
from agiraph.llm.wire.transcript import read_call, unique_calls

API = "responses"
FREEFORM = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


class ResponsesProxyFormat:
    """Responses, at `/responses`."""

    api = API
    tells_breaks = False

    def path(self, body: JsonObject, model: str) -> str:
        """Return where the service takes a request, after its base URL."""
        return "/responses"

    def read(self, body: JsonObject, grant: ProxyGrant, model: str) -> ModelRequest:
        """Return a request's body in canonical terms; InvalidInput saying what is wrong."""
        given = body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise InvalidInput("input: expected text or a list of items")
        if body.get("previous_response_id"):
            raise InvalidInput(
                "previous_response_id: answers are not kept here; send the whole conversation "
                "(store: false)"
            )
        tools = () if body.get("tool_choice") == "none" else tuple(_tools(tools_in(body)))
        return request_of(
            grant,
            model,
            system=_system(body.get("instructions"), items),
            turns=_turns(items),
            max_tokens=body.get("max_output_tokens"),
            tools=tools,
            temperature=number_of(body.get("temperature")),
            response_schema=schema_in(body, "text", "format", "schema"),
        )

    def untranslatable(self, body: JsonObject) -> str:
        """Return "": what only the service itself could do is left out."""
        return ""

    def handed_on(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service itself."""
        bound = {} if max_tokens is None else {"max_output_tokens": max_tokens}
        return {**body, "model": model, **bound}

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent sees an event: it sees all."""
        return True

    def hearing(self, body: JsonObject) -> "_Hearing":
        """Return what reads the service's answer."""
        return _Hearing()

    def whole_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as events."""
        return [{"type": "response.completed", "response": answer}]

    def telling(self, body: JsonObject, model: str) -> AnswerWriter:
        """Return what tells an answer as a stream."""
        return ResponsesAnswerWriter(asked_model(body), kinds_of(body))

    def whole(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return an answer in one piece."""
        return finished(asked_model(body), response, kinds_of(body))

    def failure(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> ProxyFailure:
        """Return how a failed call is told.

        Codex takes any refusal but 400 for a broken connection, and tries five times more.
        """
        told = failure(kind, message, retry_after)
        return told if kind in RETRYABLE else replace(told, status=400)

    def denied(self, status: int, message: str) -> ProxyFailure:
        """Return how a request is refused that is no call."""
        return denied(status, message)

    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of models."""
        return {"object": "list", "data": list(map(self.model, names))}

    def model(self, name: str) -> JsonObject:
        """Return one model."""
        return {"id": name, "object": "model", "created": 0, "owned_by": "agiraph"}


# --- tools ---------------------------------------------------------------------------------------


def _spread(tools: Any) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield the agent's own tools with their full name and namespace; a namespace holds several."""
    for tool in tools:
        match tool:
            case {"type": "namespace", "name": str(space), "tools": list(inner)}:
                for _, _, one in _spread(inner):
                    yield f"{space}__{one['name']}", space, one
            case {"type": "function" | "custom", "name": str(name)}:
                yield name, "", tool
            case {"type": "local_shell"}:
                yield "local_shell", "", {**tool, "name": "local_shell"}
            case _:  # the service itself would run it
                continue


def _tools(tools: Any) -> Iterator[ToolSchema]:
    for name, _, tool in _spread(tools):
        match tool["type"]:
            case "function":
                parameters = tool.get("parameters") or {"type": "object", "properties": {}}
            case "custom":
                parameters = FREEFORM
            case _:
                parameters = LOCAL_SHELL
        description = str(tool.get("description") or "")
        if tool["type"] == "custom" and isinstance(tool.get("format"), dict):
            definition = tool["format"].get("definition")
            description += f"\n\nIts input has this form:\n{definition}" if definition else ""
        yield ToolSchema(name=name, description=description, parameters=parameters)


LOCAL_SHELL: JsonObject = {
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": {"type": "string"}},
        "timeout_ms": {"type": "integer"},
        "working_directory": {"type": "string"},
    },
    "required": ["command"],
}


def kinds_of(body: JsonObject) -> ToolKinds:
    """Return what kind of tool each name of a request is, to call it back in its own way."""
    return {
        name: ResponsesToolForm(tool["type"], space, tool["name"])
        for name, space, tool in _spread(tools_in(body))
    }


# --- reading -------------------------------------------------------------------------------------


def _system(instructions: Any, items: list[JsonObject]) -> str:
    said = [text_of(instructions)]
    said += [text_of(item.get("content")) for item in items if _is_system(item)]
    return "\n\n".join(filter(str.strip, said))


def _is_system(item: JsonObject) -> bool:
    return item.get("role") in ("system", "developer")


def _turns(items: list[JsonObject]) -> list[Turn]:
    """Return the items as turns; what the model said and called in one go is one turn."""
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for item in items:
        kind = str(item.get("type") or "message")
        if kind == "message" and not _is_system(item):
            _say(turns, str(item.get("role")), text_of(item.get("content")))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            call = _made(item)
            names[call.id] = call.name
            _add_call(turns, call)
        elif kind.endswith("_call_output"):
            id = str(item.get("call_id") or item.get("id") or "")
            content = _output(item.get("output"))
            turns.append(ToolTurn(call_id=id, name=names.get(id, "unknown"), content=content))
    return turns


def _say(turns: list[Turn], role: str, text: str) -> None:
    if role != "assistant":
        turns.append(UserTurn(content=text))
    elif turns and isinstance(turns[-1], AssistantTurn) and not turns[-1].tool_calls:
        joined = "\n\n".join(filter(None, [turns[-1].text, text]))
        turns[-1] = turns[-1].model_copy(update={"text": joined})
    else:
        turns.append(AssistantTurn(text=text))


def _add_call(turns: list[Turn], call: ToolCall) -> None:
    last = turns[-1] if turns else None
    if isinstance(last, AssistantTurn):
        turns[-1] = last.model_copy(update={"tool_calls": (*last.tool_calls, call)})
    else:
        turns.append(AssistantTurn(tool_calls=(call,)))


def _made(item: JsonObject) -> ToolCall:
    id = str(item.get("call_id") or item.get("id") or "")
    space = item.get("namespace")
    name = f"{space}__{item.get('name')}" if space else str(item.get("name", ""))
    match item.get("type"):
        case "custom_tool_call":
            return ToolCall(id=id, name=name, arguments={"input": str(item.get("input") or "")})
        case "local_shell_call":
            action = item.get("action")
            known = action if isinstance(action, dict) else {}
            kept = {key: known[key] for key in LOCAL_SHELL["properties"] if key in known}
            return ToolCall(id=id, name="local_shell", arguments=kept)
    return read_call(id, name, str(item.get("arguments") or ""))


def _output(output: Any) -> str:
    if isinstance(output, str | list):
        return text_of(output)
    return "" if output is None else json.dumps(output, ensure_ascii=False)


# --- hearing -------------------------------------------------------------------------------------


class _Hearing:
    """The service's own answer: its last event holds all of it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._answer: JsonObject | None = None
        self._tally = ResponsesUsage()

    def feed(self, event: JsonObject) -> str:
        """Take one event; return the text that it brought, "" if none."""
        self._tally.feed(event)
        match event.get("type"):
            case "response.output_text.delta":
                return str(event.get("delta") or "")
            case "response.completed" | "response.incomplete":
                self._answer = event["response"]
        return ""

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        return self._tally.so_far()

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        if self._answer is None:
            raise ProviderError("unreachable", "the answer broke off before its end")
        output = self._answer.get("output") or []
        made = [_made(item) for item in output if str(item.get("type")).endswith("_call")
                and item.get("call_id")]  # fmt: skip
        said = [text_of(item.get("content")) for item in output if item.get("type") == "message"]
        is_short = self._answer.get("status") == "incomplete"
        return ModelResponse(
            text="".join(said) or None,
            tool_calls=unique_calls(made, request),
            stop_reason="max_tokens" if is_short else "tool_use" if made else "end_turn",
            usage=usage_of(self._answer),
            model=request.model,
        )
