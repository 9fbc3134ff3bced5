"""Shared values tools: a key-value store for the whole team of a run."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from agiraph.core.turns import JsonObject
from agiraph.tools.base import NoParams, ToolParams, tool
from agiraph.tools.ports import ToolContext


class ReadSharedValueParams(ToolParams):
    key: str = Field(min_length=1, description="the key to read")


class WriteSharedValueParams(ToolParams):
    key: str = Field(min_length=1, description="the key; its old value is replaced")
    value: JsonValue = Field(description="any JSON: text, number, list, object")


class AppendSharedValueParams(ToolParams):
    key: str = Field(
        min_length=1, description="the key of a list, which is created if it does not exist"
    )
    item: JsonValue = Field(description="any JSON; added to the end of the list")


@tool("Read a value that the team shares.", idempotent=True)
async def read_shared_value(context: ToolContext, params: ReadSharedValueParams) -> str:
    return await context.team.read_shared_value(params.key)


@tool(
    "Replace a value that the team shares.",
    idempotent=True,
)
async def write_shared_value(context: ToolContext, params: WriteSharedValueParams) -> JsonObject:
    """Replace the value of a key; return {"key", "version"}."""
    return await _change(context, "write", params.key, params.value)


@tool("Append an item to a list that the team shares.", idempotent=True)
async def append_shared_value(context: ToolContext, params: AppendSharedValueParams) -> JsonObject:
    """Add to a list; return {"key", "version", "items"}."""
    return await _change(context, "append", params.key, params.item)


@tool("List the values that the team shares.", idempotent=True)
async def list_shared_values(context: ToolContext, params: NoParams) -> str:
    return await context.team.list_shared_values()


async def _change(
    context: ToolContext, way: Literal["write", "append"], key: str, value: Any
) -> JsonObject:
    receipt = await context.team.change_shared_value(context.call_id, way, key, value)
    return {name: value for name, value in receipt.items() if value is not None}
