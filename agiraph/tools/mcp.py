"""MCP tools: tools of other programs, as their server describes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from agiraph.core.ids import tools_address
from agiraph.core.turns import JsonObject, ToolSchema
from agiraph.mcp.catalog import ServedTool
from agiraph.settings.prompt_folder import read
from agiraph.tools.base import CallRecovery, Tool, ToolParams
from agiraph.tools.ports import ToolContext


class McpToolParams(ToolParams):
    """The parameters of an MCP tool: its server validates them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")


@dataclass(frozen=True, slots=True)
class McpTool(Tool[McpToolParams]):
    """A tool whose name, description and schema are its server's own. It has no runbook."""

    parameters: JsonObject | None = None

    def schema(self) -> ToolSchema:
        """Return the tool's description by its server."""
        return ToolSchema(
            name=self.name, description=self.description, parameters=self.parameters or {}
        )

    def guidance(self) -> str:
        """Return an empty text: all MCP tools share one runbook."""
        return ""


def as_tool(served: ServedTool) -> McpTool:
    """Return a server's tool as a tool for an entity's toolbox."""
    address = tools_address(served.server)

    async def run(context: ToolContext, params: McpToolParams) -> str:
        return await context.remote_tools.call(
            context.call_id,
            address,
            served.tool,
            dict(params.model_extra or {}),
            is_repeatable=served.is_repeatable,
        )

    async def recover(context: ToolContext, _params: McpToolParams) -> str | None:
        return await context.remote_tools.recover(context.call_id, address)

    return McpTool(
        name=served.name,
        description=served.description,
        params=McpToolParams,
        run=run,
        idempotent=served.is_repeatable,
        recovery=None if served.is_repeatable else CallRecovery(recover, lambda _context: None),
        parameters=served.parameters,
    )


def guidance_of(tools: Sequence[str]) -> str:
    """Return the runbook of all MCP tools of an entity, '' if it has none."""
    if not tools:
        return ""
    servers = dict.fromkeys(name.partition("__")[0] for name in tools)
    named = ", ".join(f"`{server}__...`" for server in servers)
    return f"### {named}\n\n{read('served_tools.md').strip()}"
