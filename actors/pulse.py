"""Pulse: shows the supervisor that an actor's event loop turns, and reaps what the actor adopted.

Beats come from the loop itself, so a loop that is stuck in a call, spins or was stopped beats no
more. Each carries the step that the actor is in: if it dies there, the cause can name it.

An actor that runs shells is the parent of every process that they leave behind. Those that end
become zombies which nobody awaits, for asyncio waits for its own children by their number. A zombie
seen at two beats running is such a one: the loop has turned in between, and would have taken it.
"""

import asyncio
import os

import psutil

from agiraph.ids import SUPERVISOR
from agiraph.messages import ChildBeat
from transport.endpoint import Endpoint


class Pulse:
    """The beat of one actor."""

    def __init__(self, endpoint: Endpoint, every_seconds: float) -> None:
        """Beat over `endpoint`; the caller runs `run` as a task."""
        self._endpoint = endpoint
        self._every = every_seconds
        self._step = ""
        self._zombies: frozenset[int] = frozenset()

    def step(self, step: str) -> None:
        """Note what the actor does now, and tell at once if that is something else."""
        if step != self._step:
            self._step = step
            self._beat(0.0)

    async def run(self) -> None:
        """Beat for as long as the actor lives."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._beat(loop.time() - due)
            self._reap_adopted()
            due = loop.time() + self._every
            await asyncio.sleep(self._every)

    def _beat(self, lag: float) -> None:
        self._endpoint.post(SUPERVISOR, ChildBeat(lag=max(0.0, lag), step=self._step))

    def _reap_adopted(self) -> None:
        """Let go of adopted children that have ended."""
        zombies = zombie_children()
        for pid in zombies & self._zombies:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # somebody waited for it after all
        self._zombies = zombies


def zombie_children() -> frozenset[int]:
    """Return the pids of our children that have ended and that nobody has waited for."""
    if not has_ended_child():
        return frozenset()
    found = set()
    for child in psutil.Process().children():
        try:
            if child.status() == psutil.STATUS_ZOMBIE:
                found.add(child.pid)
        except psutil.Error:
            pass  # waited for meanwhile
    return frozenset(found)


def has_ended_child() -> bool:
    """Whether some child of ours has ended; it is left as it is. Costs one system call."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
