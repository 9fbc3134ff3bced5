"""Launcher: what starts and ends the hosts of a home, somewhere; `launcher_for` makes it."""

import os
from typing import Protocol

from actors.scaler.ends import HostEnd
from actors.scaler.local import LocalLauncher
from agiraph.core.errors import Refused
from agiraph.settings.config import Config
from agiraph.storage.home import Home


class Launcher(Protocol):
    """Where hosts are started; each method raises LauncherFailed."""

    async def start(self, name: str, line: str) -> None:
        """Start a host that joins by this invitation."""

    async def instances(self) -> dict[str, HostEnd | None]:
        """Return what was started and not ended, with why it has ended if it has."""
        ...

    async def end(self, name: str) -> None:
        """End a host, if there is one of this name."""

    async def close(self) -> None:
        """Let go: this process ends."""


def launcher_for(config: Config, home: Home) -> Launcher:
    """Return the launcher that the settings name; raises Refused, OSError."""
    if config.hosts.launcher == "local":
        return LocalLauncher(home, dict(os.environ))
    if config.hosts.launcher == "kubernetes":
        from actors.scaler.kubernetes import KubernetesLauncher, find_cluster

        return KubernetesLauncher(config.scaler, home, find_cluster())
    if config.hosts.launcher == "ray":
        from actors.scaler.ray_launcher import RayLauncher

        return RayLauncher(config.scaler, home)
    raise Refused(f"there is no launcher {config.hosts.launcher}")
