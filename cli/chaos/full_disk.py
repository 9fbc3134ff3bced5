"""FullDiskRun: a team works on a small disk that is filled and freed repeatedly, or once for long.

The disk is a tmpfs in a mount namespace of its own, where the experiment runs as a further process:
no other process sees it, and it disappears with that process. That takes Linux, `unshare`, and
either root or user namespaces.
"""

import os
import random
import subprocess
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from agiraph.core.errors import InvalidInput, Unavailable
from agiraph.core.models import ENDED_AGENT
from agiraph.http.own_supervisor import OwnSupervisor
from agiraph.storage.files import open_file, remove_file, write_all
from cli.chaos.chaos_run import LOOK_SECONDS, ChaosRun, Report, status_of
from cli.chaos.schedule import KINDS, strikes
from cli.chaos.targets import SUPERVISOR, living

SIZE = "24m"
STRIKE = "full disk"
PIECES = (bytes(64 * 1024), bytes(512))
PAUSE_SECONDS = (0.05, 0.6)
FULL_SECONDS = (0.2, 1.2)
TEAM = ("coordinator", "worker")
LEFT_BYTES = 5 * 4096
WORKERS_WITHIN_SECONDS = 30.0
MOUNT_AND_GO = 'mount -t tmpfs -o "size=$0" tmpfs "$1" && shift && exec "$@"'


def run_on_small_disk(folder: Path, command: Sequence[str]) -> int:
    """Run a command where a small disk is mounted on `folder`; return its exit code.

    Raises InvalidInput where mounting is not permitted.
    """
    apart = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Umr"]
    try:
        is_allowed = subprocess.run([*apart, "true"], check=False, capture_output=True)
    except OSError:
        is_allowed = None
    if is_allowed is None or is_allowed.returncode != 0:
        raise InvalidInput(
            "--full-disk mounts a small disk, which needs Linux with `unshare` (util-linux), and "
            "root or user namespaces; nothing can be mounted here"
        )
    inner = [*apart, "sh", "-c", MOUNT_AND_GO, SIZE, str(folder), *command]
    return subprocess.run(inner, check=False).returncode


class FullDiskRun(ChaosRun):
    """The chaos run whose faults are times without free space on the disk under `folder`.

    With `full_seconds` each of these times lasts that long: the team's processes are killed at the
    beginning, and all processes except the supervisor after half of the time. Each kill frees a few
    pages, so that the processes can be started, but find no room for their first write.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        noise: float,
        report: Report,
        full_seconds: float | None = None,
    ) -> None:
        super().__init__(folder, strikes(seed), noise=noise, report=report)
        self._dice = random.Random(seed)
        self._filler = folder / "filler"
        self._full_seconds = full_seconds

    def _disturb(self, supervisor: OwnSupervisor, agent: str, left: int) -> int:
        """Fill the disk at times until the run has ended; return how many of `left` remain."""
        while left > 0:
            if self._full_seconds is not None:
                self._await_workers(supervisor)
            time.sleep(self._dice.uniform(*PAUSE_SECONDS))
            if status_of(supervisor.home, agent) in ENDED_AGENT:
                return left
            self._fill()
            try:
                if self._full_seconds is None:
                    time.sleep(self._dice.uniform(*FULL_SECONDS))
                else:
                    self._kill(supervisor, TEAM)
                    time.sleep(self._full_seconds / 2)
                    self._kill(supervisor, KINDS)
                    time.sleep(self._full_seconds / 2)
            finally:
                remove_file(self._filler)
            self.report.strikes[STRIKE] += 1
            left -= 1
        return left

    def _await_workers(self, supervisor: OwnSupervisor) -> None:
        """Wait until workers run, so that a fault hits the whole team. Raises Unavailable."""
        assert supervisor.pid is not None
        deadline = time.monotonic() + WORKERS_WITHIN_SECONDS
        while not any(one.kind == "worker" for one in living(supervisor.home, supervisor.pid)):
            if time.monotonic() > deadline:
                raise Unavailable("the team has no workers")
            time.sleep(LOOK_SECONDS)

    def _kill(self, supervisor: OwnSupervisor, kinds: Collection[str]) -> None:
        """Kill every process of these kinds, except the supervisor."""
        assert supervisor.pid is not None
        for target in living(supervisor.home, supervisor.pid):
            if target.kind in kinds and target.kind != SUPERVISOR:
                self._hit(target, "kill")
                self.report.strikes[f"{target.kind} kill"] += 1
        with suppress(OSError):
            os.truncate(self._filler, os.stat(self._filler).st_size - LEFT_BYTES)  # plain: ours

    def _fill(self) -> None:
        """Write until the disk is full."""
        fd = open_file(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for piece in PIECES:
                with suppress(OSError):
                    while True:
                        write_all(fd, piece)
        finally:
            os.close(fd)
