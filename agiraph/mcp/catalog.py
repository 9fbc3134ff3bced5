"""ToolCatalog: the tools of a server, as its host reports them and stores them in a file.

Models call a server's tools by names that every provider accepts: `server__tool`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import Field

from agiraph.core.naming import error_line
from agiraph.core.record import Record
from agiraph.mcp.mending import LeftOut
from agiraph.mcp.schemas import JsonObject, parameters_of
from agiraph.settings.mcp_servers import SEPARATOR, McpServerConfig
from agiraph.storage.files import read_bytes

LONGEST = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
DIGEST_BYTES = 3


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return for each tool the name by which a model calls it; their order has no influence.

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
    """Whether a name or pattern denotes an MCP server's tools: it contains `__`."""
    return SEPARATOR in name


def server_of(name: str) -> str:
    """Return the server at the beginning of a served tool's name."""
    return name.partition(SEPARATOR)[0]


DESCRIPTION_LIMIT = 1024
"""The longest description that all providers accept."""
INSTRUCTIONS_LIMIT = 2000
LONGEST_OWN_NAME = 256
"""The longest name that a server may give to a tool; the protocol advises 128."""
MOST_TOOLS = 200
MOST_NAMED = 50
READ_RESOURCE = "@read_resource"
GET_PROMPT = "@get_prompt"
"""Tools that we make from a server's resources and prompts; no tool of a server begins with `@`."""

PARTIAL = "(Its parameters are shown in part; the server knows more.)"


class ServedTool(Record):
    """One tool of a server. A model calls it by `name`, its server by `tool`.

    `renamed` maps the names of parameters as models see them to the server's names, if they differ.
    """

    name: str
    server: str
    tool: str
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    is_repeatable: bool = False
    renamed: dict[str, str] = Field(default_factory=dict)


class ToolCatalog(Record):
    """The tools of one server; `problem` is why they are not known, '' if they are known.

    `said` is the server's own text about the problem, for people: no prompt contains it.
    `left_out` are its tools that are not offered. `settings` is the fingerprint of its settings at
    that time, `found_at` epoch seconds.
    """

    server: str
    settings: str = ""
    title: str = ""
    version: str = ""
    instructions: str = ""
    tools: tuple[ServedTool, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    problem: str = ""
    said: str = ""
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
) -> tuple[tuple[ServedTool, ...], tuple[LeftOut, ...]]:
    """Return a server's tools sorted by name, and its tools that are left out.

    `tools` are MCP's own objects, as the server listed them.
    """
    listed: dict[str, Mapping[str, Any]] = {}
    left_out: list[LeftOut] = []
    for tool in tools:
        name = str(tool["name"])
        if listed.get(name) == tool:
            continue  # a page that was listed twice
        if len(name) > LONGEST_OWN_NAME:
            why = f"its name is longer than {LONGEST_OWN_NAME} characters"
            left_out.append(LeftOut(name=error_line(name), why=why))
        elif name in listed:
            why = "another tool has the same name"
            left_out.append(LeftOut(name=error_line(name), why=why))
        elif any(fnmatchcase(name, pattern) for pattern in settings.only):
            listed[name] = tool
    made = [READ_RESOURCE] if has_resources else []
    made += [GET_PROMPT] if has_prompts else []
    names = tool_names(server, [*listed, *(name.removeprefix("@") for name in made)])
    found = [_served(server, settings, tool, names[name]) for name, tool in listed.items()]
    for name in made:
        plain = name.removeprefix("@")
        shown = names[plain] if plain not in listed else f"{names[plain]}_of_server"
        found.append(_made(server, name, shown))
    found.sort(key=lambda tool: tool.name)
    too_many = f"a server may have {MOST_TOOLS} tools: choose with `only` in its settings"
    left_out += [LeftOut(name=tool.name, why=too_many) for tool in found[MOST_TOOLS:]]
    return tuple(found[:MOST_TOOLS]), tuple(left_out)


def _served(
    server: str, settings: McpServerConfig, tool: Mapping[str, Any], name: str
) -> ServedTool:
    hints = tool.get("annotations") or {}
    about = str(tool.get("description") or tool.get("title") or hints.get("title") or "").strip()
    is_listed = any(fnmatchcase(str(tool["name"]), pattern) for pattern in settings.repeatable)
    parameters = parameters_of(tool.get("inputSchema"))
    room = DESCRIPTION_LIMIT - len(PARTIAL) - 1 if parameters.is_partial else DESCRIPTION_LIMIT
    described = _cut(about or f"The tool {tool['name']} of {server}.", room)
    return ServedTool(
        name=name,
        server=server,
        tool=str(tool["name"]),
        description=f"{described} {PARTIAL}" if parameters.is_partial else described,
        parameters=parameters.schema,
        is_repeatable=bool(is_listed or hints.get("readOnlyHint") or hints.get("idempotentHint")),
        renamed=parameters.renamed,
    )


def _made(server: str, tool: str, name: str) -> ServedTool:
    if tool == READ_RESOURCE:
        described = f"Read a resource of {server} by its URI; without one, list them all."
        properties: JsonObject = {"uri": {"type": "string", "description": "the resource's URI"}}
    else:
        described = f"Get a prompt of {server} by its name; without one, list them all."
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
    """Return a server's instructions, cut to their limit in a prompt."""
    return _cut(text.strip(), INSTRUCTIONS_LIMIT)


def in_words(left_out: Iterable[LeftOut]) -> str:
    """Return the names of the tools left out, by their reason; '' if all are offered."""
    names: dict[str, list[str]] = {}
    for one in left_out:
        names.setdefault(one.why, []).append(one.name)
    return "; ".join(f"{_named(some)} ({why})" for why, some in names.items())


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def read_catalog(file: Path) -> ToolCatalog | None:
    """Return the catalog that a host has stored, None if the file is missing or unreadable."""
    try:
        return ToolCatalog.model_validate_json(read_bytes(file))
    except (OSError, ValueError):
        return None
