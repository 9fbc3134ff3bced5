"""ProcessHandle: one process of a child, as its monitor holds it, wherever it runs.

A LocalHandle is one of this machine. What a process leaves when it ends (ExitEvidence) is read
where it ran: in its log, from its start on, and in the note that it keeps of itself.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from actors.runtime.crash_counter import ProcessNote, is_repeated_crash, read_note
from actors.runtime.processes import descendants
from actors.supervisor.processes.causes import KillReason, oom_kills, size_of, tail_of
from actors.supervisor.processes.launcher import SpawnedProcess
from actors.supervisor.processes.reaper import kill_group
from actors.supervisor.processes.restarts import ProcessExit
from actors.supervisor.processes.stats import ProcessStats, stats_of
from agiraph.storage.home import Home


@dataclass(frozen=True, slots=True)
class ExitEvidence:
    """What a process that has ended left behind.

    `tail` are the last lines of its stderr; `step` and `was_ready` are what it noted of itself,
    None if it noted nothing; `oom_kills` is how many processes the kernel killed for lack of memory
    while it lived; `is_repeated_crash`: it died over a message over which it died before. `reason`
    is why it is over if no kernel says so.
    """

    tail: tuple[str, ...] = ()
    step: str | None = None
    was_ready: bool = False
    oom_kills: int = 0
    is_repeated_crash: bool = False
    reason: KillReason | None = None


class ProcessHandle(Protocol):
    """One process; `host` is the name of its machine, empty for this one."""

    host: str
    ended: "asyncio.Future[ProcessExit]"

    @property
    def pid(self) -> int | None:
        """Its number on its machine, None while that is not known."""

    def terminate(self) -> None:
        """Send SIGTERM to it only: it has the grace to end its own commands."""

    def signal_group(self, number: int) -> None:
        """Send a signal to its group."""

    def dump_stack(self) -> None:
        """Have it write the stack of each of its threads into its log."""

    def followers(self) -> list[psutil.Process]:
        """Return its descendants, as far as they are to be ended from here."""

    def noted_step(self) -> str | None:
        """Return what it noted that it is doing: what it sent may have been lost."""

    def stats(self) -> ProcessStats | None:
        """Return what its kernel knows of it, None if it is gone."""

    def evidence(self) -> ExitEvidence:
        """Return what it left behind, once it has ended."""


class ProcessFiles:
    """What a process of this machine writes about itself; made before the process is."""

    def __init__(self, home: Path, address: str, incarnation: int) -> None:
        self._address = address
        self._incarnation = incarnation
        self._attempts = Home(home).system.attempts
        self._log = Home(home).system.errors(address)
        self._offset, self._killed_before = size_of(self._log), oom_kills()

    def note(self) -> ProcessNote | None:
        """Return what the process noted of itself."""
        return read_note(self._attempts, self._address, self._incarnation)

    def evidence(self) -> ExitEvidence:
        """Return what the process left, once it has ended."""
        note = self.note()
        return ExitEvidence(
            tail=tuple(tail_of(self._log, self._offset)),
            step=None if note is None else note.step,
            was_ready=note is not None and note.is_ready,
            oom_kills=oom_kills() - self._killed_before,
            is_repeated_crash=is_repeated_crash(self._attempts, self._address),
        )


class LocalHandle:
    """A process of this machine."""

    host = ""

    def __init__(self, spawned: SpawnedProcess, files: ProcessFiles) -> None:
        self.pid = spawned.pid
        self.ended = spawned.ended
        self._files = files

    def terminate(self) -> None:
        """Send SIGTERM to it only."""
        self._signal(signal.SIGTERM)

    def signal_group(self, number: int) -> None:
        """Send a signal to its group."""
        kill_group(self.pid, number)

    def dump_stack(self) -> None:
        """Have it write its stack, by a signal."""
        self._signal(signal.SIGUSR1)

    def followers(self) -> list[psutil.Process]:
        """Return its descendants, whatever session they moved to."""
        return descendants(self.pid)

    def noted_step(self) -> str | None:
        """Return what it noted that it is doing."""
        note = self._files.note()
        return None if note is None else note.step

    def stats(self) -> ProcessStats | None:
        """Return what the kernel knows of it."""
        return stats_of(self.pid)

    def evidence(self) -> ExitEvidence:
        """Return what it left behind."""
        return self._files.evidence()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
