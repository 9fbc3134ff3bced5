"""Launchers: a launch goes in, a running process comes out. `exec` works anywhere, `fork` is fast.

The seam is the Launcher protocol; another machine's host can be one more.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgpack

from actors.child import framed_launch, log_file
from actors.environment import environment_for
from actors.launch import Launch
from actors.supervisor.reaper import Reaper
from actors.supervisor.restarts import Exit
from agiraph.errors import Unavailable

PASSED_FD = 3
FIRST_BACKOFF_SECONDS = 0.2
MAX_BACKOFF_SECONDS = 30.0
# A spawner that was well a moment ago is back in about a second. Fresh interpreters in its stead,
# many at once, would only keep it from that.
NEXT_SPAWNER_SECONDS = 5.0


class SpawnerDown(Unavailable):
    """The spawner died before it could answer."""


class SpawnFailed(Unavailable):
    """The process could not be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that exists and is watched."""

    pid: int
    ended: "asyncio.Future[Exit]"


def environment_of(launch: Launch, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of `environ` the process of a launch may see."""
    return environment_for(launch.kind, environ, launch.config.get("channels", {}))


class Launcher(Protocol):
    """Brings processes to life."""

    async def spawn(self, launch: Launch) -> Spawned:
        """Start the process of a launch; raises SpawnFailed."""
        ...


class ExecLauncher:
    """Starts a fresh interpreter per process."""

    def __init__(self, reaper: Reaper, environ: Mapping[str, str]) -> None:
        """Hand deaths to `reaper`; children get what `environ` may show them."""
        self._reaper = reaper
        self._environ = environ
        self._lifelines: dict[int, asyncio.WriteTransport] = {}

    async def spawn(self, launch: Launch) -> Spawned:
        """Start the process; its launch goes through a pipe that stays open as its lifeline."""
        for_child, ours = os.pipe()
        try:
            pid = run_inner(
                "_actor",
                for_child,
                environment_of(launch, self._environ),
                log_file(launch.home, launch.address),
            )
        except OSError as error:
            os.close(ours)
            raise SpawnFailed(f"{launch.address}: {error}") from None
        finally:
            os.close(for_child)
        spawned = Spawned(pid, self._reaper.watch(pid))
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(
            asyncio.Protocol, os.fdopen(ours, "wb", 0)
        )
        transport.write(framed_launch(launch, os.getpid()))
        self._lifelines[pid] = transport
        spawned.ended.add_done_callback(lambda _: self._lifelines.pop(pid).close())
        return spawned


class ForkLauncher:
    """Asks the spawner to fork, the next one if it just died; else a fresh interpreter does it."""

    def __init__(
        self,
        reaper: Reaper,
        environ: Mapping[str, str],
        fallback: ExecLauncher,
        home: Path,
        sweep: Callable[[], None],
        log: Any,
    ) -> None:
        """`sweep` is called when the spawner died and may have left a process of unknown pid."""
        self._reaper = reaper
        self._environ = environ
        self._fallback = fallback
        self._home = home
        self._sweep = sweep
        self._log = log
        self.on_start: Callable[[int], None] = lambda _pid: None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[Spawned]] = {}
        self._count = 0
        self._keeping: asyncio.Task[None] | None = None
        self._was_well = False
        self.ready = asyncio.Event()
        self.pid: int | None = None

    def start(self) -> None:
        """Start the spawner and keep it alive until `stop`."""
        self._keeping = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Let the spawner go; it ends when its link is closed."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])

    async def spawn(self, launch: Launch) -> Spawned:
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
        if not self.ready.is_set() and self._was_well:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self.ready.wait()
        return self.ready.is_set()

    async def _ask(self, writer: asyncio.StreamWriter, launch: Launch) -> Spawned:
        self._count += 1
        answer: asyncio.Future[Spawned] = asyncio.get_running_loop().create_future()
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
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            self._was_well = await self._one_spawner()
            backoff = 0.0 if self._was_well else _longer(backoff)
            self._log.warning("spawner ended, starting another", after_seconds=backoff)
            await asyncio.sleep(backoff)

    async def _one_spawner(self) -> bool:
        """Start one spawner and serve its link to the end; return whether it was ever ready."""
        ours, for_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            environ = environment_for("spawner", self._environ)
            self.pid = run_inner(
                "_spawner", for_child.fileno(), environ, log_file(self._home, "spawner")
            )
        except OSError as error:
            self._log.error("the spawner cannot be started", reason=str(error))
            ours.close()
            return False
        finally:
            for_child.close()
        ended = self._reaper.watch(self.pid)
        self.on_start(self.pid)
        reader, self._writer = await asyncio.open_unix_connection(sock=ours)
        try:
            await self._read_answers(reader)
            await ended
        finally:
            was_ready = self.ready.is_set()
            self._lose()
        return was_ready

    async def _read_answers(self, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = msgpack.unpackb(await reader.readexactly(size), raw=False)
                if "ready" in answer:
                    self._log.debug("spawner ready", modules=answer["ready"])
                    self.ready.set()
                else:
                    self._settle(answer)

    def _settle(self, answer: dict[str, Any]) -> None:
        waiting = self._waiting.pop(answer["id"], None)
        if "pid" in answer:
            spawned = Spawned(answer["pid"], self._reaper.watch(answer["pid"]))
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


def _longer(backoff: float) -> float:
    return min(max(backoff * 2, FIRST_BACKOFF_SECONDS), MAX_BACKOFF_SECONDS)


def run_inner(word: str, fd: int, environ: Mapping[str, str], log: Path) -> int:
    """Start `python -P -m agiraph WORD` with `fd` as its descriptor 3; return its pid.

    posix_spawn passes nothing else on: all our descriptors close on exec.
    """
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, fd, PASSED_FD),
    ]
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "agiraph", word],
        dict(environ),
        file_actions=actions,
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE),
        setsid=sys.platform == "linux",
    )


def _frame(value: dict[str, Any]) -> bytes:
    data: bytes = msgpack.packb(value, use_bin_type=True)
    return len(data).to_bytes(4, "big") + data
