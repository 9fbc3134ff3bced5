"""Processes: who descends from whom, who lives, and killing those that are still the same ones."""

from collections.abc import Iterable

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process that exist now."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs (a zombie does not)."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill each of these processes that is still the same one."""
    for process in processes:
        try:
            process.kill()
        except psutil.Error:
            pass  # gone, or another process by now
