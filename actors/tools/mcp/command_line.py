"""Command line: how a server's process is started: as it is, behind the wall, or in a container."""

import os
from collections.abc import Mapping
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.launching import ServerCommand, bare, environment_of, in_docker
from agiraph.tools.sandbox.bubblewrap import SandboxContents
from agiraph.tools.sandbox.mounts import Mount
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.toolchain import toolchain

HOME_INSIDE = "/tmp"
"""Behind the wall a server's HOME is a folder of its own that goes with it."""


def command_of(settings: McpServerConfig, environ: Mapping[str, str], home: Path) -> ServerCommand:
    """Return what starts a server; raises Refused if the wall it wants does not stand.

    `home` is the home of Agiraph, of which a server sees nothing that its settings do not name.
    """
    environment = environment_of(settings, environ)
    if settings.wrap.startswith("docker "):
        return in_docker(settings, environment)
    if settings.wrap == "bwrap":
        return _behind_wall(settings, environment, home)
    return bare(settings, environment)


def _behind_wall(
    settings: McpServerConfig, environment: Mapping[str, str], home: Path
) -> ServerCommand:
    found = probe()
    if not found.works:
        raise Refused(f"`wrap: bwrap` cannot be kept: {found.why} ({found.advice})")
    if not settings.network and not found.has_no_network:
        raise Refused("`network: false` cannot be kept: the kernel cannot take the network away")
    mounts = [Mount(_real(folder)) for folder in settings.readable]
    mounts += [Mount(_real(folder), is_writable=True) for folder in settings.writable]
    inside = SandboxContents(
        toolchain=toolchain(environment.get("PATH", os.defpath)),
        around=(),
        home=home,
        mounts=tuple(mounts),
        cwd=Path(settings.cwd or HOME_INSIDE),
        has_network=settings.network,
    )
    words = (*found.words_before(inside), settings.command, *settings.args)
    return ServerCommand(words, {**environment, "HOME": HOME_INSIDE, **settings.env})


def _real(folder: str) -> Path:
    path = Path(folder).expanduser()
    if not path.exists():
        raise Refused(f"'{folder}' in writable or readable does not exist")
    return path.resolve()
