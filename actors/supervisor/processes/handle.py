"""ProcessHandle: one process of a child, for its monitor, on any machine.

A LocalHandle is a process of this machine. The traces of an ended process (ExitEvidence) are read
on its machine: in its log since its start, and in the note that it keeps about itself.
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
    """The traces of a process that has ended.

    `tail` are the last lines of its stderr; `step` and `was_ready` come from its own note, None
    without a note; `oom_kills` is the number of processes that the kernel killed for lack of memory
    during its life; `is_repeated_crash`: it died over a message over which it died before. `reason`
    is the reason of its end if the kernel reports none.
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
        """The process id on its machine, None while unknown."""

    def terminate(self) -> None:
        """Send SIGTERM to the process only, so that it can end its own commands."""

    def signal_group(self, number: int) -> None:
        """Send the signal `number` to the process's group."""

    def dump_stack(self) -> None:
        """Make the process write the stacks of its threads into its log."""

    def followers(self) -> list[psutil.Process]:
        """Return the process's descendants that must be ended from this machine."""

    def noted_step(self) -> str | None:
        """Return the current step from the process's note (messages may be lost), None without."""

    def stats(self) -> ProcessStats | None:
        """Return the kernel's facts about the process, None if it has ended."""

    def evidence(self) -> ExitEvidence:
        """Return the traces that the ended process has left."""


class ProcessFiles:
    """The files that a local process writes about itself; created before the process starts."""

    def __init__(self, home: Path, address: str, incarnation: int) -> None:
        self._address = address
        self._incarnation = incarnation
        self._attempts = Home(home).system.attempts
        self._log = Home(home).system.errors(address)
        self._offset, self._killed_before = size_of(self._log), oom_kills()

    def note(self) -> ProcessNote | None:
        """Return the note of the process about itself."""
        return read_note(self._attempts, self._address, self._incarnation)

    def evidence(self) -> ExitEvidence:
        """Return the traces of the process, once it has ended."""
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
        """Send SIGTERM to the process only."""
        self._signal(signal.SIGTERM)

    def signal_group(self, number: int) -> None:
        """Send the signal `number` to the process's group."""
        kill_group(self.pid, number)

    def dump_stack(self) -> None:
        """Send the signal (SIGUSR1) that makes the process write its stacks into its log."""
        self._signal(signal.SIGUSR1)

    def followers(self) -> list[psutil.Process]:
        """Return the process's descendants, whatever their sessions."""
        return descendants(self.pid)

    def noted_step(self) -> str | None:
        """Return the current step from the process's note (messages may be lost), None without."""
        note = self._files.note()
        return None if note is None else note.step

    def stats(self) -> ProcessStats | None:
        """Return the kernel's facts about the process, None if it has ended."""
        return stats_of(self.pid)

    def evidence(self) -> ExitEvidence:
        """Return the traces that the ended process has left."""
        return self._files.evidence()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
