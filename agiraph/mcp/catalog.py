"""ToolCatalog: what a server offers, as its host reports it and stores it in a file.

Models call a server's tools by names that every provider accepts: `server__tool`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import Field

from agiraph.core.mcp_settings import SEPARATOR, McpServerConfig
from agiraph.core.record import Record
from agiraph.storage.files import read_bytes

LONGEST = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
DIGEST_BYTES = 3


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return for each tool the name by which a model calls it, whatever their order.

    A character that providers refuse becomes `_`, a name that is too long is cut; a name that would
    then not be unique gets a digest of the tool's own name.
    """
    by_name: dict[str, list[str]] = {}
    for tool in sorted(set(tools)):
        by_name.setdefault(f"{server}{SEPARATOR}{ODD.sub('_', tool) or '_'}", []).append(tool)
    return {
        tool: _with_digest(name, tool) if len(same) > 1 or len(name) > LONGEST else name
        for name, same in by_name.items()
        for tool in same
    }


def _with_digest(name: str, tool: str) -> str:
    digest = hashlib.blake2b(tool.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return f"{name[: LONGEST - len(digest) - 1]}_{digest}"


def is_served(name: str) -> bool:
    """Whether a name or pattern is of a server's tools: no tool of Agiraph's contains `__`."""
    return SEPARATOR in name


def server_of(name: str) -> str:
    """Return the server that a served tool's name begins with."""
    return name.partition(SEPARATOR)[0]


JsonObject = dict[str, Any]

DESCRIPTION_LIMIT = 1024
"""The longest that all providers take."""
INSTRUCTIONS_LIMIT = 2000
MOST_TOOLS = 200
READ_RESOURCE = "@read_resource"
GET_PROMPT = "@get_prompt"
"""Tools that we make of a server's resources and prompts; no server's own begins with `@`."""

SCHEMA_DEPTH = 12
"""A schema that refers to itself is unrolled to this depth; below that anything is allowed."""
LEFT_OUT = ("$schema", "$id", "$defs", "definitions", "$comment")
CHOICES = ("oneOf", "anyOf", "allOf")


class ServedTool(Record):
    """One tool of a server. A model calls it by `name`, its server by `tool`."""

    name: str
    server: str
    tool: str
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    is_repeatable: bool = False


class ToolCatalog(Record):
    """What one server offers; `problem` says why that is not known, '' if it is.

    `settings` is the fingerprint of its settings at that time, `found_at` epoch seconds.
    """

    server: str
    settings: str = ""
    title: str = ""
    version: str = ""
    instructions: str = ""
    tools: tuple[ServedTool, ...] = ()
    problem: str = ""
    found_at: float = 0.0

    def tool(self, tool: str) -> ServedTool | None:
        """Return the tool that the server calls by this name, None if there is none."""
        return next((one for one in self.tools if one.tool == tool), None)


def make_catalog(
    server: str,
    settings: McpServerConfig,
    tools: Iterable[Mapping[str, Any]],
    *,
    has_resources: bool,
    has_prompts: bool,
) -> tuple[ServedTool, ...]:
    """Return a server's tools sorted by name, from what it listed (MCP's own objects)."""
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
    about = str(tool.get("description") or tool.get("title") or hints.get("title") or "").strip()
    is_listed = any(fnmatchcase(str(tool["name"]), pattern) for pattern in settings.repeatable)
    return ServedTool(
        name=name,
        server=server,
        tool=str(tool["name"]),
        description=_cut(about or f"The tool {tool['name']} of {server}.", DESCRIPTION_LIMIT),
        parameters=plain_schema(tool.get("inputSchema") or {}),
        is_repeatable=bool(is_listed or hints.get("readOnlyHint") or hints.get("idempotentHint")),
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
    """Return a server's instructions, cut to what a prompt has room for."""
    return _cut(text.strip(), INSTRUCTIONS_LIMIT)


def read_catalog(file: Path) -> ToolCatalog | None:
    """Return the catalog that a host has stored, None if there is none that can be read."""
    try:
        return ToolCatalog.model_validate_json(read_bytes(file))
    except (OSError, ValueError):
        return None


# --- schemas -------------------------------------------------------------------------------------


def plain_schema(schema: Mapping[str, Any]) -> JsonObject:
    """Return a tool's parameters as an object schema without references, as providers accept it.

    A choice between whole sets of parameters, which no provider accepts at the top, is left out:
    the server refuses what does not fit.
    """
    whole = _plain(dict(schema), schema, 0)
    top: JsonObject = {key: value for key, value in whole.items() if key not in CHOICES}
    top["type"] = "object"
    if not isinstance(top.get("properties"), dict):
        top["properties"] = {}
    return top


def _plain(value: Any, root: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list):
        return [_plain(item, root, depth) for item in value]
    if not isinstance(value, dict):
        return value
    if depth > SCHEMA_DEPTH:
        return {}
    if isinstance(where := value.get("$ref"), str):
        beside = {key: inner for key, inner in value.items() if key != "$ref"}
        return _plain({**_referred(where, root), **beside}, root, depth + 1)
    return {
        key: _properties(inner, root, depth)
        if key == "properties" and isinstance(inner, dict)
        else _plain(inner, root, depth + 1)
        for key, inner in value.items()
        if key not in LEFT_OUT
    }


def _properties(properties: JsonObject, root: Mapping[str, Any], depth: int) -> JsonObject:
    """Return properties, whose names may be those of keywords."""
    return {name: _plain(inner, root, depth + 1) for name, inner in properties.items()}


def _referred(where: str, root: Mapping[str, Any]) -> JsonObject:
    """Return what a reference within the schema refers to, nothing for another one."""
    found: Any = root
    for part in where.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return dict(found) if where.startswith("#/") and isinstance(found, Mapping) else {}
