"""Launchers: a launch goes in, a running process comes out. `exec` works anywhere, `fork` is fast.

The seam is the Launcher protocol; another machine's host can be one more.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgpack

from actors.runtime.child import framed_launch, log_file
from actors.runtime.environment import environment_for, naming_settings
from actors.runtime.launch import ActorLaunch
from actors.supervisor.causes import cause_of, is_from_outside, oom_kills, size_of, tail_of
from actors.supervisor.interpreters import (
    PrestartedProcess,
    SpawnerProcess,
    start_actor,
    start_spawner,
)
from actors.supervisor.reaper import Reaper
from actors.supervisor.restarts import ProcessExit, Restart, RestartHistory, RestartPolicy, decide
from agiraph.core.errors import Unavailable
from agiraph.messages import ChildState
from agiraph.storage.disk_space import is_full_disk

# A spawner that is started again at once is back in about a second. Fresh interpreters in its
# stead, many at once, would only keep it from that.
NEXT_SPAWNER_SECONDS = 5.0
SPAWNER_KIND = "spawner"
EXIT_NOT_MADE = 70


class SpawnerDown(Unavailable):
    """The spawner died before it could answer."""


class SpawnFailed(Unavailable):
    """The process could not be made; the text says why. `is_full`: the disk had no room for it."""

    is_full = False


@dataclass(frozen=True, slots=True)
class SpawnedProcess:
    """A process that exists and is watched."""

    pid: int
    ended: "asyncio.Future[ProcessExit]"


def environment_of(launch: ActorLaunch, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of `environ` the process of a launch may see."""
    naming = naming_settings(launch.kind, launch.address, launch.config)
    return environment_for(launch.kind, environ, naming)


def further_variables(launch: ActorLaunch, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the names of what the process of a launch may see and the spawner may not."""
    return frozenset(environment_of(launch, environ)) - frozenset(
        environment_for(SPAWNER_KIND, environ)
    )


class Launcher(Protocol):
    """Brings processes to life."""

    async def spawn(self, launch: ActorLaunch) -> SpawnedProcess:
        """Start the process of a launch; raises SpawnFailed."""
        ...


class ExecLauncher:
    """Starts a fresh interpreter per process."""

    def __init__(self, reaper: Reaper, environ: Mapping[str, str]) -> None:
        """Hand deaths to `reaper`; children get what `environ` may show them."""
        self._reaper = reaper
        self._environ = environ
        self._lifelines: dict[int, asyncio.WriteTransport] = {}
        self._prestarted: dict[str, tuple[PrestartedProcess, SpawnedProcess]] = {}

    def adopt(self, ahead: Mapping[str, PrestartedProcess]) -> None:
        """Take over interpreters that wait already; each serves the first launch of its kind."""
        for kind, prestarted in ahead.items():
            self._prestarted[kind] = (prestarted, self._watched(prestarted.pid))

    def is_ahead(self, kind: str) -> bool:
        """Whether an interpreter waits for the launch of an actor of this kind."""
        return kind in self._prestarted

    async def spawn(self, launch: ActorLaunch) -> SpawnedProcess:
        """Start the process; its launch goes through a pipe that stays open as its lifeline."""
        kind = launch.kind
        prestarted, spawned = (
            self._prestarted.pop(kind) if self.is_ahead(kind) else self._fresh(launch)
        )
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(
            asyncio.Protocol, os.fdopen(prestarted.pipe, "wb", 0)
        )
        transport.write(framed_launch(launch, os.getpid()))
        self._lifelines[spawned.pid] = transport
        spawned.ended.add_done_callback(lambda _: self._lifelines.pop(spawned.pid).close())
        return spawned

    def _fresh(self, launch: ActorLaunch) -> tuple[PrestartedProcess, SpawnedProcess]:
        environ = environment_of(launch, self._environ)
        try:
            prestarted = start_actor((), environ, log_file(launch.home, launch.address))
        except OSError as error:
            failed = SpawnFailed(f"{launch.address}: {error}")
            failed.is_full = is_full_disk(error)
            raise failed from None
        return prestarted, self._watched(prestarted.pid)

    def _watched(self, pid: int) -> SpawnedProcess:
        return SpawnedProcess(pid, self._reaper.watch(pid))


class ForkLauncher:
    """Asks the spawner to fork, the next one if it just died; else a fresh interpreter does it."""

    def __init__(
        self,
        reaper: Reaper,
        environ: Mapping[str, str],
        fallback: ExecLauncher,
        home: Path,
        sweep: Callable[[], None],
        policy: RestartPolicy,
        log: Any,
    ) -> None:
        """`sweep` is called when the spawner died and may have left a process of unknown pid.

        `policy` says how it is restarted; it is never given up.
        """
        self._reaper = reaper
        self._environ = environ
        self._fallback = fallback
        self._home = home
        self._sweep = sweep
        self._log = log
        self._policy = policy
        self.on_start: Callable[[int], None] = lambda _pid: None
        self.on_change: Callable[[ChildState], None] = lambda _state: None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[SpawnedProcess]] = {}
        self._count = 0
        self._keeping: asyncio.Task[None] | None = None
        self._is_followed_at_once = False
        self._prestarted: tuple[SpawnerProcess, asyncio.Future[ProcessExit]] | None = None
        self.ready = asyncio.Event()
        self.pid: int | None = None
        self.state: ChildState = "starting"
        self.restarts = 0
        self.cause: str | None = None
        self.next_start: float | None = None

    def adopt(self, ahead: SpawnerProcess) -> None:
        """Take over a spawner that imports already; call it before `start`."""
        self._prestarted = (ahead, self._reaper.watch(ahead.pid))

    def start(self) -> None:
        """Start the spawner and keep it alive until `stop`."""
        self._keeping = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Let the spawner go; it ends when its link is closed."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])

    async def spawn(self, launch: ActorLaunch) -> SpawnedProcess:
        """Fork the process, or start it afresh if the spawner cannot."""
        deadline = asyncio.get_running_loop().time() + NEXT_SPAWNER_SECONDS
        while await self._is_at_hand(deadline):
            assert self._writer is not None
            try:
                return await self._ask(self._writer, launch)
            except SpawnerDown:
                self._log.warning("spawner lost, asking the next one", address=launch.address)
        return await self._fallback.spawn(launch)

    async def _is_at_hand(self, deadline: float) -> bool:
        """Whether a spawner can be asked; one that follows a good one is waited for."""
        if not self.ready.is_set() and self._is_followed_at_once:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self.ready.wait()
        return self.ready.is_set()

    async def _ask(self, writer: asyncio.StreamWriter, launch: ActorLaunch) -> SpawnedProcess:
        self._count += 1
        answer: asyncio.Future[SpawnedProcess] = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = answer
        self._reaper.expect()
        request = {
            "id": self._count,
            "launch": launch.pack(),
            "environ": environment_of(launch, self._environ),
            "parent": os.getpid(),
        }
        writer.write(_frame(request))
        return await answer

    async def _keep(self) -> None:
        history = RestartHistory()
        while True:
            self._become("starting")
            ended, was_ready = await self._one_spawner()
            self.cause = ended.describe()
            now = asyncio.get_running_loop().time()
            verdict = decide(self._policy, history, ended, was_ready, now, random.random())
            assert isinstance(verdict, Restart), "the spawner is permanent and never parks"
            history, delay = verdict.history, verdict.delay_seconds
            self._is_followed_at_once = delay == 0
            self._log.warning("spawner ended, starting another", after_seconds=delay)
            await self._pause(delay)
            self.restarts += 1

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            self.next_start = time.time() + seconds
            self._become("backing_off")
            await asyncio.sleep(seconds)
            self.next_start = None

    def _become(self, state: ChildState) -> None:
        if self.state != state:
            self.state = state
            self.on_change(state)

    async def _one_spawner(self) -> tuple[ProcessExit, bool]:
        """Start one spawner and serve its link; return how it ended, and whether it was ready."""
        ahead, self._prestarted = self._prestarted, None
        log = log_file(self._home, SPAWNER_KIND)
        offset, killed = size_of(log), oom_kills()
        try:
            spawner, ended = ahead or self._fresh()
        except OSError as error:
            self._log.error("the spawner cannot be started", reason=str(error))
            return ProcessExit(code=EXIT_NOT_MADE, text=f"it cannot be started: {error}"), False
        self.pid = spawner.pid
        self.on_start(spawner.pid)
        reader, self._writer = await asyncio.open_unix_connection(sock=spawner.link)
        self._writer.write(_frame({"log": str(log)}))
        try:
            await self._read_answers(reader)
            how = await ended
        finally:
            was_ready = self.ready.is_set()
            self._lose()
        tail, kills = tail_of(log, offset), oom_kills() - killed
        why = cause_of(how, kill_reason=None, oom_kills=kills, step="", tail=tail)
        ended_as = replace(how, text=why.text, is_from_outside=is_from_outside(why))
        return ended_as, was_ready

    def _fresh(self) -> tuple[SpawnerProcess, "asyncio.Future[ProcessExit]"]:
        environ = environment_for(SPAWNER_KIND, self._environ)
        spawner = start_spawner(environ, log_file(self._home, SPAWNER_KIND))
        return spawner, self._reaper.watch(spawner.pid)

    async def _read_answers(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = msgpack.unpackb(await reader.readexactly(size), raw=False)
                if "ready" in answer:
                    self._log.debug("spawner ready", modules=answer["ready"])
                    self.ready.set()
                    self._become("ready")
                else:
                    self._settle(answer)

    def _settle(self, answer: dict[str, Any]) -> None:
        waiting = self._waiting.pop(answer["id"], None)
        if "pid" in answer:
            spawned = SpawnedProcess(answer["pid"], self._reaper.watch(answer["pid"]))
            if waiting is not None and not waiting.done():
                waiting.set_result(spawned)
        elif waiting is not None and not waiting.done():
            waiting.set_exception(SpawnFailed(str(answer["error"])))
        self._reaper.settle()

    def _lose(self) -> None:
        """Forget a dead spawner: what it may have made without telling is swept away first."""
        self.ready.clear()
        self.pid = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        lost, self._waiting = self._waiting, {}
        for _ in lost:
            self._reaper.settle()
        if lost:
            self._sweep()
        for waiting in lost.values():
            if not waiting.done():
                waiting.set_exception(SpawnerDown("the spawner ended"))


def _frame(value: dict[str, Any]) -> bytes:
    data: bytes = msgpack.packb(value, use_bin_type=True)
    return len(data).to_bytes(4, "big") + data
