"""Rows of the process table: what the kernel and the keepers know about each process."""

import os

import psutil

from actors.supervisor.keeper import Keeper
from actors.supervisor.options import SPAWNER
from agiraph.ids import SUPERVISOR
from agiraph.messages import ChildInfo


def row_of(keeper: Keeper, incarnation: int) -> ChildInfo:
    """Return the row of a child."""
    process = keeper.process
    info = ChildInfo(
        address=keeper.spec.address,
        kind=keeper.spec.kind,
        state=keeper.state,
        incarnation=incarnation,
        restarts=keeper.restarts,
        cause=keeper.cause,
    )
    if process is None:
        return info
    doing = {"step": process.step, "step_since": process.step_since}
    return measured(info.model_copy(update=doing), process.spawned.pid)


def own_rows(incarnation: int, spawner_pid: int | None) -> list[ChildInfo]:
    """Return the rows of the supervisor itself and of the spawner, if there is one."""
    me = ChildInfo(address=SUPERVISOR, kind="supervisor", state="ready", incarnation=incarnation)
    rows = [measured(me, os.getpid())]
    if spawner_pid is not None:
        spawner = ChildInfo(address=SPAWNER, kind="spawner", state="ready")
        rows.append(measured(spawner, spawner_pid))
    return rows


def measured(info: ChildInfo, pid: int) -> ChildInfo:
    """Return the row with what the kernel knows of its process; only the pid if it is gone."""
    found: dict[str, object] = {"pid": pid}
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            found |= {
                "started_at": process.create_time(),
                "cpu_seconds": cpu.user + cpu.system,
                "memory_bytes": memory.rss,
            }
    except psutil.Error:
        pass  # it ended a moment ago
    return info.model_copy(update=found)
