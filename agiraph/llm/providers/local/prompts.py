"""Prompts: rendering of requests for a small model, and reading of its answers. Pure."""

import json

from agiraph.core.json_text import parse_json
from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agiraph.llm.providers.local.schemas import SAY
from agiraph.llm.text_tools.text_tools import call_as_text, result_as_text
from agiraph.llm.wire.transcript import spoken, unique_calls

INTRODUCTION = f"""Answer with one JSON object, and nothing else:
{{"name": TOOL, "arguments": {{...}}}} to use a tool, or {{"{SAY}": TEXT}} to speak.

Tools:"""


def as_rendered(request: ModelRequest) -> ModelRequest:
    """Return the request with tools, calls and results rendered as text."""
    turns = tuple(_rendered(turn, in_json=bool(request.tools)) for turn in request.turns)
    if not request.tools:
        return request.model_copy(update={"turns": turns})
    tools = "\n".join(map(_line, request.tools))
    system = f"{request.system}\n\n{INTRODUCTION}\n{tools}"
    return request.model_copy(update={"system": system, "turns": turns, "tools": ()})


def _line(tool: ToolSchema) -> str:
    given = tool.parameters.get("properties")
    names = ", ".join(given) if isinstance(given, dict) else ""
    lines = tool.description.strip().splitlines() or [""]
    return f"- {tool.name}({names}): {lines[0]}"


def _rendered(turn: Turn, *, in_json: bool) -> Turn:
    match turn:
        case UserTurn():
            return turn
        case ToolTurn():
            return UserTurn(content=result_as_text(turn), pictures=turn.pictures)
        case AssistantTurn():
            text = spoken(turn)
            texts = [json.dumps({SAY: text}, ensure_ascii=False) if in_json else text]
            calls = map(call_as_text, turn.tool_calls)
            return AssistantTurn(text="\n".join([*(texts if text else []), *calls]))


def read_answer(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Return the response with the text or call that its JSON text contains.

    An answer that was cut off, and so is not JSON, is text: no guessed call is run.
    """
    try:
        value = parse_json(response.text or "")
    except ValueError:
        return response
    match value:
        case {"say": str(text)}:
            return response.model_copy(update={"text": text or None})
        case {"say": dict(wanted)}:
            return response.model_copy(update={"text": json.dumps(wanted, ensure_ascii=False)})
        case {"name": str(name), "arguments": dict(arguments)}:
            call = ToolCall(id="", name=name, arguments=arguments)
            found = {"text": None, "tool_calls": unique_calls([call], request)}
            return response.model_copy(update={**found, "stop_reason": "tool_use"})
    return response
