"""HeartbeatSender: shows the supervisor that an actor's event loop runs, and reaps adopted zombies.

Heartbeats come from the loop itself, so a loop that is blocked, spins or was stopped sends none.
The current step is reported to the supervisor, and to people, once it has lasted for a moment:
there may be a hundred shorter ones a second.

An actor that runs shells is the parent of every process that they leave behind. When these end they
become zombies that nobody awaits, as asyncio waits for its own children by pid. A zombie seen at
two heartbeats in succession is one of them: the loop has run in between, and would have reaped it.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from agiraph.core.ids import HUMAN, SUPERVISOR
from agiraph.core.models import Activity
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.event import EntityStatus
from transport.endpoint import Endpoint

SETTLE_SECONDS = 0.05


class HeartbeatSender:
    """The heartbeats of one actor; the caller runs `run`.

    `note` gets each activity at once, `on_report` each status that is sent.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        every_seconds: float,
        note: Callable[[Activity], None],
        on_report: Callable[[EntityStatus], None],
    ) -> None:
        self._endpoint = endpoint
        self._every = every_seconds
        self._note = note
        self._on_report = on_report
        self._status: EntityStatus | None = None
        self._reported: EntityStatus | None = None
        self._reported_at = 0.0
        self._awaited: Counter[str] = Counter()
        self._settling: asyncio.TimerHandle | None = None
        self._zombies: frozenset[int] = frozenset()

    def show(self, status: EntityStatus) -> None:
        """Set the current activity; the latest is reported soon, if it is new or due again."""
        if self._status is None or status.doing != self._status.doing:
            self._note(status.doing)
        self._status = status
        if self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(SETTLE_SECONDS, self._report, loop)

    @contextmanager
    def waiting_for(self, address: str) -> Iterator[None]:
        """Report while inside that this actor waits for an answer of `address`, however long."""
        self._awaited[address] += 1
        try:
            yield
        finally:
            self._awaited -= Counter({address: 1})

    def _report(self, loop: asyncio.AbstractEventLoop) -> None:
        self._settling = None
        is_old = loop.time() - self._reported_at >= self._every
        before, status = self._reported, self._status
        if status is None:
            return
        if before is None or before.doing != status.doing:
            self._beat(0.0)
        if is_old or before != status:
            self._endpoint.post(HUMAN, status)
            self._reported_at = loop.time()
            if before != status:
                self._on_report(status)
        self._reported = status

    async def run(self) -> None:
        """Send heartbeats for as long as the actor lives."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._beat(loop.time() - due)
            self._reap_adopted()
            due = loop.time() + self._every
            await asyncio.sleep(self._every)

    def _beat(self, lag: float) -> None:
        doing = self._status.doing if self._status is not None else Activity()
        beat = ChildHeartbeat(lag=max(0.0, lag), doing=doing, awaits=tuple(self._awaited))
        self._endpoint.post(SUPERVISOR, beat)

    def _reap_adopted(self) -> None:
        """Reap adopted children that have ended."""
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
