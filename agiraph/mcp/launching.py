"""Launching: the command line and environment of a server's process, bare or wrapped up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agiraph.core.mcp_settings import McpServerConfig

SEEN = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """What to run: words, environment, and folder (None: any)."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str | None = None


def environment_of(settings: McpServerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a server sees: where things are, how the network is reached, and its own."""
    wanted = (*SEEN, *PROXIES, *CERTIFICATES, *(name.lower() for name in PROXIES))
    return {name: environ[name] for name in wanted if environ.get(name)} | settings.env


def in_docker(settings: McpServerConfig, environment: Mapping[str, str]) -> ServerCommand:
    """Return how a server with `wrap: docker IMAGE` is started.

    Its secrets are named in the command line, never said in it; of this machine it sees the
    folders that its settings name. The container goes when its stdin does.
    """
    image = settings.wrap.removeprefix("docker ")
    words = ["docker", "run", "--rm", "--interactive", "--init"]
    words += [] if settings.network else ["--network", "none"]
    words += [word for name in sorted(settings.env) for word in ("--env", name)]
    words += _mounts(settings.writable, "")
    words += _mounts(settings.readable, ",readonly")
    words += ["--workdir", settings.cwd] if settings.cwd else []
    return ServerCommand((*words, image, settings.command, *settings.args), dict(environment))


def _mounts(folders: Sequence[str], mode: str) -> list[str]:
    return [
        word
        for folder in folders
        for word in ("--mount", f"type=bind,source={folder},target={folder}{mode}")
    ]


def bare(settings: McpServerConfig, environment: Mapping[str, str]) -> ServerCommand:
    """Return how a server is started as it is."""
    return ServerCommand(
        (settings.command, *settings.args), dict(environment), settings.cwd or None
    )
