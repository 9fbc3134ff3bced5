"""ToolCatalog: what a server was found to offer, as its host tells it and keeps it in a file."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import Field

from agiraph.core.mcp_settings import McpServerConfig
from agiraph.core.record import Record
from agiraph.mcp.names import tool_names
from agiraph.mcp.schemas import plain_schema
from agiraph.storage.files import read_bytes

JsonObject = dict[str, Any]

DESCRIPTION_LIMIT = 1024
"""The longest that all providers take."""
INSTRUCTIONS_LIMIT = 2000
MOST_TOOLS = 200
READ_RESOURCE = "@read_resource"
GET_PROMPT = "@get_prompt"
"""Tools that we make of a server's resources and prompts; no server's own begins with `@`."""


class ServedTool(Record):
    """One tool of a server. `name` is how a model calls it, `tool` how its server does."""

    name: str
    server: str
    tool: str
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    is_repeatable: bool = False


class ToolCatalog(Record):
    """What one server offers. `problem` says why it could not be found out, '' if it was.

    `settings` is the fingerprint of the settings it was found under, `found_at` epoch seconds.
    """

    server: str
    settings: str = ""
    title: str = ""
    version: str = ""
    instructions: str = ""
    tools: tuple[ServedTool, ...] = ()
    problem: str = ""
    found_at: float = 0.0

    @property
    def digest(self) -> str:
        """What changes when a tool does."""
        said = json.dumps([tool.model_dump() for tool in self.tools], sort_keys=True)
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def tool(self, tool: str) -> ServedTool | None:
        """Return the tool that the server calls so."""
        return next((one for one in self.tools if one.tool == tool), None)


def make_catalog(
    server: str,
    settings: McpServerConfig,
    tools: Iterable[Mapping[str, Any]],
    *,
    has_resources: bool,
    has_prompts: bool,
) -> tuple[ServedTool, ...]:
    """Return the tools of a server in a steady order, from what it listed (MCP's own objects)."""
    listed = {
        str(tool["name"]): tool
        for tool in tools
        if any(fnmatchcase(str(tool["name"]), pattern) for pattern in settings.only)
    }
    made = [READ_RESOURCE] if has_resources else []
    made += [GET_PROMPT] if has_prompts else []
    names = tool_names(server, [*listed, *(name.removeprefix("@") for name in made)])
    found = [_served(server, settings, tool, names[name]) for name, tool in listed.items()]
    for name in made:
        plain = name.removeprefix("@")
        shown = names[plain] if plain not in listed else f"{names[plain]}_of_server"
        found.append(_made(server, name, shown))
    return tuple(sorted(found, key=lambda tool: tool.name)[:MOST_TOOLS])


def _served(
    server: str, settings: McpServerConfig, tool: Mapping[str, Any], name: str
) -> ServedTool:
    hints = tool.get("annotations") or {}
    said = str(tool.get("description") or tool.get("title") or hints.get("title") or "").strip()
    is_said = any(fnmatchcase(str(tool["name"]), pattern) for pattern in settings.repeatable)
    return ServedTool(
        name=name,
        server=server,
        tool=str(tool["name"]),
        description=_cut(said or f"The tool {tool['name']} of {server}.", DESCRIPTION_LIMIT),
        parameters=plain_schema(tool.get("inputSchema") or {}),
        is_repeatable=bool(is_said or hints.get("readOnlyHint") or hints.get("idempotentHint")),
    )


def _made(server: str, tool: str, name: str) -> ServedTool:
    if tool == READ_RESOURCE:
        described = f"Read a resource of {server} by its URI; without one, list what there is."
        properties: JsonObject = {"uri": {"type": "string", "description": "the resource's URI"}}
    else:
        described = f"Get a prompt of {server} by its name; without one, list what there is."
        properties = {
            "name": {"type": "string", "description": "the prompt's name"},
            "arguments": {
                "type": "object",
                "description": "its arguments, all of them text",
                "additionalProperties": {"type": "string"},
            },
        }
    return ServedTool(
        name=name,
        server=server,
        tool=tool,
        description=described,
        parameters={"type": "object", "properties": properties},
        is_repeatable=True,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def cut_instructions(text: str) -> str:
    """Return what a server says of itself, at most as much as a prompt has room for."""
    return _cut(text.strip(), INSTRUCTIONS_LIMIT)


def read_catalog(file: Path) -> ToolCatalog | None:
    """Return what a host has kept of its server, None if there is nothing that can be read."""
    try:
        return ToolCatalog.model_validate_json(read_bytes(file))
    except (OSError, ValueError):
        return None
