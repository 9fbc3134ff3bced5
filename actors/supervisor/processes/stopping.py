"""Stopping: a request, then SIGTERM to the group, then SIGKILL to the group, each after a grace.

The time limit applies whatever the process is doing; its descendants in other sessions are killed
with it.
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
    """End a process: call `ask`, then SIGTERM, then SIGKILL to its group, each after the grace.

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
    kill_trees(followers)  # a descendant that was just starting may have started more
    loop = asyncio.get_running_loop()
    deadline = loop.time() + KILL_SECONDS
    while any(map(is_alive, followers)) and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)  # SIGKILL acts a moment later


async def kill_process(process: ProcessHandle) -> None:
    """Kill a process and its group now, like a crash, and wait until it is gone.

    Its descendants become our orphans; on systems that do not re-parent orphans they are killed
    here.
    """
    if process.ended.done():
        return
    followers = [] if sys.platform == "linux" else process.followers()
    process.signal_group(signal.SIGKILL)
    kill_all(followers)
    await asyncio.wait([process.ended])


async def kill_descendants(reaper: Reaper) -> list[int]:
    """Kill this process's descendants until none is left; return pids that do not end."""
    deadline = asyncio.get_running_loop().time() + KILL_SECONDS
    while left := descendants(os.getpid()):
        kill_all(left)
        reaper.reap()
        if asyncio.get_running_loop().time() > deadline:
            return [process.pid for process in left]
        await asyncio.sleep(POLL_SECONDS)
    return []
