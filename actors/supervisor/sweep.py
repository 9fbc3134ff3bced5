"""Sweeping: no descendant outlives its actor, whatever session it moved to.

On Linux an orphan re-parents to the supervisor, a subreaper: every child of ours that has no owner
is a stray. Leftovers of a supervisor that was killed are known by (boot, pid, start time), never
by pid alone; shells of a model by the variable that names their run.
"""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from actors.supervisor.reaper import Reaper, kill_group
from actors.supervisor.table import ProcessBegan

BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
START_SLACK_SECONDS = 0.05
GONE_SECONDS = 2.0
SHELL_MARK = "AGIRAPH_RUN"


def boot_id() -> str:
    """Return what tells this boot of the machine from every other."""
    try:
        return BOOT_FILE.read_text().strip()
    except OSError:
        return f"boot-{psutil.boot_time():.0f}"


def started_at(pid: int) -> float:
    """Return when a process began, by the kernel's word; 0 if it is gone."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process that exist now."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill each of these processes that is still the same one."""
    for process in processes:
        try:
            process.kill()
        except psutil.Error:
            pass  # gone, or another process by now


def sweep_strays(reaper: Reaper) -> int:
    """Kill every child of ours without an owner and all it descends to; return how many.

    Does nothing while a process is on its way whose pid is not known yet.
    """
    if reaper.is_expecting:
        return 0
    strays = [child for child in _children() if child.pid not in reaper.watched]
    victims = [process for stray in strays for process in (stray, *descendants(stray.pid))]
    kill_all(victims)
    return len(victims)


def _children() -> list[psutil.Process]:
    try:
        children = psutil.Process().children()
    except psutil.Error:
        return []
    return [child for child in children if _is_alive(child)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def sweep_leftovers(home: Path, processes: Iterable[ProcessBegan]) -> list[int]:
    """Kill what an earlier supervisor of this home left running; return the pids."""
    here = boot_id()
    left = [found for began in processes if (found := _same_process(began, here)) is not None]
    victims = [one for process in left for one in (process, *descendants(process.pid))]
    victims += _shells_of(home)
    for process in left:
        kill_group(process.pid)
    kill_all(victims)
    _wait_gone(victims)
    return [process.pid for process in victims]


def _wait_gone(victims: list[psutil.Process]) -> None:
    """Wait (a little) for killed processes, so that the new ones do not meet them."""
    deadline = time.monotonic() + GONE_SECONDS
    while any(map(_is_alive, victims)) and time.monotonic() < deadline:
        time.sleep(0.005)


def _same_process(began: ProcessBegan, boot: str) -> psutil.Process | None:
    if began.boot != boot or not began.started_at:
        return None
    try:
        process = psutil.Process(began.pid)
        if abs(process.create_time() - began.started_at) > START_SLACK_SECONDS:
            return None
    except psutil.Error:
        return None
    return process if _is_alive(process) else None


def _shells_of(home: Path) -> list[psutil.Process]:
    """Return commands of models that work in this home though their actor is gone."""
    if sys.platform != "linux":
        return []
    folders = {str(home), os.path.realpath(home)}
    agents = tuple(os.path.join(folder, "agents") + os.sep for folder in folders)
    return [process for process in psutil.process_iter() if _is_shell_of(process, agents)]


def _is_shell_of(process: psutil.Process, agents: tuple[str, ...]) -> bool:
    try:
        return process.environ().get(SHELL_MARK, "").startswith(agents)
    except (psutil.Error, OSError):
        return False
