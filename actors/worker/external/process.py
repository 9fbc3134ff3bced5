"""ExternalAgentProcess: an outside agent as a child of this process; nothing of it outlives us.

Between the agent and us stands its warden (`agiraph/external/process_guard.py` tells its life): a
process that kills whatever descends from the agent when the agent ends, or when we do.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from actors.runtime.processes import descendants, kill_all
from agiraph.external import process_guard
from agiraph.external.text import Utf8Decoder
from agiraph.storage.files import is_folder, make_folder, read_bytes, remove_tree

ROOT = str(Path(process_guard.__file__).parents[2])
MARK = "AGIRAPH_WARDEN"
COMPLAINT_CHARACTERS = 4000
CHUNK_BYTES = 65536
GONE_SECONDS = 5.0
REAP_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 0.02
BEGUN_SECONDS = 0.005
GONE_LOOK_SECONDS = 0.05
LAST_WORDS_SECONDS = 0.5


class ExternalAgentProcess:
    """One running outside agent."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        transport: asyncio.SubprocessTransport,
        folder: Path,
        lifeline: int,
    ) -> None:
        """Hold what `start` has begun."""
        self._process = process
        self._transport = transport
        self._folder = folder
        self._lifeline: int | None = lifeline
        self._complaints = asyncio.create_task(self._hear_complaints())
        self._gone = asyncio.create_task(self._until_gone())
        self.complaint = ""
        self.is_paused = False

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: dict[str, str],
        cwd: Path,
        folder: Path,
        opening: bytes,
        keeps_listening: bool,
    ) -> "ExternalAgentProcess":
        """Start a command; its stdin is closed behind `opening` unless it `keeps_listening`.

        `folder` is where its warden says who it is. Raises OSError or ValueError if it cannot be.
        """
        forget(folder)
        make_folder(folder, 0o700)
        read_fd, write_fd = os.pipe()
        try:
            process, transport = await _subprocess(
                *(sys.executable, "-I", "-S", "-c", process_guard.START, ROOT),
                *(str(folder), str(read_fd), *command),
                cwd=cwd,
                env=environment | {MARK: str(folder)},
                pass_fds=(read_fd,),
                start_new_session=True,
            )
        except BaseException:
            os.close(write_fd)
            raise
        finally:
            os.close(read_fd)
        self = cls(process, transport, folder, write_fd)
        try:
            await self._begun()
        except BaseException:
            await self._end()
            raise
        self.write(opening)
        if not keeps_listening:
            self.close_stdin()
        return self

    async def _begun(self) -> None:
        """Wait until its warden has said who it is, or has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(REAP_SECONDS):
                while self._process.returncode is None and self.pid is None:  # noqa: ASYNC110
                    await asyncio.sleep(BEGUN_SECONDS)

    @property
    def pid(self) -> int | None:
        """The agent's own process id, None if it has not begun yet."""
        identity = _identity(self._folder)
        return identity["agent"] if identity else None

    def write(self, data: bytes) -> None:
        """Write to its stdin; nothing if that is closed or it has ended."""
        stdin = self._process.stdin
        if stdin is not None and data and not stdin.is_closing():
            with suppress(OSError):
                stdin.write(data)

    def close_stdin(self) -> None:
        """Tell it that nothing more will come."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def read(self) -> bytes:
        """Return the next bytes of its stdout; b"" when there will be no more."""
        assert self._process.stdout is not None
        reading = asyncio.create_task(self._process.stdout.read(CHUNK_BYTES))
        try:
            await asyncio.wait({reading, self._gone}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({reading}, timeout=LAST_WORDS_SECONDS)
            return reading.result() if reading.done() else b""
        finally:
            reading.cancel()

    async def ended(self) -> int:
        """Wait until it and all its descendants are gone; return its exit code, as of `wait`."""
        await asyncio.wait([self._gone])
        await asyncio.wait([self._complaints], timeout=LAST_WORDS_SECONDS)
        try:
            ended = json.loads(read_bytes(self._folder / process_guard.ENDED))
        except (OSError, ValueError):  # its warden was killed, and it with it
            return -signal.SIGKILL
        return int(ended["exit_code"])

    def pause(self) -> None:
        """Let it and all its descendants stand still."""
        self._signal_all(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)
        self.is_paused = False

    async def stop(self, grace_seconds: float) -> None:
        """End it: asked first, killed with all that descends from it after the grace."""
        if self.is_paused:
            self.resume()
        if self._process.returncode is None and grace_seconds > 0:
            with suppress(ProcessLookupError):
                self._process.terminate()
            await asyncio.wait([self._gone], timeout=grace_seconds)
        await self._end()

    async def _end(self) -> None:
        """Let the lifeline go; kill what the warden, for whatever reason, did not."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        await asyncio.wait([self._gone], timeout=REAP_SECONDS)
        if self._process.returncode is None:
            with suppress(psutil.Error):
                kill_all([*descendants(self._process.pid), psutil.Process(self._process.pid)])
            await asyncio.wait([self._gone], timeout=REAP_SECONDS)
        if self._process.returncode != 0:  # it was killed: what it had adopted lives
            kill_all(_orphans(self._folder))
        for task in (self._complaints, self._gone):
            task.cancel()
        await asyncio.wait([self._complaints, self._gone])
        self._transport.close()  # its pipes too, which it does not need any more
        await asyncio.sleep(0)  # when they are closed

    def _signal_all(self, number: int) -> None:
        for process in descendants(self._process.pid):
            with suppress(psutil.Error):
                process.send_signal(number)

    async def _until_gone(self) -> None:
        """Wait for the warden's end, whoever else may hold its pipes then.

        What the agent has started may hold them, if the warden was killed and they outlive it.
        """
        while self._process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the pipes too
            await asyncio.sleep(GONE_LOOK_SECONDS)

    async def _hear_complaints(self) -> None:
        assert self._process.stderr is not None
        decoder = Utf8Decoder()
        while data := await self._process.stderr.read(CHUNK_BYTES):
            self.complaint = (self.complaint + decoder.text(data))[-COMPLAINT_CHARACTERS:]


async def _subprocess(
    *command: str, **options: Any
) -> tuple[asyncio.subprocess.Process, asyncio.SubprocessTransport]:
    """Do as `create_subprocess_exec` does with three pipes, and return its transport as well.

    Who does not have that cannot close the pipes: `ChildProcess.wait` returns as soon as the exit
    code is known, and leaves them to the garbage collector.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        partial(SubprocessStreamProtocol, limit=CHUNK_BYTES, loop=loop), *command, **options
    )
    return asyncio.subprocess.Process(transport, protocol, loop), transport


async def until_gone(folder: Path) -> None:
    """Wait until the agent of a dead incarnation is gone; kill it if it does not go."""
    try:
        async with asyncio.timeout(GONE_SECONDS):
            while _living(folder):  # noqa: ASYNC110 - not our child: nobody tells
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
    except TimeoutError:
        pass  # somebody froze its warden
    finally:
        forget(folder)


def forget(folder: Path) -> None:
    """Remove what a warden left, and kill it if it still lives."""
    for process in _living(folder):
        kill_all([*descendants(process.pid), process])
    if is_folder(folder):
        kill_all(_orphans(folder))
        remove_tree(folder)


def _living(folder: Path) -> list[psutil.Process]:
    """Return the warden and the agent of a folder that live: never others that have their pids."""
    identity = _identity(folder)
    if identity is None:
        return []
    try:
        process = psutil.Process(identity["pid"])
        is_it = str(folder) in process.cmdline()
    except psutil.Error:
        return []
    return [process] if is_it and process.status() != psutil.STATUS_ZOMBIE else []


def _orphans(folder: Path) -> list[psutil.Process]:
    """Return whatever was started under a warden, by the variable that says so."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(folder):
                found.append(process)
    return found


def _identity(folder: Path) -> dict[str, int] | None:
    try:
        identity: dict[str, int] = json.loads(read_bytes(folder / process_guard.IDENTITY))
    except (OSError, ValueError):
        return None
    return identity
