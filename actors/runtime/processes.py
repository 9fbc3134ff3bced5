"""Processes: finds descendants, kills processes safely, ends commands without an actor.

A model's command is identified by the variable that names its run. Its runner may live for a moment
after its actor died, to leave the outcome of a command that was about to end; the commands left
after that moment are killed, whatever their sessions.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "AGIRAPH_RUN"
LINGER_SECONDS = 1.5
GONE_SECONDS = 2.0
POLL_SECONDS = 0.02


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process that exist now."""
    if _has_no_child(pid):
        return []
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def _has_no_child(pid: int) -> bool:
    """Whether a process certainly has no child; searching for children reads all processes.

    Of a list of several the kernel may omit a child while another ends, but never the only one.
    """
    threads = f"/proc/{pid}/task"
    try:
        for thread in os.listdir(threads):  # plain: the kernel's
            if Path(threads, thread, "children").read_bytes():  # plain: the kernel's
                return False
        return True
    except OSError:
        return False


def is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs (a zombie does not)."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def kill_trees(processes: Iterable[psutil.Process]) -> None:
    """Kill each of these processes with all its descendants, stopping each before it forks."""
    family = list(processes)
    for member in family:
        try:
            member.suspend()
            family += [child for child in member.children() if child not in family]
        except psutil.Error:
            pass  # gone
    kill_all(family)


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill each of these processes, unless its pid belongs to another process now."""
    for process in processes:
        try:
            process.kill()
        except psutil.Error:
            pass  # gone, or another process by now


def commands_in(home: Path) -> list[psutil.Process]:
    """Return the commands of models that work in this home."""
    if sys.platform != "linux":
        return []
    folders = {str(home), os.path.realpath(home)}
    agents = tuple(os.path.join(folder, "agents") + os.sep for folder in folders)
    return [process for process in all_processes() if _is_command_in(process, agents)]


def all_processes() -> Iterator[psutil.Process]:
    """Yield all current processes.

    psutil.process_iter caches processes by pid, even after another process has got that pid.
    """
    for pid in psutil.pids():
        with suppress(psutil.Error):
            yield psutil.Process(pid)


def end_commands(home: Path, linger_seconds: float = LINGER_SECONDS) -> list[int]:
    """Kill the commands left in a home whose actors are all dead; return their pids.

    Blocks for `linger_seconds` if there is a command, and until the killed ones have ended.
    """
    deadline = time.monotonic() + linger_seconds
    while (commands := commands_in(home)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    killed: set[int] = set()
    deadline = time.monotonic() + GONE_SECONDS
    while commands and time.monotonic() < deadline:
        killed |= {command.pid for command in commands}
        kill_all(commands)
        commands = [command for command in commands_in(home) if is_alive(command)]
    return sorted(killed)


def _is_command_in(process: psutil.Process, agents: tuple[str, ...]) -> bool:
    try:
        return process.environ().get(MARK, "").startswith(agents) and is_alive(process)
    except (psutil.Error, OSError):
        return False
