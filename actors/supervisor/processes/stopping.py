"""Stopping: ask, then SIGTERM to the group, then SIGKILL to the group, each after a grace.

The bound holds whatever the process is doing; its descendants in other sessions die with it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

import psutil

from actors.runtime.processes import descendants, is_alive, kill_all, kill_trees
from actors.supervisor.processes.handle import ProcessHandle
from actors.supervisor.processes.reaper import Reaper

KILL_SECONDS = 2.0
POLL_SECONDS = 0.005


async def end_process(
    process: ProcessHandle, ask: Callable[[], None], grace_seconds: float
) -> None:
    """End a process: `ask` it, then SIGTERM, then SIGKILL to its group, each after the grace.

    Its descendants are killed after it, and have ended when this returns (or `KILL_SECONDS` later).
    """
    followers: list[psutil.Process] = []
    for act in (
        ask,
        lambda: process.signal_group(signal.SIGTERM),
        lambda: process.signal_group(signal.SIGKILL),
    ):
        if process.ended.done():
            break
        followers = process.followers() or followers
        act()
        await asyncio.wait([process.ended], timeout=grace_seconds)
    kill_trees(followers)  # one that was just being started may have started more meanwhile
    loop = asyncio.get_running_loop()
    deadline = loop.time() + KILL_SECONDS
    while any(map(is_alive, followers)) and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)  # SIGKILL acts a moment later


async def kill_process(process: ProcessHandle) -> None:
    """Kill a process and its group now, as a crash would, and wait until it is gone.

    What it leaves becomes an orphan of ours; where orphans are not re-parented it is killed here.
    """
    if process.ended.done():
        return
    followers = [] if sys.platform == "linux" else process.followers()
    process.signal_group(signal.SIGKILL)
    kill_all(followers)
    await asyncio.wait([process.ended])


async def kill_descendants(reaper: Reaper) -> list[int]:
    """Kill until no descendant of ours is left; return the pids of those that do not end."""
    deadline = asyncio.get_running_loop().time() + KILL_SECONDS
    while left := descendants(os.getpid()):
        kill_all(left)
        reaper.reap()
        if asyncio.get_running_loop().time() > deadline:
            return [process.pid for process in left]
        await asyncio.sleep(POLL_SECONDS)
    return []
