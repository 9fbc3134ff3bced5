"""Grants: the permissions of entities to use the tools of servers; pure.

An entity has a server's tool only if the settings grant it (to its name, its role, `coordinator` or
`*`), or if the coordinator that created it gave it the tool and the settings allow that.

An entity's process offers its model the result of `granted`. The process of the server, which runs
at home, refuses all other calls by the same function, from the home's records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.models import Worker, WorkNode
from agiraph.mcp.catalog import ServedTool, ToolCatalog, is_served, server_of
from agiraph.settings.mcp_servers import EVERYONE, McpServerConfig

CONFIGURED: Final = "the home's agiraph.yaml (docs/tools.md)"
Servers = Mapping[str, McpServerConfig]
Catalogs = Mapping[str, ToolCatalog]


def own_and_served(allowed: Sequence[str] | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return Agiraph's own tools (None: all) and the tools of servers in a list.

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
    """Return the servers with those in `named` granted to every entity.

    Raises InvalidInput for a server that does not exist, or that may not be given.
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


@dataclass(frozen=True, slots=True)
class ToolHolder:
    """An entity that may have tools of servers.

    `called` are its name and its role, `allowed` is the list of tools it was created with (None:
    none), `given` are the servers that its run has for everyone. `can_lead`: whether it may give
    tools to workers that it creates.
    """

    called: tuple[str, ...]
    allowed: Sequence[str] | None = None
    given: tuple[str, ...] = ()
    can_lead: bool = False


def worker_holder(worker: Worker, node: WorkNode | None, given: tuple[str, ...]) -> ToolHolder:
    """Return a worker as the holder of tools; the tools of its node precede its own.

    `given` are the servers that the run's specification names.
    """
    allowed = worker.tools if node is None or node.tools is None else node.tools
    return ToolHolder((worker.name, worker.role), allowed, given, worker.can_lead)


def wanted_servers(servers: Servers, holder: ToolHolder) -> tuple[str, ...]:
    """Return the servers of which an entity may have tools, sorted.

    If the entity was created with a list of tools, only that list is used.
    """
    if holder.allowed is None:
        return tuple(sorted(name for name in servers if is_granted(servers[name], *holder.called)))
    named = {server_of(name) for name in own_and_served(holder.allowed)[1]}
    return tuple(sorted(name for name in named if _may_have(servers, name, holder)))


def _may_have(servers: Servers, name: str, holder: ToolHolder) -> bool:
    settings = servers.get(name)
    return settings is not None and (settings.lend or is_granted(settings, *holder.called))


def granted(servers: Servers, catalogs: Catalogs, holder: ToolHolder) -> tuple[ServedTool, ...]:
    """Return the tools that an entity has, by server."""
    patterns = own_and_served(holder.allowed)[1]
    return tuple(
        tool
        for server in wanted_servers(servers, holder)
        if server in catalogs
        for tool in catalogs[server].tools
        if holder.allowed is None or _is_named(tool.name, patterns)
    )


def check_use(servers: Servers, server: str, holder: ToolHolder, *, to_lend: bool = False) -> None:
    """Raise Refused if an entity has no tool of a server.

    With `to_lend`, an entity that may give the server's tools to workers is accepted too.
    """
    settings = servers.get(server)
    may_lend = to_lend and holder.can_lead and settings is not None and settings.lend
    if not may_lend and server not in wanted_servers(servers, holder):
        raise Refused(f"the tools of '{server}' are not granted to {holder.called[0]}")


def check_call(
    servers: Servers, catalog: ToolCatalog, tool: ServedTool, holder: ToolHolder
) -> None:
    """Raise Refused if an entity does not have this tool."""
    if tool not in granted(servers, {catalog.server: catalog}, holder):
        raise Refused(f"the tool '{tool.name}' is not granted to {holder.called[0]}")


def check_lender(tools: Sequence[str] | None, *, may_lend: bool) -> None:
    """Raise InvalidInput if `tools` for a node has tools of servers, unless `may_lend`."""
    if own_and_served(tools)[1] and not may_lend:
        raise InvalidInput("tools: you cannot give tools of servers (only who may lead can)")


def check_lent(servers: Servers, catalogs: Catalogs, allowed: Sequence[str], *called: str) -> None:
    """Raise InvalidInput for a server's tool that cannot be given to an entity with these names.

    Any tool of a server that is not in `catalogs` is accepted, no tool of a server with a problem.
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
