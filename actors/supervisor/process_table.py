"""Rows of the process table: what the kernel and the keepers know about each process."""

import os

from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.launcher import ForkLauncher
from actors.supervisor.options import SPAWNER
from actors.supervisor.process_stats import measures_of
from agiraph.core.ids import SUPERVISOR
from agiraph.messages import ChildInfo


def row_of(monitor: ChildMonitor, incarnation: int) -> ChildInfo:
    """Return the row of a child."""
    process = monitor.process
    info = ChildInfo(
        address=monitor.spec.address,
        kind=monitor.spec.kind,
        state=monitor.state,
        incarnation=incarnation,
        restarts=monitor.restarts,
        cause=monitor.cause,
        next_start=monitor.next_start,
    )
    if process is None:
        return info
    doing = {"step": process.step, "step_since": process.step_since}
    return measured(info.model_copy(update=doing), process.spawned.pid)


def own_rows(incarnation: int, fork: ForkLauncher | None) -> list[ChildInfo]:
    """Return the rows of the supervisor itself and of the spawner, if this house has one."""
    me = ChildInfo(address=SUPERVISOR, kind="supervisor", state="ready", incarnation=incarnation)
    rows = [measured(me, os.getpid())]
    if fork is not None:
        spawner = ChildInfo(
            address=SPAWNER,
            kind="spawner",
            state=fork.state,
            restarts=fork.restarts,
            cause=fork.cause,
            next_start=fork.next_start,
        )
        rows.append(spawner if fork.pid is None else measured(spawner, fork.pid))
    return rows


def measured(info: ChildInfo, pid: int) -> ChildInfo:
    """Return the row with what the kernel knows of its process; only the pid if it is gone."""
    told = measures_of(pid)
    if told is None:
        return info.model_copy(update={"pid": pid})  # it ended a moment ago
    return info.model_copy(
        update={
            "pid": pid,
            "started_at": told.started_at,
            "cpu_seconds": told.cpu_seconds,
            "memory_bytes": told.memory_bytes,
        }
    )
