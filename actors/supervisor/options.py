"""SupervisorOptions: the arguments of a supervisor, and the services of every home."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from actors.runtime.kinds import KINDS
from actors.supervisor.processes.interpreters import PrestartedProcesses
from agiraph.core.ids import (
    BROKER,
    CLOCK,
    FILES,
    HUMAN,
    RECORDER,
    ROUTER,
    SCALER,
    TRACER,
    WEB,
    Address,
    tools_address,
)
from agiraph.mcp.registered import registered_names
from agiraph.readmodel.child_register import kind_of_service
from agiraph.settings.config import Config
from agiraph.storage.home import Home

SERVICES = (ROUTER, RECORDER, BROKER, CLOCK, HUMAN)
TOOLS = "tools"
ON_DEMAND_KINDS = ("web", "files", TOOLS)
"""Kinds of services that have a process only while they are used."""
OPTIONAL = (TRACER, SCALER)
"""Services that run only if the settings request them."""
SPAWNER = Address("spawner")


def on_demand(config: Config, home: Home) -> dict[Address, str]:
    """Return the services that are started by the first request to them, with their kinds.

    `files` is for other machines: without an uplink it does not exist.
    """
    servers = map(tools_address, sorted({*config.mcp.servers, *registered_names(home)}))
    for_hosts = (FILES,) if config.hosts.listen else ()
    return {address: kind_of_service(address) for address in (WEB, *for_hosts, *servers)}


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """The arguments of a supervisor: home, settings, process kinds, and how it ends."""

    home: Path
    config: Config
    until_eof: bool = False
    until_unused: bool = False
    kinds: Mapping[str, str] = field(default_factory=lambda: KINDS)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    prestarted: PrestartedProcesses | None = None
    """Processes that were started before their launches were known."""
