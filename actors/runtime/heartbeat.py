"""HeartbeatSender: shows the supervisor that an actor's event loop turns, and reaps what the actor
adopted.

Beats come from the loop itself, so a loop that is stuck in a call, spins or was stopped beats no
more. What the actor does is told to the supervisor, and to people, once it has lasted a moment: a
step that is over sooner is no news to anybody, and there may be a hundred of them a second.

An actor that runs shells is the parent of every process that they leave behind. Those that end
become zombies which nobody awaits, for asyncio waits for its own children by their number. A zombie
seen at two beats running is such a one: the loop has turned in between, and would have taken it.
"""

import asyncio
import os
from collections.abc import Callable

import psutil

from agiraph.core.ids import HUMAN, SUPERVISOR
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.event import EntityStatus
from transport.endpoint import Endpoint

SETTLE_SECONDS = 0.05


class HeartbeatSender:
    """The beat of one actor."""

    def __init__(
        self, endpoint: Endpoint, every_seconds: float, note: Callable[[str], None]
    ) -> None:
        """Beat over `endpoint`; `note` keeps each step at once. The caller runs `run` as a task."""
        self._endpoint = endpoint
        self._every = every_seconds
        self._note = note
        self._step = ""
        self._status: EntityStatus | None = None
        self._told: tuple[str, EntityStatus | None] = ("", None)
        self._told_at = 0.0
        self._settling: asyncio.TimerHandle | None = None
        self._zombies: frozenset[int] = frozenset()

    def step(self, step: str, status: EntityStatus) -> None:
        """Note what the actor does now, and tell it soon: the latest, if it is news or long ago."""
        if step != self._step:
            self._note(step)
        self._step, self._status = step, status
        if self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(SETTLE_SECONDS, self._tell, loop)

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        self._settling = None
        is_old = loop.time() - self._told_at >= self._every
        step, status = self._told
        if step != self._step:
            self._beat(0.0)
        if self._status is not None and (is_old or status != self._status):
            self._endpoint.post(HUMAN, self._status)
            self._told_at = loop.time()
        self._told = (self._step, self._status)

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
        self._endpoint.post(SUPERVISOR, ChildHeartbeat(lag=max(0.0, lag), step=self._step))

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
