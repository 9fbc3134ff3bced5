"""ServerCommand: the command of a server's process: direct, in the sandbox, or in a container."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.settings.mcp_servers import McpServerConfig
from agiraph.storage.home import expanded
from agiraph.tools.sandbox.bubblewrap import SandboxContents
from agiraph.tools.sandbox.mounts import Mount
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.toolchain import toolchain

PLACES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
INHERITED = (*PLACES, *PROXIES, *CERTIFICATES, *(name.lower() for name in PROXIES))
SANDBOX_HOME = "/tmp"
"""In the sandbox a server's HOME is its own folder, which is removed with it."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command to run: its words, environment, and working folder (None: any)."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str | None = None


def command_of(settings: McpServerConfig, environ: Mapping[str, str], home: Path) -> ServerCommand:
    """Return the command of a server. Raises Refused if a required sandbox does not work.

    `home` is the home of Agiraph, of which a server sees only the folders that its settings name.
    """
    inherited = {name: environ[name] for name in INHERITED if environ.get(name)}
    environment = inherited | settings.env
    if settings.wrap.startswith("docker "):
        return _in_docker(settings, environment)
    if settings.wrap == "bwrap":
        return _in_sandbox(settings, environment, home)
    words = (settings.command, *settings.args)
    return ServerCommand(words, environment, settings.cwd or None)


def _in_docker(settings: McpServerConfig, environment: Mapping[str, str]) -> ServerCommand:
    """Return the command of a server with `wrap: docker IMAGE`.

    The command line names the server's secrets without their values; of this machine the server
    sees the folders that its settings name. The container ends when its stdin is closed.
    """
    image = settings.wrap.removeprefix("docker ")
    words = ["docker", "run", "--rm", "--interactive", "--init"]
    words += [] if settings.network else ["--network", "none"]
    words += [word for name in sorted(settings.env) for word in ("--env", name)]
    words += _docker_mounts(settings.writable, "")
    words += _docker_mounts(settings.readable, ",readonly")
    words += ["--workdir", settings.cwd] if settings.cwd else []
    return ServerCommand((*words, image, settings.command, *settings.args), environment)


def _docker_mounts(folders: Sequence[str], mode: str) -> list[str]:
    return [
        word
        for folder in folders
        for word in ("--mount", f"type=bind,source={folder},target={folder}{mode}")
    ]


def _in_sandbox(
    settings: McpServerConfig, environment: Mapping[str, str], home: Path
) -> ServerCommand:
    found = probe()
    if not found.works:
        raise Refused(f"`wrap: bwrap` cannot be kept: {found.why} ({found.advice})")
    if not settings.network and not found.has_no_network:
        raise Refused("`network: false` cannot be kept: the kernel cannot take the network away")
    mounts = [Mount(_real(folder)) for folder in settings.readable]
    mounts += [Mount(_real(folder), is_writable=True) for folder in settings.writable]
    around = tuple(mount.path for mount in mounts)
    tools = toolchain(environment.get("PATH", os.defpath), around, home=home)
    contents = SandboxContents(
        toolchain=tools,
        around=(),
        home=home,
        mounts=tuple(mounts),
        cwd=Path(settings.cwd or SANDBOX_HOME),
        has_network=settings.network,
    )
    words = (*found.words_before(contents), settings.command, *settings.args)
    return ServerCommand(
        words, {**environment, "HOME": SANDBOX_HOME, **settings.env, "PATH": tools.path}
    )


def _real(folder: str) -> Path:
    path = expanded(folder)
    if not path.exists():
        raise Refused(f"'{folder}' in writable or readable does not exist")
    return path.resolve()
