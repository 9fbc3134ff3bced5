"""Checking: what can be told of a server before it is started: its variables, its program."""

import shutil
from collections.abc import Mapping

from agiraph.core.errors import Refused
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.secrets import filled_in

DOCKER = "docker "


def why_unusable(name: str, settings: McpServerConfig, known: Mapping[str, str]) -> str:
    """Return why a server could not be started, '' if nothing speaks against it.

    `known` holds the values of variables, PATH among them.
    """
    try:
        filled = filled_in(name, settings, known)
    except Refused as error:
        return str(error)
    if filled.url:
        return ""
    program = "docker" if filled.wrap.startswith(DOCKER) else filled.command
    if shutil.which(program, path=known.get("PATH")) is None:
        return f"server '{name}': the program '{program}' is not installed"
    return ""
