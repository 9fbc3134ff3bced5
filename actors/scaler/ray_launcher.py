"""RayLauncher: hosts as Ray actors on an existing cluster (extra `agiraph[ray]`).

Each host has its own placement group, so that Ray finds a node with the requested processors and
memory. The actor runs `agiraph-host` and reports whether that still runs. Actors are detached and
named after this home, so they outlive the scaler. All calls here block, and run in one thread.
"""

import asyncio
import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import Any, Final, TypeVar

from actors.scaler.ends import HostEnd, LauncherFailed, label_of
from agiraph.core.errors import Refused
from agiraph.core.hosts import AUTO_PREFIX
from agiraph.settings.hosts import ScalerConfig
from agiraph.storage.home import Home

COMMAND: Final = ("agiraph-host",)
ANSWER_SECONDS: Final = 3.0
NODE_DIED: Final = "node has died"
MOST_TEXT: Final = 300
END_SECONDS: Final = 5.0
Result = TypeVar("Result")


class HostRunner:
    """The actor in the cluster: one host process, in a folder of the node."""

    def __init__(self, command: Sequence[str], name: str, line: str) -> None:
        folder = self._folder = tempfile.mkdtemp(prefix=f"{name}-")
        environ = {**os.environ, "AGIRAPH_INVITATION": line, "AGIRAPH_HOST_NAME": name}
        self._process = Popen(
            (*command, "--folder", folder),
            env=environ,
            stdin=DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9),  # it dies with this process
        )

    def exit_code(self) -> int | None:
        """Return the exit code of the host, None while it runs."""
        return self._process.poll()

    def end(self) -> None:
        """End the host: SIGTERM, then SIGKILL."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)  # plain: ours, on the cluster's node


class RayLauncher:
    """Starts hosts in a cluster; raises Refused if Ray is missing or cannot be reached."""

    def __init__(
        self, settings: ScalerConfig, home: Home, command: Sequence[str] = COMMAND
    ) -> None:
        self._namespace = f"agiraph-{label_of(home)}"
        self._settings = settings
        self._command = tuple(command)
        self._handles: dict[str, Any] = {}
        self._thread = ThreadPoolExecutor(1)
        self._ray = _imported()
        # The nodes need Agiraph's command, not this module.
        self._ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        try:
            self._thread.submit(self._connect).result()
        except Exception as error:  # any exception of Ray: they have no common class
            address = settings.ray_address
            raise Refused(f"no Ray cluster at {address} (scaler.ray_address): {error}") from None

    def _connect(self) -> None:
        self._ray.init(
            address=self._settings.ray_address,
            namespace=self._namespace,
            log_to_driver=False,
            configure_logging=False,
        )

    async def start(self, name: str, line: str) -> None:
        """Request a host from Ray; the request waits there if no node has room."""
        await self._run(lambda: self._start(name, line))

    async def instances(self) -> dict[str, HostEnd | None]:
        """Return the hosts in the cluster, each with the reason of its end, None while it lives."""
        return await self._run(self._instances)

    async def end(self, name: str) -> None:
        """End a host and free its placement group."""
        await self._run(lambda: self._end(name))

    async def close(self) -> None:
        """Disconnect from the cluster; hosts stay, and the next launcher finds them."""
        await self._run(self._ray.shutdown)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Exception as error:  # any exception of Ray
            raise LauncherFailed(f"Ray: {error}") from None

    def _start(self, name: str, line: str) -> None:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        needs = {"CPU": self._settings.cpus, "memory": self._settings.memory_mb * 2**20}
        group = self._ray.util.placement_group([needs], name=name, lifetime="detached")
        self._handles[name] = (
            self._ray.remote(HostRunner)
            .options(
                name=name,
                lifetime="detached",
                num_cpus=needs["CPU"],
                memory=needs["memory"],
                max_restarts=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group),
            )
            .remote(self._command, name, line)
        )

    def _instances(self) -> dict[str, HostEnd | None]:
        """Return the end of each host with a placement group, None while the host lives.

        Only an answer of the host's actor proves that the host lives.
        """
        groups = self._ray.util.placement_group_table().values()
        return {
            group["name"]: self._end_of(group["name"], group["state"])
            for group in groups
            if group["state"] != "REMOVED" and group["name"].startswith(AUTO_PREFIX)
        }

    def _end_of(self, name: str, state: str) -> HostEnd | None:
        """Return why a host has ended, from its actor and Ray; None while it runs or waits."""
        if state == "PENDING":
            return None
        if state == "RESCHEDULING":
            return HostEnd("node_lost", "the node that it was on has died")
        errors = self._ray.exceptions
        try:
            handle = self._handles.get(name) or self._ray.get_actor(name)
            code = self._ray.get(handle.exit_code.remote(), timeout=ANSWER_SECONDS)
        except (errors.GetTimeoutError, errors.ActorUnavailableError):
            return None  # its process begins, or the node's loss is not known yet
        except (ValueError, errors.RayActorError) as error:
            text = " ".join(str(error).split())[:MOST_TEXT]
            return HostEnd("node_lost" if NODE_DIED in text else "exited", text)
        return None if code is None else HostEnd("exited", f"its process has ended with {code}")

    def _end(self, name: str) -> None:
        try:
            handle = self._handles.pop(name, None) or self._ray.get_actor(name)
            self._ray.get(handle.end.remote(), timeout=2 * END_SECONDS)
            self._ray.kill(handle)
        except (ValueError, self._ray.exceptions.RayError):
            pass  # it is dead already
        with suppress(ValueError):
            self._ray.util.remove_placement_group(self._ray.util.get_placement_group(name))


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise Refused(
            "hosts.launcher is ray, and ray is not installed: pip install 'agiraph[ray]'"
        ) from None
    return ray
