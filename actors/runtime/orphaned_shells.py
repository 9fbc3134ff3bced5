"""Orphaned shells: commands of models whose actor is gone, known by the variable that names their
run.

A command's runner may live for a moment after its actor died, to leave the outcome of a command
that was just about to end. What is left after that moment is killed, whatever session it is in.
"""

import os
import sys
import time
from pathlib import Path

import psutil

from actors.runtime.processes import is_alive, kill_all

MARK = "AGIRAPH_RUN"
LINGER_SECONDS = 1.5
GONE_SECONDS = 2.0
LOOK_SECONDS = 0.02


def shells_of(home: Path) -> list[psutil.Process]:
    """Return the commands of models that work in this home."""
    if sys.platform != "linux":
        return []
    folders = {str(home), os.path.realpath(home)}
    agents = tuple(os.path.join(folder, "agents") + os.sep for folder in folders)
    return [process for process in psutil.process_iter() if _is_shell_of(process, agents)]


def end_shells(home: Path, linger_seconds: float = LINGER_SECONDS) -> list[int]:
    """See to it that no command is left in a home whose actors are all dead; return the killed.

    Blocks for the linger, if there is any command, and for as long as the kernel takes to kill.
    """
    deadline = time.monotonic() + linger_seconds
    while (shells := shells_of(home)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    killed: set[int] = set()
    deadline = time.monotonic() + GONE_SECONDS
    while shells and time.monotonic() < deadline:
        killed |= {shell.pid for shell in shells}
        kill_all(shells)
        shells = [shell for shell in shells_of(home) if is_alive(shell)]
    return sorted(killed)


def _is_shell_of(process: psutil.Process, agents: tuple[str, ...]) -> bool:
    try:
        return process.environ().get(MARK, "").startswith(agents) and is_alive(process)
    except (psutil.Error, OSError):
        return False
