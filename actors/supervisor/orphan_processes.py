"""OrphanProcesses: kills every descendant that outlives its actor, whatever its session.

On Linux an orphan re-parents to the supervisor, which is a subreaper: every child of the supervisor
without an owner is an orphan. It is killed a moment after it was first seen: a command that was
about to end may leave its outcome for its actor's next incarnation. Leftovers of a killed
supervisor are identified by (boot, pid, start time), never by pid alone.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from actors.runtime.processes import LINGER_SECONDS, descendants, end_commands, is_alive, kill_all
from actors.supervisor.processes.reaper import Reaper, kill_group
from agiraph.readmodel.child_register import ProcessStarted

BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
START_SLACK_SECONDS = 0.05
GONE_SECONDS = 2.0
KILL_AGAIN_SECONDS = 0.25


def boot_id() -> str:
    """Return the id of this boot of the machine."""
    try:
        return BOOT_FILE.read_text().strip()  # plain: /proc
    except OSError:
        return f"boot-{psutil.boot_time():.0f}"


def started_at(pid: int) -> float:
    """Return when a process began (Unix time of the kernel), 0 if it has ended."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


class OrphanProcesses:
    """The orphans, children that `reaper` does not watch, and since when each is known."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper
        self._since: dict[psutil.Process, float] = {}
        self._next: asyncio.TimerHandle | None = None
        self.on_killed: Callable[[int], None] = lambda count: None

    def kill(self) -> None:
        """Kill orphans that are known for long enough, now and again until none is left."""
        loop = asyncio.get_running_loop()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        killed, is_more = self.kill_due(loop.time())
        if killed:
            self.on_killed(killed)
        if is_more:
            self._next = loop.call_later(KILL_AGAIN_SECONDS, self.kill)

    def kill_due(self, now: float, linger_seconds: float = LINGER_SECONDS) -> tuple[int, bool]:
        """Kill the orphans known for long enough, with all their descendants.

        Returns the number of killed processes, and whether to check again: some orphans may linger,
        or a process is being created whose pid is not known yet (then nothing is killed, because
        any orphan might be that process).
        """
        if self._reaper.is_expecting:
            return 0, True
        present = [child for child in _children() if child.pid not in self._reaper.watched]
        self._since = {child: self._since.get(child, now) for child in present}
        due = [child for child, since in self._since.items() if now - since >= linger_seconds]
        victims = [process for orphan in due for process in (orphan, *descendants(orphan.pid))]
        kill_all(victims)
        return len(victims), len(due) < len(present)


def _children() -> list[psutil.Process]:
    try:
        children = psutil.Process().children()
    except psutil.Error:
        return []
    return [child for child in children if is_alive(child)]


def kill_leftovers(home: Path, processes: Iterable[ProcessStarted]) -> list[int]:
    """Kill the running processes of an earlier supervisor of this home; return the pids."""
    here = boot_id()
    left = [found for began in processes if (found := _same_process(began, here)) is not None]
    for process in left:
        kill_group(process.pid)
    kill_all(left)
    _wait_dead(left)
    return [process.pid for process in left] + end_commands(home)


def _wait_dead(victims: list[psutil.Process]) -> None:
    """Wait briefly for killed processes to end, before new processes are started."""
    deadline = time.monotonic() + GONE_SECONDS
    while any(map(is_alive, victims)) and time.monotonic() < deadline:
        time.sleep(0.005)


def _same_process(began: ProcessStarted, boot: str) -> psutil.Process | None:
    if began.boot != boot or not began.started_at:
        return None
    try:
        process = psutil.Process(began.pid)
        if abs(process.create_time() - began.started_at) > START_SLACK_SECONDS:
            return None
    except psutil.Error:
        return None
    return process if is_alive(process) else None
