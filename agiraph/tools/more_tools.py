"""More tools: descriptions on demand, so that a request contains those of the usual tools alone.

The schemas and runbooks of all tools have 28 to 39 KB, and most runs use seven tools. So a toolbox
shows a core of tools in full (`table.CORE`); `find_tools` lists the others, each in one line, and
returns their descriptions; `use_tool` calls one of them. The tools of a request never change during
a conversation, so the caches of the services serve the beginning of each request.

A model with a small window gets short schemas of all tools; `find_tools` returns their runbooks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, ValidationError

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.specs import Names, as_object
from agiraph.core.turns import JsonObject, ToolCall
from agiraph.tools.base import Tool, ToolParams
from agiraph.tools.ports import ToolContext

KEPT = frozenset({"type", "enum", "const", "items", "anyOf", "oneOf", "properties", "required"})
USE_TOOL: Final = "use_tool"
FIND_TOOLS: Final = "find_tools"
READ_FIRST: Final = "Read how tools are used. Do this before the first use of a tool."
LISTED: Final = (
    "Get the descriptions and the parameters of further tools. Then call them with `use_tool`. "
    "The further tools:"
)


class FindToolsParams(ToolParams):
    """Parameters of `find_tools`."""

    names: Names = Field(min_length=1, description="names of tools")


class UseToolParams(ToolParams):
    """Parameters of `use_tool`."""

    tool: str = Field(min_length=1, description="the name of one of the further tools")
    arguments: Annotated[JsonObject, BeforeValidator(as_object)] = Field(
        default_factory=dict, description="the arguments, as `find_tools` describes them"
    )


def find_tools(tools: Mapping[str, Tool[Any]], listed: Sequence[str]) -> Tool[FindToolsParams]:
    """Return the tool that describes `tools`; its own description lists the `listed` tools.

    Without `listed` tools each request has the schemas already, and only their meaning is returned.
    """
    describe = described if listed else meaning_of

    async def run(context: ToolContext, params: FindToolsParams) -> str:
        for name in params.names:
            if name not in tools:
                raise unknown("tool", name, tuple(tools))
        return "\n\n".join(describe(tools[name]) for name in params.names)

    lines = (f"- {name}: {tools[name].description}" for name in listed)
    text = "\n".join([LISTED, *lines]) if listed else READ_FIRST
    return Tool(FIND_TOOLS, text, FindToolsParams, run, idempotent=True)


def described(tool: Tool[Any]) -> str:
    """Return the runbook and the parameters of a tool that no request describes."""
    parameters = json.dumps(tool.schema().parameters, ensure_ascii=False)
    return f"### {tool.name}\n\n{tool.guidance()}\n\nParameters: {parameters}"


def meaning_of(tool: Tool[Any]) -> str:
    """Return the runbook of a tool and the descriptions of its parameters."""
    meanings = [
        f"- {name}: {about['description']}"
        for name, about in tool.schema().parameters["properties"].items()
        if "description" in about
    ]
    about = ("", "Its parameters:", *meanings) if meanings else ()
    return "\n".join([f"### {tool.name}", "", tool.guidance() or tool.description, *about])


async def _refuse(context: ToolContext, params: UseToolParams) -> str:
    raise InvalidInput(
        f"'{params.tool}' cannot be called by {USE_TOOL} (possible: a tool that {FIND_TOOLS} lists)"
    )


use_tool = Tool(USE_TOOL, "Call a tool that `find_tools` lists.", UseToolParams, _refuse)


def called_tool(call: ToolCall) -> ToolCall:
    """Return the call that a call of `use_tool` contains; any other call unchanged.

    A call without valid parameters stays a call of `use_tool`, whose result names the problem.
    """
    if call.name != USE_TOOL or call.malformed is not None:
        return call
    try:
        params = UseToolParams.model_validate(call.arguments)
    except ValidationError:
        return call
    if params.tool == USE_TOOL:
        return call
    return ToolCall(id=call.id, name=params.tool, arguments=params.arguments)


def short_schema(parameters: JsonObject) -> JsonObject:
    """Return a tool's parameters in short: types and choices, without nested optional parameters.

    The tool accepts omitted parameters nevertheless; `find_tools` describes them.
    """
    short = _short(parameters)
    required = parameters.get("required", ())
    properties: JsonObject = short.get("properties", {})
    kept = {
        name: value
        for name, value in properties.items()
        if name in required or not _is_nested(value)
    }
    return {**short, "properties": kept}


def _is_nested(value: JsonObject) -> bool:
    """Whether a parameter, or its items, has properties of its own."""
    items = value.get("items")
    return "properties" in value or (isinstance(items, dict) and "properties" in items)


def _short(value: Any) -> Any:
    """Return a schema without descriptive keys."""
    if not isinstance(value, dict):
        return value
    short: JsonObject = {}
    for key in value.keys() & KEPT:
        inner = value[key]
        if key == "properties":
            short[key] = {name: _short(one) for name, one in inner.items()}
        elif isinstance(inner, list):
            short[key] = [_short(one) for one in inner]
        else:
            short[key] = _short(inner)
    return {key: short[key] for key in value if key in short}
