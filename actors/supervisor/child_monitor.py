"""ChildMonitor: starts one child, waits for its exit, restarts it or gives it up.

The desired state decides: an exit that was ordered is never followed by a restart.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from actors.supervisor.processes.causes import KillReason, cause_of, fault_of, is_from_outside
from actors.supervisor.processes.handle import ExitEvidence, ProcessHandle
from actors.supervisor.processes.launcher import EXIT_NOT_MADE, SpawnFailed
from actors.supervisor.processes.restarts import (
    EXIT_NO_SPACE,
    EXIT_PARKED,
    LONGEST_WAIT_FOR_ROOM,
    EndedInOrder,
    GiveUp,
    Parked,
    ProcessExit,
    Restart,
    RestartHistory,
    RestartPolicy,
    Verdict,
    decide,
)
from actors.supervisor.processes.stopping import end_process, kill_process
from agiraph.core.concurrency import Signal
from agiraph.core.models import EntityState
from agiraph.messages.child import ChildSpec, ChildState, ExitCause
from agiraph.readmodel.child_register import Desired
from agiraph.storage.disk_space import is_full_disk

if TYPE_CHECKING:
    from actors.supervisor.placement import NotPlaced

ENDED = frozenset({"stopped", "failed", "exited", "parked"})
PLACE_AGAIN_SECONDS = 0.5
LEAVE_AGAIN_SECONDS = 2.0
BY_ORDER = KillReason("ordered", "by order")


@dataclass(slots=True)
class ChildProcess:
    """One incarnation of a child."""

    incarnation: int
    handle: ProcessHandle
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    kill_reason: KillReason | None = None
    doing: EntityState = field(default_factory=EntityState)
    awaits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MonitorHooks:
    """The functions of the supervisor that a monitor calls.

    `place` returns the host for a child, '' for this machine, or why it must wait; `allot` returns
    the next incarnation of an address after recording it (OSError); `launch` starts a process on a
    host (SpawnFailed); `ask_to_stop` sends `control.stop`, optionally to stop after the current
    step, and returns False if the router cannot be reached; `ended` is called when a child has
    ended and before its state says so; `changed` receives each new state with its cause, `crashed`
    each exit of a child that should run, `broken` the error of the monitor itself.
    """

    policy: Callable[["ChildMonitor"], RestartPolicy]
    place: Callable[[ChildSpec], "str | NotPlaced"]
    allot: Callable[[str], int]
    launch: Callable[[ChildSpec, int, str], Awaitable[ProcessHandle]]
    ask_to_stop: Callable[[str, bool], bool]
    ended: Callable[[ChildSpec], Awaitable[None]]
    changed: Callable[["ChildMonitor", str | None], None]
    crashed: Callable[["ChildMonitor", ExitCause], None]
    broken: Callable[[str, BaseException], None]


class ChildMonitor:
    """Keeps one child in its desired state by starting and stopping its process."""

    def __init__(
        self,
        spec: ChildSpec,
        hooks: MonitorHooks,
        desired: Desired = "running",
    ) -> None:
        self.spec = spec
        self.desired: Desired = desired
        self.state: ChildState = "stopped" if desired == "running" else desired
        self.cause: str | None = None
        self.lacks_place = False
        self.why: ExitCause | None = None
        self.restarts = 0
        self.next_start: float | None = None
        self.was_ever_ready = False
        self.process: ChildProcess | None = None
        self._ready_before_known = 0
        self.history = RestartHistory()
        self._hooks = hooks
        self._woken = asyncio.Event()
        self._is_wanted_awake = False
        self.was_parked = desired == "parked"
        self._changed = Signal()
        self._task: asyncio.Task[None] | None = None
        self._order = asyncio.Lock()
        self.is_forgotten = False

    @property
    def address(self) -> str:
        """The child's address."""
        return self.spec.address

    @property
    def is_running(self) -> bool:
        """Whether this child has, or is about to have, a process."""
        return self._task is not None and not self._task.done()

    # --- orders ---------------------------------------------------------------------------------

    async def start(self) -> ChildProcess | None:
        """Start the child; return its process once it exists, None if the child was given up.

        Clears the child's restart history.
        """
        if not self.is_running:
            self.history = RestartHistory()
        return await self.resume()

    async def resume(self) -> ChildProcess | None:
        """Start the child like `start`, but keep its restart history.

        Returns None, too, if the child was forgotten while this waited for an earlier order.
        """
        async with self._order:
            if not (self.is_running or self.is_forgotten):
                self.desired = "running"
                self._woken.clear()
                self._become("starting")
                self._task = asyncio.create_task(self._supervise())
                self._task.add_done_callback(self._check_for_error)
        await self._changed.until(lambda: self.process is not None or self.state in ENDED)
        return self.process

    async def wake(self) -> None:
        """Start a parked child; a child that is about to park is started again afterwards."""
        self._is_wanted_awake = True
        if self.state == "parked":
            await self.resume()

    async def wait_ready(self) -> bool:
        """Wait until the child is ready; return False if it ended before that."""
        await self._changed.until(lambda: self.state == "ready" or self.state in ENDED)
        return self.state == "ready"

    async def stop(self, grace_seconds: float | None = None) -> None:
        """End the child and leave it stopped, within twice the grace and the time of a kill.

        The grace is the one in the spec, or `grace_seconds` if that is shorter.
        """
        async with self._order:
            await self._rest("stopped", grace_seconds)

    async def restart(self) -> None:
        """Stop the child, then start it again."""
        async with self._order:
            await self._rest("stopped")
        await self.start()

    async def hand_over(self) -> ChildProcess | None:
        """Ask the process to exit after its current step; return the process that replaces it.

        Returns None if the child is not running, or does not run again.
        """
        if not await self.wait_ready() or (process := self.process) is None:
            return None
        while not process.handle.ended.done():
            self._is_wanted_awake = True
            self._hooks.ask_to_stop(self.address, True)
            await asyncio.wait([process.handle.ended], timeout=LEAVE_AGAIN_SECONDS)
        await self._changed.until(
            lambda: self.process not in (None, process) or self.state in ENDED
        )
        return self.process

    async def kill(self) -> None:
        """Kill the process; the exit does not count against the child, which is restarted."""
        await self.kill_for(BY_ORDER)

    async def kill_for(self, kill_reason: KillReason) -> None:
        """Kill the process now; its exit then has `kill_reason` as its cause."""
        if self.process is not None:
            self.process.kill_reason = kill_reason
            await kill_process(self.process.handle)

    def ready(self, incarnation: int) -> None:
        """Record that an incarnation is ready, perhaps before `launch` has returned.

        It is connected to the router, so it receives messages that arrived while it was woken.
        """
        process = self.process
        if process is None:
            self._ready_before_known = incarnation
            self._is_wanted_awake = False
        elif process.incarnation == incarnation and not process.ready.is_set():
            self._is_wanted_awake = False
            self._now_ready(process)

    def _now_ready(self, process: ChildProcess) -> None:
        process.ready.set()
        self.was_ever_ready = True
        if self.state == "starting":
            self._become("ready")

    # --- incarnations ---------------------------------------------------------------------------

    async def _rest(self, desired: Desired, grace_seconds: float | None = None) -> None:
        self.desired = desired
        self.was_parked, self.cause = False, None  # of an earlier end
        self._woken.set()
        if self.is_running:
            self._become("stopping")
        if self.process is not None:
            await self._end(self.process, grace_seconds)
            await self._hooks.ended(self.spec)
        if self._task is not None:
            await asyncio.wait([self._task])
        self._become("stopped", self.cause)

    async def _end(self, process: ChildProcess, grace_seconds: float | None = None) -> None:
        def ask() -> None:
            if not (process.ready.is_set() and self._hooks.ask_to_stop(self.address, False)):
                process.handle.terminate()

        own = self.spec.shutdown_seconds
        grace = own if grace_seconds is None else min(own, grace_seconds)
        await end_process(process.handle, ask, grace)

    async def _supervise(self) -> None:
        while True:
            ended, was_ready = await self._run_incarnation()
            self.process = None
            if self.desired != "running":
                is_in_order = ended.is_clean or ended.code == EXIT_PARKED
                self.cause = None if is_in_order else ended.describe()
                return
            self.cause = ended.describe()
            verdict = self._verdict(ended, was_ready)
            match verdict:
                case Restart(delay, history):
                    self.was_parked = False
                    self.history = history
                    self._note_crash()
                    if not await self._pause(delay):
                        return
                    self.restarts += 1
                case GiveUp(cause):
                    self.desired = "failed"
                    self._note_crash()
                    await self._hooks.ended(self.spec)
                    self._become("failed", cause)
                    return
                case EndedInOrder():
                    self.desired = "exited"
                    await self._hooks.ended(self.spec)
                    self._become("exited", self.cause)
                    return
                case Parked():
                    self.was_parked, self.cause = True, None
                    if not self._is_wanted_awake:
                        self.desired = "parked"
                        self._become("parked")
                        return
                case _:
                    assert_never(verdict)

    def _note_crash(self) -> None:
        if self.why is not None:
            self._hooks.crashed(self, self.why)

    def _verdict(self, ended: ProcessExit, was_ready: bool) -> Verdict:
        now = asyncio.get_running_loop().time()
        policy = self._hooks.policy(self)
        return decide(policy, self.history, ended, was_ready, now, random.random())

    async def _run_incarnation(self) -> tuple[ProcessExit, bool]:
        """Start the child and wait for its exit; return the exit, and whether it was ready.

        The cause of the exit is stored in `why`.
        """
        self._become("starting", self.cause)
        self._is_wanted_awake = False
        host = await self._placed()
        incarnation = None if host is None else await self._allotted()
        if host is None or incarnation is None:
            return ProcessExit(code=EXIT_NO_SPACE), False
        try:
            handle = await self._hooks.launch(self.spec, incarnation, host)
        except SpawnFailed as error:
            code = EXIT_NO_SPACE if error.is_full else EXIT_NOT_MADE
            not_made = KillReason("not_made", str(error))
            return self._with_cause(ProcessExit(code=code), not_made, ExitEvidence()), False
        process = ChildProcess(incarnation, handle)
        self.process = process
        self._changed.set()
        if self._ready_before_known == incarnation:
            self._now_ready(process)
        if self.desired != "running":
            await self._end(process)
        ended, left = await handle.ended, handle.evidence()
        if left.step is None:
            left = replace(left, step=str(process.doing))
        was_ready = process.ready.is_set() or left.was_ready
        return self._with_cause(ended, process.kill_reason or left.reason, left), was_ready

    async def _placed(self) -> str | None:
        """Wait for a host for the child and return it ('': this machine); None if cancelled."""
        before = self.cause
        while not isinstance(placed := self._hooks.place(self.spec), str):
            if self.cause != placed.reason:
                self._become("starting")  # so that each reason is reported
            self.lacks_place = True
            try:
                if not await self._pause(PLACE_AGAIN_SECONDS, placed.reason):
                    return None
            finally:
                self.lacks_place = False
        self.cause = before
        self._become("starting", self.cause)
        return placed

    async def _allotted(self) -> int | None:
        """Return the next incarnation once its record is on disk; None if cancelled."""
        while True:
            try:
                return self._hooks.allot(self.address)
            except OSError as error:
                if not is_full_disk(error):
                    raise
            self.cause = ProcessExit(code=EXIT_NO_SPACE).describe()
            if not await self._pause(LONGEST_WAIT_FOR_ROOM):
                return None
            self._become("starting", self.cause)

    def last_step(self, process: ChildProcess) -> str:
        """Return a process's last step: from its own note, else from its last report."""
        noted = process.handle.noted_step()
        return str(process.doing) if noted is None else noted

    def _with_cause(
        self, ended: ProcessExit, kill_reason: KillReason | None, left: ExitEvidence
    ) -> ProcessExit:
        """Return the exit with its cause in words, and store the cause."""
        self.why = cause_of(
            ended,
            kill_reason=kill_reason,
            oom_kills=left.oom_kills,
            step=left.step or "",
            tail=left.tail,
        )
        return replace(
            ended,
            text=self.why.text,
            is_from_outside=is_from_outside(self.why),
            is_again=bool(fault_of(self.why)) and left.is_repeated_crash,
        )

    async def _pause(self, seconds: float, cause: str | None = None) -> bool:
        """Wait `seconds` in the state `backing_off`; return whether the child should still run."""
        if seconds > 0:
            self.next_start = time.time() + seconds
            self._become("backing_off", cause or self.cause)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            self.next_start = None
        return self.desired == "running"

    def _become(self, state: ChildState, cause: str | None = None) -> None:
        if cause is not None:
            self.cause = cause
        if self.state != state:
            self.state = state
            self._changed.set()
            self._hooks.changed(self, cause)

    def _check_for_error(self, living: "asyncio.Task[None]") -> None:
        error = None if living.cancelled() else living.exception()
        if error is not None:
            self._hooks.broken(self.address, error)
