"""Shared context tools: a key-value store for the whole team of a run."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from agiraph.tools.base import NoParams, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext


class ReadContextParams(ToolParams):
    """Parameters of `read_context`."""

    key: str = Field(min_length=1, description="the key to read")


class WriteContextParams(ToolParams):
    """Parameters of `write_context`."""

    key: str = Field(min_length=1, description="the key; its value is replaced")
    value: JsonValue = Field(description="any JSON: text, number, list, object")


class AppendContextParams(ToolParams):
    """Parameters of `append_context`."""

    key: str = Field(
        min_length=1, description="the key of a list, which is created if it does not exist"
    )
    item: JsonValue = Field(description="any JSON, added at the list's end")


async def read_context(context: ToolContext, params: ReadContextParams) -> str:
    """Return {"key", "value", "version", "by", "at"}; InvalidInput lists the known keys."""
    text: str = await context.team.read_context(params.key)
    return text


async def write_context(context: ToolContext, params: WriteContextParams) -> str:
    """Replace the value of a key; return {"key", "version"}."""
    return await _change(context, "write", params.key, params.value)


async def append_context(context: ToolContext, params: AppendContextParams) -> str:
    """Add to a list; return {"key", "version", "items"}."""
    return await _change(context, "append", params.key, params.item)


async def list_context(context: ToolContext, params: NoParams) -> str:
    """Return {"keys": [{"key", "kind", "bytes", "version", "by", "at"}]}."""
    text: str = await context.team.list_context()
    return text


async def _change(
    context: ToolContext, way: Literal["write", "append"], key: str, value: Any
) -> str:
    receipt = await context.team.change_context(context.call_id, way, key, value)
    return as_json({name: told for name, told in receipt.items() if told is not None})


READ_CONTEXT = Tool(
    name="read_context",
    description="Read the value of a key of the team's shared context.",
    params=ReadContextParams,
    run=read_context,
    idempotent=True,
)
WRITE_CONTEXT = Tool(
    name="write_context",
    description="Put a value under a key of the team's shared context, replacing what was there.",
    params=WriteContextParams,
    run=write_context,
    idempotent=True,
)
APPEND_CONTEXT = Tool(
    name="append_context",
    description="Add an item to a list in the team's shared context; no item is lost.",
    params=AppendContextParams,
    run=append_context,
    idempotent=True,
)
LIST_CONTEXT = Tool(
    name="list_context",
    description="List the keys of the team's shared context, and who wrote them when.",
    params=NoParams,
    run=list_context,
    idempotent=True,
)
