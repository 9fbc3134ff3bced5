"""Command: one shell command in a session of its own, bounded in time, memory and output.

The command leads its own session. When it ends, by itself, by its time or because the entity was
stopped, everything that is left in that session is killed, background jobs too (with `set -m`
they have process groups of their own, so a signal to the group would miss them). Killed at its
time or by a stop, its whole tree of descendants goes, those that began another session too.

Its output is read from one pipe as it comes, errors between the lines they belong to, and only
the beginning and the end are kept: a command that prints for ever costs no memory. The limits are
set by a small shell before it becomes the command, not by code between fork and exec, which is
unsafe in a process with threads.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SHELL = "bash"
PIPE_CHUNK = 65536
DRAIN_READS = 64
REAP_SECONDS = 2.0
KILL_ROUNDS = 20

# $1 memory in KiB, $2 tasks, $3 the command. A limit that this machine does not know, or that a
# stricter one of the user's forbids, is passed over.
LIMITED = """
{ ulimit -c 0
  [ "$1" = 0 ] || ulimit -v "$1"
  [ "$2" = 0 ] || ulimit -u "$2"
} 2>/dev/null
exec "$BASH" -c "$3" bash
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use. 0 means no limit, for `memory_mb` and `processes`."""

    seconds: float
    output: int
    memory_mb: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended. `exit_code` is None if its time ran out; negative for a signal."""

    output: str
    exit_code: int | None


@dataclass(slots=True)
class Kept:
    """The beginning and the end of an output of any length, `limit` bytes in all."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        room = self.limit - self.limit // 2 - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.limit:  # cut rarely, not at every piece
            self._cut()

    def _cut(self) -> None:
        del self.tail[: max(0, len(self.tail) - self.limit // 2)]

    def text(self) -> str:
        """Return what was kept, saying how much was left out between."""
        self._cut()
        left_out = self.total - len(self.head) - len(self.tail)
        if left_out == 0:
            return (self.head + self.tail).decode("utf-8", errors="replace")
        head = self.head.decode("utf-8", errors="ignore")
        tail = self.tail.decode("utf-8", errors="ignore")
        note = f"[{left_out} bytes of {self.total} left out here; send output to a file to see all]"
        return f"{head}\n{note}\n{tail}"


async def run_command(
    command: str, *, cwd: Path, environment: dict[str, str], limits: Limits
) -> Finished:
    """Run `command` in bash with nothing on stdin; OSError or ValueError if it cannot start.

    Cancelling the task kills the command before the cancellation goes on.
    """
    kept = Kept(limits.output)
    read_fd, write_fd = os.pipe()
    try:
        process = await _start(_arguments(command, limits), cwd, environment, write_fd)
        with _collecting(read_fd, kept):
            exit_code = await _end(process, limits.seconds)
    finally:
        os.close(read_fd)
    return Finished(kept.text(), exit_code)


def _arguments(command: str, limits: Limits) -> tuple[str, ...]:
    memory = str(limits.memory_mb * 1024)
    tasks = str(tasks_of_user() + limits.processes if limits.processes else 0)
    return (SHELL, "-c", LIMITED, SHELL, memory, tasks, command)


async def _start(
    arguments: tuple[str, ...], cwd: Path, environment: dict[str, str], output: int
) -> asyncio.subprocess.Process:
    """Start it, writing into `output`, which is closed here.

    The pipe is ours because a wait for one with asyncio's pipes lasts until nobody holds them.
    """
    try:
        return await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(output)


@contextmanager
def _collecting(read_fd: int, kept: Kept) -> Iterator[None]:
    """Read into `kept` as output comes, and at the end what still stands in the pipe."""
    loop = asyncio.get_running_loop()
    os.set_blocking(read_fd, False)

    def read() -> bool:
        try:
            data = os.read(read_fd, PIPE_CHUNK)
        except BlockingIOError:
            return False
        kept.add(data)
        if not data:
            loop.remove_reader(read_fd)
        return bool(data)

    loop.add_reader(read_fd, read)
    try:
        yield
    finally:
        loop.remove_reader(read_fd)
        for _ in range(DRAIN_READS):
            if not read():
                break


async def _end(process: asyncio.subprocess.Process, seconds: float) -> int | None:
    """Wait for the command to end; in whatever way it does, nothing of its session is left."""
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            kill_tree(process.pid)
        kill_session(process.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(REAP_SECONDS):
                await process.wait()


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants, stopping each first so that none forks on."""
    with suppress(psutil.Error):
        family = [psutil.Process(pid)]
        for process in family:
            with suppress(psutil.Error):
                process.suspend()
                family += process.children()
        for process in family:
            with suppress(psutil.Error):
                process.kill()


def kill_session(session: int) -> None:
    """Kill every process of a session, looking again until there is no new one."""
    killed: set[int] = set()
    for _ in range(KILL_ROUNDS):
        members = {pid for pid in psutil.pids() if session_of(pid) == session} - killed
        if not members:
            return
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= members


def session_of(pid: int) -> int | None:
    """Return the session a process belongs to, None if it is gone or not ours to see."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def tasks_of_user() -> int:
    """Return how many tasks this user has: the kernel counts them all against one's limit."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if entry.stat().st_uid == os.getuid():
                count += (entry / "task").stat().st_nlink - 2
    return count
