"""The names by which models call a server's tools: `server__tool`, as every provider accepts."""

import hashlib
import re
from collections.abc import Iterable

from agiraph.core.mcp_settings import SEPARATOR

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
