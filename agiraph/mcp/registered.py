"""Registered servers: servers of tools that a program on this machine provides for its runs.

Such a server is a command that runs as this user, so it cannot be named over the HTTP API: it is a
file of the home (`system/functions/NAME.json`, mode 0600), which only its owner may write, and is
used by the runs that name it. Settings of the same name take precedence.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from agiraph.mcp.grants import Servers, granted_to_all
from agiraph.settings.mcp_servers import McpServerConfig
from agiraph.storage.files import (
    entries,
    make_private_folder,
    read_bytes,
    remove_file,
    replace_bytes,
)
from agiraph.storage.home import Home

SUFFIX = ".json"
OWNERS_ONLY = 0o600


def register(home: Path, name: str, settings: McpServerConfig, code: bytes | None = None) -> None:
    """Register a server; its process reads `code`, if given, from `code_of`. Raises OSError."""
    folder = Home(home).system.functions
    make_private_folder(folder)
    if code is not None:
        replace_bytes(code_of(home, name), code, OWNERS_ONLY)
    text = settings.model_dump_json() + "\n"
    replace_bytes(folder / f"{name}{SUFFIX}", text.encode(), OWNERS_ONLY)


def unregister(home: Path, name: str) -> None:
    """Remove a server's registration; its process ends once it is idle."""
    remove_file(Home(home).system.functions / f"{name}{SUFFIX}")
    remove_file(code_of(home, name))


def code_of(home: Path, name: str) -> Path:
    """Return the path of a registered server's code, if it has code."""
    return Home(home).system.functions / f"{name}.pickle"


def registered_names(home: Home) -> list[str]:
    """Return the names of the registered servers, sorted."""
    with suppress(OSError):
        names = (entry.name for entry in entries(home.system.functions))
        return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    return []


def with_registered(home: Home, configured: Servers, named: Iterable[str]) -> Servers:
    """Return the configured servers, and the registered servers among the names `named`."""
    found = {name: settings for name in named if (settings := _read(home, name)) is not None}
    return {**found, **configured} if found else configured


def servers_of_run(home: Home, configured: Servers, given: Sequence[str]) -> Servers:
    """Return the servers of a run, those in `given` granted to all of its entities."""
    known = with_registered(home, configured, given)
    return granted_to_all(known, [name for name in given if name in known])


def _read(home: Home, name: str) -> McpServerConfig | None:
    if name not in registered_names(home):  # it may not be a valid file name
        return None
    try:
        text = read_bytes(home.system.functions / f"{name}{SUFFIX}")
        return McpServerConfig.model_validate_json(text)
    except (OSError, ValidationError):
        return None
