"""Targets: the running processes of a home, from the supervisor's journal."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from agiraph.messages.child import ChildSpec
from agiraph.readmodel.child_register import fold, kind_of_service
from agiraph.storage.home import Home
from agiraph.storage.journal import read_journal

SPAWNER = "spawner"
SUPERVISOR = "supervisor"
SAME_START_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """One running process; `journal` is the conversation it writes, if it writes one."""

    address: str
    kind: str
    pid: int
    journal: Path | None = None


def living(home: Path, supervisor_pid: int) -> list[FaultTarget]:
    """Return every running process of the home, including the supervisor."""
    table = fold(read_journal(Home(home).system.children))
    found = [FaultTarget(SUPERVISOR, SUPERVISOR, supervisor_pid)]
    for address, process in table.processes.items():
        if _is_alive(process.pid, process.started_at):
            row = table.rows.get(address)
            kind = row.spec.kind if row else kind_of_service(address)
            journal = _conversation(Home(home), row.spec) if row else None
            found.append(FaultTarget(address, kind, process.pid, journal))
    if not any(target.kind == SPAWNER for target in found):
        found += [FaultTarget(SPAWNER, SPAWNER, pid) for pid in _spawners(supervisor_pid)]
    return found


def _conversation(home: Home, spec: ChildSpec) -> Path | None:
    agent, _, entity = spec.address.partition("/")
    if spec.kind == "coordinator":
        return home.agent(agent).conversation
    if spec.kind == "worker":
        return home.agent(agent).run(str(spec.args["run"])).worker(entity).conversation
    return None


def _is_alive(pid: int, started_at: float) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - started_at) < SAME_START_SECONDS
    except psutil.Error:
        return False


def _spawners(supervisor_pid: int) -> list[int]:
    try:
        children = psutil.Process(supervisor_pid).children()
        return [child.pid for child in children if SPAWNER in " ".join(child.cmdline())]
    except psutil.Error:
        return []
