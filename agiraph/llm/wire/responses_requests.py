"""Requests of OpenAI's Responses format, encoded and parsed. Pure.

As a client Agiraph stores nothing at the service, so the whole conversation is sent each time,
including the model's reasoning: sealed items, sent back unchanged at their places.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agiraph.llm.request_body_cache import RequestBodyCache, as_json, body_with
from agiraph.llm.structured import SCHEMA_NAME, is_closed
from agiraph.llm.wire.chat_requests import NO_PARAMETERS, SYSTEM_ROLES
from agiraph.llm.wire.format import parsed_request, schema_in, system_text, text_of, tools_in
from agiraph.llm.wire.pictures import PictureEncoder
from agiraph.llm.wire.responses_rules import ResponsesRules
from agiraph.llm.wire.transcript import (
    head_of,
    laid_out,
    read_call,
    tail_of,
    wire_id,
    wire_name,
)
from agiraph.models.registry import ModelTraits

API = "responses"
RULES = ResponsesRules()
SHORTEST_ANSWER = 16  # the API refuses smaller limits
SEALED = "reasoning.encrypted_content"
CACHE_KEY_LIMIT = 64
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
FREEFORM: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
LOCAL_SHELL: JsonObject = {
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": {"type": "string"}},
        "timeout_ms": {"type": "integer"},
        "working_directory": {"type": "string"},
    },
    "required": ["command"],
}


# --- encoding ------------------------------------------------------------------------------------


def encode_request(
    request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
) -> bytes:
    """Return the body of a streaming request for `model`, as JSON."""
    tail: JsonObject = {"max_output_tokens": max(SHORTEST_ANSWER, request.max_tokens)}
    if request.temperature is not None:
        tail["temperature"] = request.temperature
    if traits.effort is not None:
        tail["reasoning"] = {"effort": traits.effort}
    if (schema := request.response_schema) is not None:
        about = {"type": "json_schema", "name": SCHEMA_NAME}
        tail["text"] = {"format": about | {"schema": schema, "strict": is_closed(schema)}}
    head = body_cache.head(request, lambda: head_of(_head(request, model, traits), traits.extra))
    items = _items(request, traits, body_cache)
    return body_with(head, items, tail_of(tail, traits.extra), field="input")


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
    model = request.model if traits.reasoning == "kept" else ""
    start, known = body_cache.beginning(request)
    encoder = PictureEncoder(request, traits)
    items = [as_json(i) for turn in request.turns[start:] for i in _items_of(turn, model, encoder)]
    return body_cache.joined(request, known, items, len(items), len(request.turns))


def _items_of(turn: Turn, model: str, encoder: PictureEncoder) -> list[JsonObject]:
    match turn:
        case UserTurn():
            content = _shown(turn, encoder)
            return [{"type": "message", "role": "user", "content": content}] if content else []
        case ToolTurn():
            id, has_images = wire_id(turn.call_id), bool(encoder.encoded(turn))
            output = _shown(turn, encoder) if has_images else encoder.text(turn)
            return [{"type": "function_call_output", "call_id": id, "output": output}]
        case AssistantTurn():
            return _answer(turn, model)


def _shown(turn: UserTurn | ToolTurn, encoder: PictureEncoder) -> list[JsonObject]:
    """Return the text and the pictures of a turn as parts."""
    text = encoder.text(turn)
    parts: list[JsonObject] = [{"type": "input_text", "text": text}] if text.strip() else []
    shown = encoder.encoded(turn)
    return [*parts, *({"type": "input_image", "image_url": one.url} for one in shown)]


def _message(role: str, kind: str, text: str, **more: Any) -> JsonObject:
    content = [{"type": kind, "text": text}]
    return {"type": "message", "role": role, "content": content} | more


def _answer(turn: AssistantTurn, model: str) -> list[JsonObject]:
    items: list[JsonObject] = []
    for part in laid_out(turn, API, model):
        extra = part.get("extra") or {}
        if "raw" in part:
            items.append(part["raw"])
        elif "text" in part:
            items.append(_message("assistant", "output_text", part["text"], **extra))
        else:
            items.append(_function_call(turn.tool_calls[part["call"]], extra))
    # Reasoning alone is refused: an answer without other items is left out.
    return items if any(item["type"] != "reasoning" for item in items) else []


def _function_call(call: ToolCall, extra: JsonObject) -> JsonObject:
    name = call.name.removeprefix(f"{extra.get('namespace')}__")
    return {
        "type": "function_call",
        "call_id": wire_id(call.id),
        "name": wire_name(name),
        "arguments": json.dumps(call.arguments, ensure_ascii=False),
    } | extra


# --- parsing -------------------------------------------------------------------------------------


def parse_request(body: JsonObject) -> ModelRequest:
    """Return the request of a body. Raises InvalidInput, which describes its problem."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidInput("input: expected text or a list of items")
    tools = tools_in(body)
    system = (item.get("content") for item in items if _is_system(item))
    return parsed_request(
        body,
        system=system_text(body.get("instructions"), *system),
        turns=_turns(items),
        max_tokens=RULES.limit(body),
        tools=() if body.get("tool_choice") == "none" else tuple(_tools(tools)),
        temperature=body.get("temperature"),
        response_schema=schema_in(body, "text", "format", "schema"),
    )


def _is_system(item: JsonObject) -> bool:
    return item.get("role") in SYSTEM_ROLES


def _turns(items: list[JsonObject]) -> list[Turn]:
    """Return the items as turns; the text and the calls of one answer are one turn."""
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for item in items:
        kind = str(item.get("type") or "message")
        if kind == "message" and not _is_system(item):
            _add_message(turns, str(item.get("role")), text_of(item.get("content")))
        elif kind in CALLS:
            call = parse_call(item)
            names[call.id] = call.name
            _add_call(turns, call)
        elif kind.endswith("_call_output"):
            id = str(item.get("call_id") or item.get("id") or "")
            content = _output(item.get("output"))
            turns.append(ToolTurn(call_id=id, name=names.get(id, "unknown"), content=content))
    return turns


def _add_message(turns: list[Turn], role: str, text: str) -> None:
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


def parse_call(item: JsonObject) -> ToolCall:
    """Return the call of an item of CALLS; a name in a namespace begins with it."""
    id = str(item.get("call_id") or item.get("id") or "")
    space = item.get("namespace")
    name = f"{space}__{item.get('name')}" if space else str(item.get("name", ""))
    match item.get("type"):
        case "custom_tool_call":
            return ToolCall(id=id, name=name, arguments={"input": str(item.get("input") or "")})
        case "local_shell_call":
            action = item.get("action")
            given = action if isinstance(action, dict) else {}
            arguments = {key: given[key] for key in LOCAL_SHELL["properties"] if key in given}
            return ToolCall(id=id, name="local_shell", arguments=arguments)
    return read_call(id, name, item.get("arguments"))


def _output(output: Any) -> str:
    if isinstance(output, str | list):
        return text_of(output)
    return "" if output is None else json.dumps(output, ensure_ascii=False)


# --- tools ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResponsesToolForm:
    """The form of a tool's calls: its type, its namespace ("" if none) and its name there."""

    type: str
    space: str
    name: str


ToolForms = Mapping[str, ResponsesToolForm]


def tool_forms(body: JsonObject) -> ToolForms:
    """Return the form of each tool of a request by its full name."""
    return {
        name: ResponsesToolForm(tool["type"], space, tool["name"])
        for name, space, tool in _own_tools(tools_in(body))
    }


def _own_tools(tools: list[Any]) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield the agent's own tools with full name and namespace; a namespace contains several."""
    for tool in tools:
        match tool:
            case {"type": "namespace", "name": str(space), "tools": list(inner)}:
                for _, _, one in _own_tools(inner):
                    yield f"{space}__{one['name']}", space, one
            case {"type": "function" | "custom", "name": str(name)}:
                yield name, "", tool
            case {"type": "local_shell"}:
                yield "local_shell", "", {**tool, "name": "local_shell"}
            case _:  # the service itself would run it
                continue


def _tools(tools: list[Any]) -> Iterator[ToolSchema]:
    for name, _, tool in _own_tools(tools):
        match tool["type"]:
            case "function":
                parameters = tool.get("parameters") or NO_PARAMETERS
            case "custom":
                parameters = FREEFORM
            case _:
                parameters = LOCAL_SHELL
        description = str(tool.get("description") or "")
        if tool["type"] == "custom" and isinstance(tool.get("format"), dict):
            definition = tool["format"].get("definition")
            description += f"\n\nIts input has this form:\n{definition}" if definition else ""
        yield ToolSchema(name=name, description=description, parameters=parameters)
