"""Tool descriptions for a model with a small window: short schemas, runbooks on demand."""

from typing import Any

from pydantic import Field

from agiraph.core.errors import unknown
from agiraph.core.turns import JsonObject
from agiraph.tools.base import ToolParams, tool
from agiraph.tools.ports import ToolContext

KEPT = frozenset({"type", "enum", "const", "items", "anyOf", "oneOf", "properties", "required"})


class ReadRunbookParams(ToolParams):
    tool: str = Field(description="its name")


@tool("Read how a tool is used, before you use it for the first time.", kinds=frozenset())
async def read_runbook(context: ToolContext, params: ReadRunbookParams) -> str:
    """Return the runbook of a tool and the descriptions of its parameters."""
    from agiraph.tools.table import TOOLS  # which contains this tool

    tools = {tool.name: tool for tool in TOOLS if context.kind in tool.kinds}
    if params.tool not in tools:
        raise unknown("tool", params.tool, tuple(tools))
    found = tools[params.tool]
    meanings = [
        f"- {name}: {about['description']}"
        for name, about in found.schema().parameters["properties"].items()
        if "description" in about
    ]
    about = ("", "Its parameters:", *meanings) if meanings else ()
    return "\n".join([found.guidance(), *about])


def short_schema(parameters: JsonObject) -> JsonObject:
    """Return a tool's parameters in short: types and choices, without nested optional parameters.

    The tool accepts omitted parameters nevertheless; its runbook names them.
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
