"""Stopping: ask, then SIGTERM to the group, then SIGKILL to the group, each after a grace.

The bound holds whatever the process is doing; its descendants in other sessions die with it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

import psutil

from actors.runtime.processes import descendants, kill_all
from actors.supervisor.launcher import SpawnedProcess
from actors.supervisor.reaper import kill_group


async def end_process(
    spawned: SpawnedProcess, ask: Callable[[], None], grace_seconds: float
) -> None:
    """End a process: `ask` it, then SIGTERM, then SIGKILL to its group, each after the grace."""
    followers: list[psutil.Process] = []
    for act in (
        ask,
        lambda: kill_group(spawned.pid, signal.SIGTERM),
        lambda: kill_group(spawned.pid, signal.SIGKILL),
    ):
        if spawned.ended.done():
            break
        followers = descendants(spawned.pid) or followers
        act()
        await asyncio.wait([spawned.ended], timeout=grace_seconds)
    kill_all(followers)


async def kill_process(spawned: SpawnedProcess) -> None:
    """Kill a process and its group now, as a crash would, and wait until it is gone.

    What it leaves becomes an orphan of ours; where orphans are not re-parented it is killed here.
    """
    if spawned.ended.done():
        return
    followers = [] if sys.platform == "linux" else descendants(spawned.pid)
    kill_group(spawned.pid)
    kill_all(followers)
    await asyncio.wait([spawned.ended])


def dump_stack(pid: int) -> None:
    """Have a process of ours write the stack of each of its threads into its log."""
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        pass


def terminate(pid: int) -> None:
    """Send SIGTERM to one process only: it has the grace to end its own commands."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
