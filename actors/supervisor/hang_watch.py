"""HangWatch: kills processes that do not become ready, or whose event loop hangs."""

import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, assert_never

from actors.supervisor.child_monitor import ChildMonitor, ChildProcess
from actors.supervisor.heartbeat_monitor import (
    HeartbeatLimits,
    HeartbeatMonitor,
    Hung,
    NotReady,
    SuspectedHang,
)
from actors.supervisor.processes.causes import KillReason
from agiraph.core.models import EntityState
from agiraph.settings.config import SupervisorConfig
from agiraph.storage.disk_space import WAITS, has_room

WAITS_FOR_ROOM = EntityState(state="waiting_for_room", step=WAITS)


class HangWatch:
    """The heartbeats of all children, and the reactions to their absence.

    `beat` sends the supervisor's own heartbeat, `report` an event of a child; `is_silent` returns
    whether a host is silent, so that its processes cannot be heard either.
    """

    def __init__(
        self,
        settings: SupervisorConfig,
        home: Path,
        monitors: Mapping[str, ChildMonitor],
        *,
        beat: Callable[[], None],
        report: Callable[[ChildMonitor, str, dict[str, Any]], None],
        run: Callable[[Coroutine[Any, Any, None]], None],
        is_silent: Callable[[str], bool],
        log: Any,
    ) -> None:
        self._home = home
        self._monitors = monitors
        self._beat = beat
        self._report = report
        self._run = run
        self._is_silent = is_silent
        self._log = log
        self.heartbeats = HeartbeatMonitor(
            HeartbeatLimits(settings.beat_seconds, settings.suspect_seconds, settings.hung_seconds)
        )

    def check(self, now: float) -> None:
        """Act on processes that have exceeded a limit; `now` is monotonic seconds."""
        self._beat()
        for finding in self.heartbeats.check(now, self._is_excused):
            monitor = self._monitors.get(finding.address)
            process = monitor.process if monitor is not None else None
            if monitor is None or process is None or process.incarnation != finding.incarnation:
                continue
            match finding:
                case SuspectedHang(seconds=seconds):
                    self._suspect(monitor, process, seconds)
                case Hung(seconds=seconds):
                    text = f"hung: its event loop had not turned for {seconds:.0f} s"
                    self._run(monitor.kill_for(KillReason("hung", text)))
                case NotReady(limit=limit):
                    text = f"not ready within {limit:g} s"
                    self._run(monitor.kill_for(KillReason("not_ready", text)))
                case _:
                    assert_never(finding)

    def _is_excused(self, address: str) -> bool:
        """Whether a process is silent because its machine is out of reach or its disk is full."""
        monitor = self._monitors.get(address)
        process = monitor.process if monitor is not None else None
        if monitor is None or process is None:
            return False
        is_out_of_reach = bool(process.handle.host) and self._is_silent(process.handle.host)
        return is_out_of_reach or self._waits_for_room(monitor, process)

    def _waits_for_room(self, monitor: ChildMonitor, process: ChildProcess) -> bool:
        """Whether a process waits for room on a full disk, by its noted step; record that state."""
        if monitor.last_step(process) != WAITS and has_room(self._home):
            return False
        if process.doing.state != WAITS_FOR_ROOM.state:
            self._log.warning(f"the disk is full: it {WAITS}", child=monitor.address)
        process.doing = WAITS_FOR_ROOM.after(process.doing, time.time())
        return True

    def note_who_waits_for_room(self) -> None:
        """Record the state of processes that wait for room on the disk and cannot report that."""
        is_full = not has_room(self._home)
        for monitor in self._monitors.values():
            process = monitor.process
            may_wait = process is not None and (is_full or process.handle.host)
            if process is not None and may_wait and monitor.last_step(process) == WAITS:
                process.doing = WAITS_FOR_ROOM.after(process.doing, time.time())

    def recovered(self, address: str) -> None:
        """Log and report that the event loop of a suspect process runs again."""
        self._log.info("event loop turns again", child=address)
        self._report(self._monitors[address], "entity.recovered", {})

    def _suspect(self, monitor: ChildMonitor, process: ChildProcess, seconds: float) -> None:
        """Report a suspect process, and send it the signal to write its stacks into its log."""
        step = monitor.last_step(process)
        self._log.warning("suspect", child=monitor.address, seconds=seconds, step=step)
        self._report(monitor, "entity.suspect", {"seconds": round(seconds, 1), "step": step})
        process.handle.dump_stack()
