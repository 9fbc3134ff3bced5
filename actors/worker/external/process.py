"""ExternalAgentProcess: an external agent as a child process; all of it ends with the worker.

Between the agent and the worker is its process guard (`agiraph/external/process_guard.py`), which
kills all descendants of the agent when the agent or the worker ends.
"""

import asyncio
import codecs
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

from actors.runtime.processes import all_processes, descendants, kill_all
from agiraph.core.json_text import parse_json
from agiraph.external import process_guard
from agiraph.storage.files import is_folder, make_folder, read_bytes, remove_tree
from agiraph.tools.runner import until_gone as until_session_gone
from agiraph.tools.sandbox.standin import remove_of_killed

ROOT = str(Path(process_guard.__file__).parents[2])
MARK = "AGIRAPH_WARDEN"
STDERR_CHARACTERS = 4000
CHUNK_BYTES = 65536
GUARD_SECONDS = 5.0
REAP_SECONDS = 2.0
DRAIN_SECONDS = 0.5
STARTED_POLL_SECONDS = 0.005
EXIT_POLL_SECONDS = 0.05
GUARD_POLL_SECONDS = 0.02


class ExternalAgentProcess:
    """One running external agent, created by `start`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        transport: asyncio.SubprocessTransport,
        folder: Path,
        lifeline: int,
    ) -> None:
        self._process = process
        self._transport = transport
        self._folder = folder
        self._lifeline: int | None = lifeline
        self._stderr = asyncio.create_task(self._read_stderr())
        self._exited = asyncio.create_task(self._until_exited())
        self.stderr = ""
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
        keeps_stdin_open: bool,
        standins: Sequence[str] = (),
    ) -> "ExternalAgentProcess":
        """Start `command` below a process guard, write `opening` to its stdin, and return it.

        Stdin is then closed unless `keeps_stdin_open`. The guard writes the process ids into
        `folder` and keeps the stand-ins at the paths `standins`. Raises OSError or ValueError.
        """
        forget(folder)
        make_folder(folder, 0o700)
        read_fd, write_fd = os.pipe()
        try:
            process, transport = await _subprocess(
                *(sys.executable, "-I", "-S", "-c", process_guard.START, ROOT),
                *(str(folder), str(read_fd), str(len(standins)), *standins, *command),
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
            await self._until_started()
        except BaseException:
            await self._end()
            raise
        self.write(opening)
        if not keeps_stdin_open:
            self.close_stdin()
        return self

    async def _until_started(self) -> None:
        """Wait until the guard has written the process ids, or has exited."""
        with suppress(TimeoutError):
            async with asyncio.timeout(REAP_SECONDS):
                while self._process.returncode is None and self.pid is None:  # noqa: ASYNC110
                    await asyncio.sleep(STARTED_POLL_SECONDS)

    @property
    def pid(self) -> int | None:
        """The agent's own process id, None if it has not started yet."""
        identity = _identity(self._folder)
        return identity["agent"] if identity else None

    def write(self, data: bytes) -> None:
        """Write to the agent's stdin; do nothing if it is closed or the agent has ended."""
        stdin = self._process.stdin
        if stdin is not None and data and not stdin.is_closing():
            with suppress(OSError):
                stdin.write(data)

    def close_stdin(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def read(self) -> bytes:
        """Return the next bytes of the agent's stdout; b"" at the end."""
        assert self._process.stdout is not None
        reading = asyncio.create_task(self._process.stdout.read(CHUNK_BYTES))
        try:
            await asyncio.wait({reading, self._exited}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({reading}, timeout=DRAIN_SECONDS)
            return reading.result() if reading.done() else b""
        finally:
            reading.cancel()

    async def ended(self) -> int:
        """Return the agent's exit code when the agent and all descendants have ended."""
        await asyncio.wait([self._exited])
        await asyncio.wait([self._stderr], timeout=DRAIN_SECONDS)
        try:
            ended = parse_json(read_bytes(self._folder / process_guard.ENDED))
        except (OSError, ValueError):  # its guard was killed, and the agent with it
            return -signal.SIGKILL
        return int(ended["exit_code"])

    def pause(self) -> None:
        self._signal_all(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)
        self.is_paused = False

    async def stop(self, grace_seconds: float) -> None:
        """Terminate the agent; after `grace_seconds`, kill it and all descendants."""
        if self.is_paused:
            self.resume()
        if self._process.returncode is None and grace_seconds > 0:
            with suppress(ProcessLookupError):
                self._process.terminate()
            await asyncio.wait([self._exited], timeout=grace_seconds)
        await self._end()

    async def _end(self) -> None:
        """Close the lifeline, and kill all processes that the guard has not killed."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        await asyncio.wait([self._exited], timeout=REAP_SECONDS)
        if self._process.returncode is None:
            with suppress(psutil.Error):
                kill_all([*descendants(self._process.pid), psutil.Process(self._process.pid)])
            await asyncio.wait([self._exited], timeout=REAP_SECONDS)
        if self._process.returncode != 0:  # the guard was killed: its adopted processes live
            kill_all(_orphans(self._folder))
            await asyncio.to_thread(_remove_standins, self._folder)
        for task in (self._stderr, self._exited):
            task.cancel()
        await asyncio.wait([self._stderr, self._exited])
        self._transport.close()  # its pipes, too
        await asyncio.sleep(0)  # which the loop closes now

    def _signal_all(self, number: int) -> None:
        for process in descendants(self._process.pid):
            with suppress(psutil.Error):
                process.send_signal(number)

    async def _until_exited(self) -> None:
        """Wait until the guard has exited, even while its pipes are still open.

        If the guard was killed, descendants of the agent may outlive it and keep the pipes open.
        """
        while self._process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the pipes too
            await asyncio.sleep(EXIT_POLL_SECONDS)

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := await self._process.stderr.read(CHUNK_BYTES):
            self.stderr = (self.stderr + decoder.decode(data))[-STDERR_CHARACTERS:]


async def _subprocess(
    *command: str, **options: Any
) -> tuple[asyncio.subprocess.Process, asyncio.SubprocessTransport]:
    """Call `create_subprocess_exec` with three pipes, and return its transport as well.

    Without the transport the pipes cannot be closed: `wait` returns as soon as the exit code is
    known, and leaves them to the garbage collector.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        partial(SubprocessStreamProtocol, limit=CHUNK_BYTES, loop=loop), *command, **options
    )
    return asyncio.subprocess.Process(transport, protocol, loop), transport


async def until_gone(folder: Path) -> None:
    """Wait until the agent of a dead incarnation has ended; kill it if that takes too long."""
    try:
        async with asyncio.timeout(GUARD_SECONDS):
            while _living(folder):  # noqa: ASYNC110 - not our child: nothing notifies us
                await asyncio.sleep(GUARD_POLL_SECONDS)
    except TimeoutError:
        pass  # another process stopped its guard
    finally:
        forget(folder)


def forget(folder: Path) -> None:
    """Kill a folder's guard if it still lives, with its descendants; remove the folder."""
    for process in _living(folder):
        kill_all([*descendants(process.pid), process])
    if is_folder(folder):
        kill_all(_orphans(folder))
        _remove_standins(folder)
        remove_tree(folder)


def _remove_standins(folder: Path) -> None:
    """Remove the stand-ins of a guard that was killed, once its agent is gone."""
    identity = _identity(folder)
    if identity and identity.get("standins") and until_session_gone(identity["agent"]):
        remove_of_killed(identity["standins"])


def _living(folder: Path) -> list[psutil.Process]:
    """Return the guard of a folder if it lives, never another process that has its pid now."""
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
    """Return all processes started under a guard, found by their environment variable."""
    found = []
    for process in all_processes():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(folder):
                found.append(process)
    return found


def _identity(folder: Path) -> dict[str, Any] | None:
    try:
        identity: dict[str, Any] = parse_json(read_bytes(folder / process_guard.IDENTITY))
    except (OSError, ValueError):
        return None
    return identity
