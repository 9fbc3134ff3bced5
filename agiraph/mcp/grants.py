"""Grants: which entity may use which tools of which server; pure.

An entity has a server's tool only if the settings grant it (to its name, its role, `coordinator`
or `*`), or if the coordinator that created it gave it the tool and the settings allow that.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.mcp_settings import EVERYONE, McpServerConfig
from agiraph.mcp.catalog import ServedTool, ToolCatalog, is_served, server_of

CONFIGURED: Final = "the home's agiraph.yaml (docs/mcp.md)"
Servers = Mapping[str, McpServerConfig]
Catalogs = Mapping[str, ToolCatalog]


def own_and_served(allowed: Sequence[str] | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return which of Agiraph's own tools (None: all) and which of servers a list names.

    A list that names only MCP tools gives them in addition to all own tools.
    """
    if allowed is None:
        return None, ()
    served = tuple(name for name in allowed if is_served(name))
    own = tuple(name for name in allowed if not is_served(name))
    return (own if own or not served else None), served


def is_granted(settings: McpServerConfig, *called: str) -> bool:
    """Whether the settings grant a server's tools to one of these names or roles."""
    names = {name.strip().casefold() for name in called if name}
    return any(one == EVERYONE or one.strip().casefold() in names for one in settings.grant)


def granted_to_all(servers: Servers, named: Iterable[str]) -> Servers:
    """Return the servers, those of these names granted to everyone whose settings lend them.

    Raises InvalidInput for one that there is not, or that may not be given.
    """
    everyones = dict(servers)
    for name in named:
        if name not in servers:
            error = unknown("server of tools", name, sorted(servers))
            raise InvalidInput(f"{error}; servers are set up under mcp.servers in {CONFIGURED}")
        if not (servers[name].lend or EVERYONE in servers[name].grant):
            raise InvalidInput(f"the tools of '{name}' may not be given: its `lend` is false")
        everyones[name] = servers[name].model_copy(update={"grant": (EVERYONE,)})
    return everyones


def wanted_servers(
    servers: Servers, allowed: Sequence[str] | None, *called: str
) -> tuple[str, ...]:
    """Return the servers whose tools an entity may have, sorted.

    `allowed` is the list of tools that it was created with; if there is one, only that counts.
    """
    if allowed is None:
        return tuple(sorted(name for name in servers if is_granted(servers[name], *called)))
    named = {server_of(name) for name in own_and_served(allowed)[1]}
    return tuple(sorted(name for name in named if name in servers))


def granted(
    servers: Servers, catalogs: Catalogs, allowed: Sequence[str] | None, *called: str
) -> tuple[ServedTool, ...]:
    """Return the tools that an entity has, by server."""
    patterns = own_and_served(allowed)[1]
    found: list[ServedTool] = []
    for server in wanted_servers(servers, allowed, *called):
        may = servers[server].lend or is_granted(servers[server], *called)
        catalog = catalogs.get(server)
        if catalog is None or not may:
            continue
        found += [
            tool for tool in catalog.tools if allowed is None or _is_named(tool.name, patterns)
        ]
    return tuple(found)


def check_lent(servers: Servers, catalogs: Catalogs, allowed: Sequence[str], *called: str) -> None:
    """Raise InvalidInput for a server's tool that cannot be given to an entity with these names.

    Any tool of a server that is not in `catalogs` is accepted, and none of one with a problem.
    """
    for name in own_and_served(allowed)[1]:
        server = server_of(name)
        if server not in servers:
            raise unknown("server of tools", server, sorted(servers))
        if not (servers[server].lend or is_granted(servers[server], *called)):
            raise InvalidInput(f"the tools of '{server}' may not be given: its `lend` is false")
        catalog = catalogs.get(server)
        if catalog is not None and catalog.problem:
            raise InvalidInput(f"the tool '{name}' cannot be given now: {catalog.problem}")
        if catalog is not None and not any(_is_named(t.name, (name,)) for t in catalog.tools):
            if why := [one.why for one in catalog.left_out if one.name == name]:
                raise InvalidInput(f"the tool '{name}' is left out: {why[0]}")
            raise unknown("tool", name, [tool.name for tool in catalog.tools])


def _is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
