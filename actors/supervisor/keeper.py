"""Keeper: one child's life: start, wait for ready, wait for the end, begin again or give up.

What is wanted of the child (`desired`) stands above everything: an end that was ordered is never
followed by a restart.
"""

import asyncio
import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, assert_never

from actors.child import log_file
from actors.supervisor.launcher import Spawned, SpawnFailed
from actors.supervisor.restarts import (
    Ended,
    Exit,
    GiveUp,
    History,
    Policy,
    Restart,
    Verdict,
    decide,
)
from actors.supervisor.stopping import end_process, kill_process, terminate
from actors.supervisor.table import Desired
from agiraph.log import redact
from agiraph.messages import ChildSpec, ChildState

ENDED = frozenset({"stopped", "failed", "exited"})
EXIT_NOT_MADE = 70
TAIL_BYTES = 4096
HINT_LIMIT = 300


@dataclass(slots=True)
class Process:
    """One incarnation of a child."""

    incarnation: int
    spawned: Spawned
    began: float
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    overdue: str = ""
    is_killed_by_order: bool = False


class Household(Protocol):
    """What a keeper needs of the supervisor."""

    @property
    def home(self) -> Path:
        """The home's folder."""
        ...

    def policy(self, spec: ChildSpec) -> Policy:
        """Return how often this child may be restarted."""
        ...

    def allot(self, address: str) -> int:
        """Return the next incarnation of an address, written down."""
        ...

    async def launch(self, spec: ChildSpec, incarnation: int) -> Spawned:
        """Start the process of a child; raises SpawnFailed."""
        ...

    def ask_to_stop(self, address: str) -> bool:
        """Send `control.stop` if the bus stands; return whether it does."""
        ...

    def changed(self, keeper: "Keeper", cause: str | None) -> None:
        """Note that a keeper's state is another now."""
        ...

    def broken(self, address: str, error: BaseException) -> None:
        """Take note that a keeper met what it cannot handle."""
        ...


class Keeper:
    """Keeps one child in the state that is wanted of it."""

    def __init__(self, spec: ChildSpec, house: Household, desired: Desired = "running") -> None:
        """Begin without a process; `start` makes one."""
        self.spec = spec
        self.desired: Desired = desired
        self.state: ChildState = "stopped" if desired == "running" else desired
        self.cause: str | None = None
        self.restarts = 0
        self.process: Process | None = None
        self._house = house
        self._history = History()
        self._woken = asyncio.Event()
        self._pulse = asyncio.Event()
        self._living: asyncio.Task[None] | None = None
        self._order = asyncio.Lock()

    @property
    def address(self) -> str:
        """The child's address."""
        return self.spec.address

    @property
    def is_living(self) -> bool:
        """Whether this child has, or is about to have, a process."""
        return self._living is not None and not self._living.done()

    # --- orders ---------------------------------------------------------------------------------

    async def start(self) -> Process | None:
        """Have the child run; return its process once it exists, None if it was given up."""
        async with self._order:
            if not self.is_living:
                self.desired = "running"
                self._history = History()
                self._woken.clear()
                self._become("starting")
                self._living = asyncio.create_task(self._live())
                self._living.add_done_callback(self._look_at_end)
        await self._until(lambda: self.process is not None or self.state in ENDED)
        return self.process

    async def wait_ready(self) -> bool:
        """Wait until the child is ready; False if it came to its end before."""
        await self._until(lambda: self.state == "ready" or self.state in ENDED)
        return self.state == "ready"

    async def stop(self, desired: Desired = "stopped") -> None:
        """End the child within its bound and let it rest."""
        async with self._order:
            await self._rest(desired)

    async def restart(self) -> None:
        """End the child in order, then have it run again."""
        async with self._order:
            await self._rest("stopped")
        await self.start()

    async def kill(self) -> None:
        """Kill the process as a crash would, but do not count it: a supervised child comes back."""
        if self.process is not None:
            self.process.is_killed_by_order = True
            await kill_process(self.process.spawned)

    def ready(self, incarnation: int) -> None:
        """Note that an incarnation says it is ready."""
        process = self.process
        if process is None or process.incarnation != incarnation or process.ready.is_set():
            return
        process.ready.set()
        if self.state == "starting":
            self._become("ready")

    # --- life -----------------------------------------------------------------------------------

    async def _rest(self, desired: Desired) -> None:
        self.desired = desired
        self._woken.set()
        if self.is_living:
            self._become("stopping")
        if self.process is not None:
            await self._end(self.process)
        if self._living is not None:
            await asyncio.wait([self._living])
        self._become("stopped", self.cause)

    async def _end(self, process: Process) -> None:
        def ask() -> None:
            if not (process.ready.is_set() and self._house.ask_to_stop(self.address)):
                terminate(process.spawned.pid)

        await end_process(process.spawned, ask, self.spec.shutdown_seconds)

    async def _live(self) -> None:
        while True:
            ended, process = await self._one_life()
            self.process = None
            if self.desired != "running":
                return
            self.cause = ended.describe()
            verdict = self._verdict(ended, process)
            match verdict:
                case Restart(delay, history):
                    self._history = history
                    if not await self._pause(delay):
                        return
                    self.restarts += 1
                case GiveUp(cause):
                    self.desired = "failed"
                    self._become("failed", cause)
                    return
                case Ended():
                    self.desired = "exited"
                    self._become("exited", self.cause)
                    return
                case _:
                    assert_never(verdict)

    def _verdict(self, ended: Exit, process: Process | None) -> Verdict:
        if process and process.is_killed_by_order and self.spec.restart != "temporary":
            return Restart(0.0, self._history)
        was_ready = process is not None and process.ready.is_set()
        now = asyncio.get_running_loop().time()
        policy = self._house.policy(self.spec)
        return decide(policy, self._history, ended, was_ready, now, random.random())

    async def _one_life(self) -> tuple[Exit, Process | None]:
        """Start the child and see it through; return how it ended."""
        self._become("starting", self.cause)
        incarnation = self._house.allot(self.address)
        log = log_file(self._house.home, self.address)
        offset = _size(log)
        try:
            spawned = await self._house.launch(self.spec, incarnation)
        except SpawnFailed as error:
            return Exit(code=EXIT_NOT_MADE, hint=str(error)), None
        process = Process(incarnation, spawned, asyncio.get_running_loop().time())
        self.process = process
        self._notify()
        if self.desired != "running":
            await self._end(process)
        await self._see_ready(process)
        ended = await spawned.ended
        hint = process.overdue or ("" if ended.is_clean else _last_line(log, offset))
        return Exit(ended.code, ended.signal, hint), process

    async def _see_ready(self, process: Process) -> None:
        """Wait until the process is ready or gone; kill one that takes too long."""
        ready = asyncio.create_task(process.ready.wait())
        limit = self.spec.ready_within_seconds
        events: list[asyncio.Future[Any]] = [ready, process.spawned.ended]
        await asyncio.wait(events, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not process.ready.is_set() and not process.spawned.ended.done():
            process.overdue = f"not ready within {limit:g} s"
            await kill_process(process.spawned)

    async def _pause(self, seconds: float) -> bool:
        """Wait out the back-off; return whether the child is still wanted."""
        if seconds > 0:
            self._become("backing_off", self.cause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)
        return self.desired == "running"

    def _become(self, state: ChildState, cause: str | None = None) -> None:
        if cause is not None:
            self.cause = cause
        if self.state != state:
            self.state = state
            self._notify()
            self._house.changed(self, cause)

    def _look_at_end(self, living: "asyncio.Task[None]") -> None:
        error = None if living.cancelled() else living.exception()
        if error is not None:
            self._house.broken(self.address, error)

    def _notify(self) -> None:
        self._pulse.set()
        self._pulse = asyncio.Event()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._pulse.wait()


def _size(log: Path) -> int:
    try:
        return os.stat(log).st_size
    except OSError:
        return 0


def _last_line(log: Path, offset: int) -> str:
    """Return the last thing a process said on stderr since `offset`, secrets blotted out."""
    try:
        with open(log, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(min(offset, end), end - TAIL_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    spoken = [line.strip() for line in lines if line.strip()]
    return str(redact(spoken[-1]))[:HINT_LIMIT] if spoken else ""
