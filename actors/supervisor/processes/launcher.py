"""Launchers: start the process of a launch. `exec` works on every system, `fork` is fast."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgpack

from actors.runtime.child import framed_launch
from actors.runtime.environment import BROKER_KIND, environment_for, naming_settings
from actors.runtime.launch import ActorLaunch
from actors.supervisor.processes.causes import (
    cause_of,
    is_from_outside,
    oom_kills,
    size_of,
    tail_of,
)
from actors.supervisor.processes.interpreters import (
    WaitingInterpreter,
    start_actor,
    start_spawner,
)
from actors.supervisor.processes.reaper import Reaper
from actors.supervisor.processes.restarts import (
    ProcessExit,
    Restart,
    RestartHistory,
    RestartPolicy,
    decide,
)
from agiraph.core.errors import InvalidInput, Unavailable
from agiraph.messages.child import ChildState
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import status_of
from agiraph.storage.home import Home

# A spawner that is restarted at once is ready in about two seconds. Starting many fresh
# interpreters instead would only delay that.
NEXT_SPAWNER_SECONDS = 5.0
SPAWNER_SECONDS = 15.0
SPAWNER_KIND = "spawner"
VARIABLE_FIELDS = ("key_env", "base_url_env")
EXIT_NOT_MADE = 70


class SpawnerDown(Unavailable):
    """The spawner died before it could answer."""


class SpawnFailed(Unavailable):
    """The process could not be created; the text says why. `is_full`: the disk had no room."""

    is_full = False


@dataclass(frozen=True, slots=True)
class SpawnedProcess:
    """A process that exists and is watched."""

    pid: int
    ended: "asyncio.Future[ProcessExit]"


def environment_of(launch: ActorLaunch, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of `environ` that the process of a launch may see.

    The broker also sees all variables that the home's own providers name.
    """
    naming = naming_settings(launch.kind, launch.address, launch.config)
    seen = environment_for(launch.kind, environ, naming)
    named = named_by_providers(launch.home) if launch.kind == BROKER_KIND else frozenset[str]()
    return seen | {name: value for name, value in environ.items() if name in named}


def named_by_providers(home: Path) -> frozenset[str]:
    """Return the variables that `providers.yaml` of a home names; none if it is unreadable."""
    file = home / "providers.yaml"
    if status_of(file) is None:
        return frozenset()
    from agiraph.models.registry import read_table  # most homes have no providers of their own

    with suppress(InvalidInput, OSError):  # the broker reports the error
        return frozenset(_variables(read_table(file).values()))
    return frozenset()


def _variables(presets: Iterable[Any]) -> Iterator[str]:
    """Yield the variables for the keys and addresses of providers."""
    for preset in presets:
        for field in VARIABLE_FIELDS if isinstance(preset, dict) else ():
            named = preset.get(field)
            yield from [named] if isinstance(named, str) else named or ()


def further_variables(launch: ActorLaunch, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the names of variables that a launch's process may see, and the spawner may not."""
    return frozenset(environment_of(launch, environ)) - frozenset(
        environment_for(SPAWNER_KIND, environ)
    )


class ExecLauncher:
    """Starts a fresh interpreter for each process."""

    def __init__(self, reaper: Reaper, environ: Mapping[str, str]) -> None:
        self._reaper = reaper
        self._environ = environ
        self._lifelines: dict[int, asyncio.WriteTransport] = {}
        self._waiting: dict[str, tuple[WaitingInterpreter, SpawnedProcess]] = {}

    def adopt(self, kind: str, interpreter: WaitingInterpreter) -> None:
        """Use a waiting interpreter for the first launch of kind `kind`."""
        self._waiting[kind] = (interpreter, self._watched(interpreter.pid))

    async def spawn(self, launch: ActorLaunch) -> SpawnedProcess:
        """Start a process and return it; the pipe with its launch stays open as its lifeline.

        Raises SpawnFailed.
        """
        is_waiting = launch.kind in self._waiting
        interpreter, spawned = self._waiting.pop(launch.kind) if is_waiting else self._fresh(launch)
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(
            asyncio.Protocol, os.fdopen(interpreter.pipe, "wb", 0)
        )
        transport.write(framed_launch(launch, os.getpid()))
        self._lifelines[spawned.pid] = transport
        spawned.ended.add_done_callback(lambda _: self._lifelines.pop(spawned.pid).close())
        return spawned

    def _fresh(self, launch: ActorLaunch) -> tuple[WaitingInterpreter, SpawnedProcess]:
        environ = environment_of(launch, self._environ)
        try:
            interpreter = start_actor(environ, Home(launch.home).system.errors(launch.address))
        except OSError as error:
            failed = SpawnFailed(f"{launch.address}: {error}")
            failed.is_full = is_full_disk(error)
            raise failed from None
        return interpreter, self._watched(interpreter.pid)

    def _watched(self, pid: int) -> SpawnedProcess:
        return SpawnedProcess(pid, self._reaper.watch(pid))


class ForkLauncher:
    """Asks the spawner to fork; starts a fresh interpreter while there is no spawner.

    `kill_orphans` is called when a spawner died that may have left a process of unknown pid;
    `policy` is the restart policy of the spawner, which is never given up; with `prepares` the
    spawner is ready only after importing all modules of agents.
    """

    def __init__(
        self,
        reaper: Reaper,
        environ: Mapping[str, str],
        fallback: ExecLauncher,
        home: Path,
        kill_orphans: Callable[[], None],
        policy: RestartPolicy,
        log: Any,
        *,
        prepares: bool = False,
    ) -> None:
        self._reaper = reaper
        self._environ = environ
        self._prepares = prepares
        self._fallback = fallback
        self._home = home
        self._kill_orphans = kill_orphans
        self._log = log
        self._policy = policy
        self.on_start: Callable[[int], None] = lambda _pid: None
        self.on_change: Callable[[ChildState], None] = lambda _state: None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[SpawnedProcess]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._restarts_at_once = False
        self._prestarted: tuple[int, socket.socket, asyncio.Future[ProcessExit]] | None = None
        self.ready = asyncio.Event()
        self.pid: int | None = None
        self.state: ChildState = "starting"
        self.restarts = 0
        self.cause: str | None = None
        self.next_start: float | None = None

    def adopt(self, pid: int, link: socket.socket) -> None:
        """Use a spawner that runs already, with its link; call it before `start`."""
        self._prestarted = (pid, link, self._reaper.watch(pid))

    def start(self) -> None:
        """Start the spawner, and restart it until `stop`."""
        self._task = asyncio.create_task(self._supervise())

    async def await_spawner(self) -> bool:
        """Wait at most SPAWNER_SECONDS for a ready spawner; return whether there is one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SPAWNER_SECONDS):
                await self.ready.wait()
        return self.ready.is_set()

    async def stop(self) -> None:
        """Close the link to the spawner, which ends it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def spawn(self, launch: ActorLaunch) -> SpawnedProcess:
        """Return the forked process, or one of a fresh interpreter if that fails.

        Raises SpawnFailed.
        """
        deadline = asyncio.get_running_loop().time() + NEXT_SPAWNER_SECONDS
        while await self._is_available(deadline):
            assert self._writer is not None
            try:
                return await self._ask(self._writer, launch)
            except SpawnerDown:
                self._log.warning("spawner lost, asking the next one", address=launch.address)
        return await self._fallback.spawn(launch)

    async def _is_available(self, deadline: float) -> bool:
        """Whether a spawner is ready; waits until `deadline` for one that is being restarted."""
        if not self.ready.is_set() and self._restarts_at_once:
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

    async def _supervise(self) -> None:
        history = RestartHistory()
        while True:
            self._become("starting")
            ended, was_ready = await self._run_spawner()
            self.cause = ended.describe()
            now = asyncio.get_running_loop().time()
            verdict = decide(self._policy, history, ended, was_ready, now, random.random())
            assert isinstance(verdict, Restart), "the spawner is permanent and never parks"
            history, delay = verdict.history, verdict.delay_seconds
            self._restarts_at_once = delay == 0
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

    async def _run_spawner(self) -> tuple[ProcessExit, bool]:
        """Start one spawner and serve its link; return its exit, and whether it was ready."""
        log = Home(self._home).system.errors(SPAWNER_KIND)
        offset, killed = size_of(log), oom_kills()
        try:
            self.pid, link, ended = self._prestarted or self._fresh_spawner(log)
        except OSError as error:
            self._log.error("the spawner cannot be started", reason=str(error))
            return ProcessExit(code=EXIT_NOT_MADE, text=f"it cannot be started: {error}"), False
        self._prestarted = None
        self.on_start(self.pid)
        reader, self._writer = await asyncio.open_unix_connection(sock=link)
        self._writer.write(_frame({"log": str(log), "prepares": self._prepares}))
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

    def _fresh_spawner(self, log: Path) -> "tuple[int, socket.socket, asyncio.Future[ProcessExit]]":
        pid, link = start_spawner(environment_for(SPAWNER_KIND, self._environ), log)
        return pid, link, self._reaper.watch(pid)

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
        """Forget a spawner that has ended, and kill its processes with unknown pids first."""
        self.ready.clear()
        self.pid = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        lost, self._waiting = self._waiting, {}
        for _ in lost:
            self._reaper.settle()
        if lost:
            self._kill_orphans()
        for waiting in lost.values():
            if not waiting.done():
                waiting.set_exception(SpawnerDown("the spawner ended"))


def _frame(value: dict[str, Any]) -> bytes:
    data: bytes = msgpack.packb(value, use_bin_type=True)
    return len(data).to_bytes(4, "big") + data
