"""Reaper: collects every exited child and passes the exit to the owner of that process.

SIGCHLD wakes a loop of waitid until nothing is left, because one signal may represent many exits.
As the parent, the supervisor keeps the zombies, so a pid is not reused before it waits for it: a
watched process's group is killed while its leader is still a zombie, when the group's number
certainly belongs to it.

A process may exit before the spawner has reported its pid: during a spawn, exits without an owner
are stored.
"""

import asyncio
import os
import signal
from collections.abc import Callable

from actors.supervisor.processes.restarts import ProcessExit


class Reaper:
    """Collects exits and resolves the future of each watched pid; for the main thread only.

    `on_death` is called after every round that found an exit.
    """

    def __init__(self, on_death: Callable[[], None] = lambda: None) -> None:
        self._owners: dict[int, asyncio.Future[ProcessExit]] = {}
        self._unclaimed: dict[int, ProcessExit] = {}
        self._expected = 0
        self._on_death = on_death

    def listen(self) -> None:
        """Collect exits at every SIGCHLD, in the running event loop."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self.reap)

    @property
    def is_expecting(self) -> bool:
        """Whether a process may exist whose pid is not known yet."""
        return self._expected > 0

    @property
    def watched(self) -> frozenset[int]:
        """The pids of living processes that have an owner."""
        return frozenset(self._owners)

    def expect(self) -> None:
        """Store exits of unwatched pids from now on: a process is being created."""
        self._expected += 1

    def settle(self) -> None:
        """Record that the expected process is watched now, or does not exist."""
        self._expected -= 1
        if self._expected == 0:
            self._unclaimed.clear()

    def watch(self, pid: int) -> "asyncio.Future[ProcessExit]":
        """Return a future of the child's exit, which may have happened already."""
        ended: asyncio.Future[ProcessExit] = asyncio.get_running_loop().create_future()
        early = self._unclaimed.pop(pid, None)
        if early is not None:
            ended.set_result(early)
        else:
            self._owners[pid] = ended
        return ended

    def reap(self) -> None:
        """Collect every child that has exited."""
        found = False
        while (dead := self._collect()) is not None:
            found = True
            self._hand_over(*dead)
        if found:
            self._on_death()

    def _collect(self) -> tuple[int, ProcessExit] | None:
        """Return pid and exit of one ended child, whose group has been killed.

        None if there is none.
        """
        try:
            if hasattr(os, "waitid"):
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if seen is None:
                    return None
                if seen.si_pid in self._owners:
                    kill_group(seen.si_pid)
                pid, status = os.waitpid(seen.si_pid, 0)
            else:
                pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        return (pid, _exit_of(status)) if pid else None

    def _hand_over(self, pid: int, ended: ProcessExit) -> None:
        owner = self._owners.pop(pid, None)
        if owner is None:
            if self._expected:
                self._unclaimed[pid] = ended
        elif not owner.done():
            owner.set_result(ended)


def kill_group(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process group `pid`; a missing group is ignored."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # macOS returns EPERM for a group of zombies


def _exit_of(status: int) -> ProcessExit:
    code = os.waitstatus_to_exitcode(status)
    return ProcessExit(code=code) if code >= 0 else ProcessExit(signal=-code)
