"""Launcher: the interface that starts and ends hosts of a home; `launcher_for` creates one."""

import os
from typing import Protocol

from actors.scaler.ends import HostEnd
from actors.scaler.local import LocalLauncher
from agiraph.core.errors import Refused
from agiraph.settings.config import Config
from agiraph.storage.home import Home


class Launcher(Protocol):
    """Starts and ends hosts at one kind of place; each method raises LauncherFailed."""

    async def start(self, name: str, line: str) -> None:
        """Start a host that joins by the invitation `line`."""

    async def instances(self) -> dict[str, HostEnd | None]:
        """Return the started hosts, each with the reason of its end, None while it lives."""
        ...

    async def end(self, name: str) -> None:
        """End a host, if there is one of this name."""

    async def close(self) -> None:
        """Release all resources before this process ends."""


def launcher_for(config: Config, home: Home) -> Launcher:
    """Return the launcher that the settings name. Raises Refused, OSError."""
    if config.hosts.launcher == "local":
        return LocalLauncher(home, dict(os.environ))
    if config.hosts.launcher == "kubernetes":
        from actors.scaler.kubernetes import KubernetesLauncher, find_cluster

        return KubernetesLauncher(config.scaler, home, find_cluster())
    if config.hosts.launcher == "ray":
        from actors.scaler.ray_launcher import RayLauncher

        return RayLauncher(config.scaler, home)
    raise Refused(f"there is no launcher {config.hosts.launcher}")
