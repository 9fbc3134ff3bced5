"""How a server's tools are called by a model: `server__tool`, as every provider takes names."""

import hashlib
import re
from collections.abc import Iterable

from agiraph.core.mcp_settings import SEPARATOR

LONGEST = 64
ODD = re.compile(r"[^A-Za-z0-9_-]")
MARK_BYTES = 3


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return for each tool the name under which a model calls it.

    A character that providers refuse becomes `_`, a name that is too long is cut; those that would
    then be the same get a mark that follows from their own name. The order plays no part.
    """
    plain: dict[str, list[str]] = {}
    for tool in sorted(set(tools)):
        plain.setdefault(_plain(server, tool), []).append(tool)
    return {
        tool: _marked(name, tool) if len(same) > 1 or _is_cut(server, tool) else name
        for name, same in plain.items()
        for tool in same
    }


def _plain(server: str, tool: str) -> str:
    return f"{server}{SEPARATOR}{ODD.sub('_', tool) or '_'}"[:LONGEST]


def _is_cut(server: str, tool: str) -> bool:
    return len(server) + len(SEPARATOR) + len(tool) > LONGEST


def _marked(name: str, tool: str) -> str:
    mark = hashlib.blake2b(tool.encode(), digest_size=MARK_BYTES).hexdigest()
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"


def is_served(name: str) -> bool:
    """Whether a tool's name, or a pattern of names, is of a server: no tool of ours holds `__`."""
    return SEPARATOR in name


def server_of(name: str) -> str:
    """Return the server that a served tool's name begins with."""
    return name.partition(SEPARATOR)[0]
