"""HeartbeatSender: shows the supervisor that an actor's event loop runs, and reaps adopted zombies.

Heartbeats come from the loop itself, so a loop that is blocked, spins or was stopped sends none.
The current step is reported to the supervisor, and to people, once it has lasted for a moment:
there may be a hundred shorter steps a second.

An actor that runs shells becomes the parent of every process that they leave behind. When these end
they become zombies that no code awaits, because asyncio waits for its own children by pid. A zombie
seen at two heartbeats in succession is one of them: the loop has run in between, and would have
reaped its own child.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from agiraph.core.ids import HUMAN, SUPERVISOR, Address
from agiraph.core.models import EntityState
from agiraph.messages.child import ChildHeartbeat
from transport.endpoint import Endpoint

SETTLE_SECONDS = 0.05


class HeartbeatSender:
    """The heartbeats of one actor; the caller runs `run`.

    `note` receives each state at once, `on_report` each state that is sent to the human.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        every_seconds: float,
        note: Callable[[EntityState], None],
        on_report: Callable[[EntityState], None],
    ) -> None:
        self._endpoint = endpoint
        self._every = every_seconds
        self._note = note
        self._on_report = on_report
        self._state = self._reported = EntityState()
        self._awaited: Counter[str] = Counter()
        self._settling: asyncio.TimerHandle | None = None
        self._zombies: frozenset[int] = frozenset()

    def show(self, state: EntityState) -> None:
        """Set the current state; a new state is reported after SETTLE_SECONDS."""
        if state != self._state:
            self._note(state)
        self._state = state
        if self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(SETTLE_SECONDS, self._report)

    @contextmanager
    def waiting_for(self, address: str) -> Iterator[None]:
        """Report inside the block that this actor waits for an answer of `address`."""
        self._awaited[address] += 1
        try:
            yield
        finally:
            self._awaited -= Counter({address: 1})

    def _report(self) -> None:
        self._settling = None
        if self._state != self._reported:
            self._reported = self._state
            self._beat(0.0, SUPERVISOR, HUMAN)
            self._on_report(self._state)

    async def run(self) -> None:
        """Send heartbeats until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._beat(loop.time() - due, SUPERVISOR)
            self._reap_adopted()
            due = loop.time() + self._every
            await asyncio.sleep(self._every)

    def _beat(self, lag: float, *to: Address) -> None:
        beat = ChildHeartbeat(lag=max(0.0, lag), doing=self._state, awaits=tuple(self._awaited))
        for address in to:
            self._endpoint.post(address, beat)

    def _reap_adopted(self) -> None:
        """Reap adopted children that have ended."""
        zombies = zombie_children()
        for pid in zombies & self._zombies:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # other code waited for it after all
        self._zombies = zombies


def zombie_children() -> frozenset[int]:
    """Return the pids of our exited children that no code has waited for."""
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
    """Whether a child of ours has ended; it is not reaped. Costs one system call."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
