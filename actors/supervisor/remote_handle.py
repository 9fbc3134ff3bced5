"""RemoteHandle: a process of a child on another machine, known by the reports of its host."""

import asyncio
import signal
from collections.abc import Callable

import psutil

from actors.supervisor.processes.causes import LINE_LIMIT, TAIL_LINES, KillReason
from actors.supervisor.processes.handle import ExitEvidence
from actors.supervisor.processes.launcher import EXIT_NOT_MADE
from actors.supervisor.processes.restarts import ProcessExit
from actors.supervisor.processes.stats import ProcessStats
from agiraph.core.ids import Address
from agiraph.messages.host import ExitedOnHost, HostProcess, SignalOnHost
from agiraph.storage.disk_space import WAITS

MOST_MISSING = 2
GIVEN_UP_MISSING = 6
PROBE = 0


class RemoteHandle:
    """A process on `host`; the handle exists before the host has confirmed the start.

    `post` sends its host a message, which may be lost: a kill is repeated at each renewal.
    """

    def __init__(
        self, host: str, address: str, incarnation: int, post: Callable[[SignalOnHost], None]
    ) -> None:
        self.host = host
        self.address = Address(address)
        self.incarnation = incarnation
        self.pid: int | None = None
        self.ended: asyncio.Future[ProcessExit] = asyncio.get_running_loop().create_future()
        self.may_still_run = True
        self._post = post
        self._stats: ProcessStats | None = None
        self._evidence = ExitEvidence()
        self.is_killed = self._waits_for_room = False
        self._given_up = ""
        self._missing = 0

    def terminate(self) -> None:
        """Send SIGTERM: on the host it goes to the whole group."""
        self.signal_group(signal.SIGTERM)

    def signal_group(self, number: int) -> None:
        """Ask the host to send the signal `number` to the process's group."""
        if number == signal.SIGKILL and not self.is_killed:
            self.is_killed, self._missing = True, 0
        self._post(SignalOnHost(address=self.address, incarnation=self.incarnation, signal=number))

    def give_up(self, reason: str) -> None:
        """Kill the process for a reason of its machine, which counts against no restart limit."""
        self._given_up = reason
        self.signal_group(signal.SIGKILL)

    def dump_stack(self) -> None:
        """Ask the host to make the process write its stacks into its log there."""
        self.signal_group(signal.SIGUSR1)

    def followers(self) -> list[psutil.Process]:
        """Return []: the host ends the process's descendants."""
        return []

    def noted_step(self) -> str | None:
        """Return WAITS if the host reports that the process waits for disk space, else None."""
        return WAITS if self._waits_for_room else None

    def stats(self) -> ProcessStats | None:
        """Return the facts about the process that its host reported last."""
        return self._stats

    def evidence(self) -> ExitEvidence:
        """Return the traces of the ended process that its host reported."""
        return self._evidence

    # --- reports of its host --------------------------------------------------------------------

    def runs(self, process: HostProcess) -> None:
        """Record the host's report that it runs the process; repeat a requested kill."""
        self._missing, self.pid = 0, process.pid
        self._waits_for_room = process.waits_for_room
        self._stats = ProcessStats(process.started_at, process.cpu_seconds, process.memory_bytes)
        if self.is_killed:
            self.signal_group(signal.SIGKILL)

    def is_not_listed(self) -> None:
        """Record that the host's report lacks the process; ask for its exit if that persists.

        A host that does not answer that request either does not run the process.
        """
        self._missing += 1
        was_started = self.pid is not None or self.is_killed
        if was_started and self._missing >= GIVEN_UP_MISSING:
            self.lost(f"its machine '{self.host}' does not run it any more")
        elif was_started and self._missing >= MOST_MISSING:
            self.signal_group(PROBE)

    def exited(self, body: ExitedOnHost) -> None:
        """Record the exit that the host reports; without a code the host itself has restarted."""
        self._evidence = ExitEvidence(
            tail=tuple(line[:LINE_LIMIT] for line in body.tail[-TAIL_LINES:]),
            step=body.step[:LINE_LIMIT] or None,
            was_ready=body.was_ready,
            oom_kills=body.oom_kills,
            is_repeated_crash=body.is_repeated_crash,
        )
        if self._given_up:
            self.lost(self._given_up)
        elif body.exit_code is None and body.signal is None:
            self.lost(f"its machine '{self.host}' does not run it any more")
        else:
            self._end(ProcessExit(code=body.exit_code, signal=body.signal))

    def lost(self, reason: str, *, may_still_run: bool = False) -> None:
        """Count the process as ended because of its machine, against no restart limit."""
        self._end_for(KillReason("host_lost", reason), ProcessExit(), may_still_run)

    def not_made(self, reason: str) -> None:
        """Record that the host refused to start the process."""
        self._end_for(KillReason("not_made", reason), ProcessExit(code=EXIT_NOT_MADE), False)

    def _end_for(self, reason: KillReason, ended: ProcessExit, may_still_run: bool) -> None:
        left = self._evidence
        self._evidence = ExitEvidence(left.tail, left.step, left.was_ready, reason=reason)
        self._end(ended, may_still_run)

    def _end(self, ended: ProcessExit, may_still_run: bool = False) -> None:
        if not self.ended.done():
            self.may_still_run = may_still_run
            self.ended.set_result(ended)
