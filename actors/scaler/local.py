"""LocalLauncher: hosts as processes on the home's own machine, each in a folder below the home.

They end with this process: folders that the next process finds belong to no host.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL

from actors.runtime.linux import die_with_parent
from actors.scaler.ends import HostEnd, LauncherFailed
from agiraph.storage.files import make_private_folder, remove_tree
from agiraph.storage.home import Home

COMMAND = (sys.executable, "-P", "-m", "agiraph", "_host")
PATIENCE_SECONDS = 1.0


class LocalLauncher:
    """Starts `command` for each host. Raises OSError if the folders cannot be made."""

    def __init__(
        self, home: Home, environ: Mapping[str, str], command: Sequence[str] = COMMAND
    ) -> None:
        self._folder = home.system.machines
        self._environ = environ
        self._command = command
        self._running: dict[str, asyncio.subprocess.Process] = {}
        with suppress(FileNotFoundError):
            remove_tree(self._folder)
        make_private_folder(self._folder)

    async def start(self, name: str, line: str) -> None:
        """Start a host with the invitation `line`. Raises LauncherFailed."""
        folder = self._folder / name
        try:
            make_private_folder(folder)
            self._running[name] = await asyncio.create_subprocess_exec(
                *self._command,
                "--folder",
                str(folder),
                env={**self._environ, "AGIRAPH_INVITATION": line, "AGIRAPH_HOST_NAME": name},
                stdin=DEVNULL,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise LauncherFailed(f"{folder}: {error.strerror or error}") from None

    async def instances(self) -> dict[str, HostEnd | None]:
        """Return the started hosts, each with the reason of its end, None while it lives."""
        return {
            name: None
            if process.returncode is None
            else HostEnd("exited", f"its process has ended with {process.returncode}")
            for name, process in self._running.items()
        }

    async def end(self, name: str) -> None:
        """End a host and remove its folder."""
        process = self._running.pop(name, None)
        if process is not None and process.returncode is None:
            await _end(process)
        with suppress(OSError):
            remove_tree(self._folder / name)

    async def close(self) -> None:
        """End all hosts."""
        await asyncio.gather(*map(self.end, list(self._running)))


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process: SIGTERM, then SIGKILL; its children end with it."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
