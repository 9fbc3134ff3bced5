"""Rows of the process table: facts from the kernel and the monitors about each process."""

import os

from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.options import SPAWNER
from actors.supervisor.processes.launcher import ForkLauncher
from actors.supervisor.processes.stats import ProcessStats, stats_of
from agiraph.core.ids import SUPERVISOR
from agiraph.messages.child import ChildInfo


def child_row(monitor: ChildMonitor, incarnation: int) -> ChildInfo:
    """Return a child's row of the process table, with the kernel's facts about its process."""
    process = monitor.process
    info = ChildInfo(
        address=monitor.spec.address,
        kind=monitor.spec.kind,
        state=monitor.state,
        incarnation=incarnation,
        restarts=monitor.restarts,
        cause=monitor.cause,
        next_start=None if monitor.lacks_place else monitor.next_start,
        host="" if process is None else process.handle.host,
        faults=monitor.history.faults,
    )
    if process is None:
        return info
    doing = {"doing": process.doing, "awaits": process.awaits}
    handle = process.handle
    return with_stats(info.model_copy(update=doing), handle.pid, handle.stats())


def own_rows(incarnation: int, fork: ForkLauncher | None) -> list[ChildInfo]:
    """Return the rows of the supervisor itself and of the spawner, if this home has one."""
    me = ChildInfo(address=SUPERVISOR, kind="supervisor", state="ready", incarnation=incarnation)
    rows = [with_stats(me, os.getpid(), stats_of(os.getpid()))]
    if fork is not None:
        spawner = ChildInfo(
            address=SPAWNER,
            kind="spawner",
            state=fork.state,
            restarts=fork.restarts,
            cause=fork.cause,
            next_start=fork.next_start,
        )
        pid = fork.pid
        rows.append(spawner if pid is None else with_stats(spawner, pid, stats_of(pid)))
    return rows


def with_stats(info: ChildInfo, pid: int | None, stats: ProcessStats | None) -> ChildInfo:
    """Return a row with the kernel's facts about its process; without `stats` only the pid."""
    if stats is None:
        return info.model_copy(update={"pid": pid})  # it ended a moment ago
    return info.model_copy(
        update={
            "pid": pid,
            "started_at": stats.started_at,
            "cpu_seconds": stats.cpu_seconds,
            "memory_bytes": stats.memory_bytes,
        }
    )
