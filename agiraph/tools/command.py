"""Command: one shell command, limited in time, memory and output, whose outcome is kept.

The command is run by a small separate process, the runner (`runner.py`), which stores the outcome
in the call's folder. So the next incarnation of an entity that died before it recorded the outcome
can still read it.

However a command ends, all remaining processes in its session are killed, background jobs too (with
`set -m` they have process groups of their own, so a signal to the group would miss them). When it
is killed, at its time limit or by a stop, its whole tree of descendants is killed, including
processes in another session.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from agiraph.core.json_text import parse_json
from agiraph.settings.config import ShellConfig
from agiraph.storage.files import entries, is_folder, make_folder, read_bytes, remove_tree
from agiraph.tools import runner
from agiraph.tools.sandbox.standin import remove_of_killed

RUNNER = (sys.executable, "-I", "-S", "-c", runner.START, str(Path(runner.__file__).parent))
RUNNER_SLACK_SECONDS = 5.0
REAP_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 0.02
SHELL_SIGNAL_BASE = 128
CRASHES = range(132, 140)
"""Exit codes of programs that were killed or gave up, often at a limit: SIGILL to SIGSEGV."""


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of a command. 0 means no limit, except for `seconds` and `output`.

    `total_memory_mb` is the memory in use by all of its processes together, `processes` the number
    of processes and threads.
    """

    seconds: float
    output: int
    processes: int = 0
    total_memory_mb: int = 0

    def __str__(self) -> str:
        return (
            f"{self.total_memory_mb or 'no limit of'} MB of memory, "
            f"{self.processes or 'no limit of'} processes and threads, {self.seconds:g} seconds"
        )

    @classmethod
    def of(cls, shell: ShellConfig, seconds: float) -> "CommandLimits":
        """Return the limits of a command by the settings."""
        return cls(seconds, shell.output_limit, shell.processes, shell.total_memory_mb)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The outcome of a command. `exit_code` is None after a timeout; negative for a signal."""

    output: str
    exit_code: int | None


def how_ended(exit_code: int | None, out_of_time: str, limits: CommandLimits) -> str:
    """Return the end of a command, in brackets; `out_of_time` is the text for a timeout.

    A shell reports the signal by which its last program was killed as an exit code from 129 on.
    """
    if exit_code is None:
        return f"[{out_of_time}]"
    if exit_code < 0:
        return f"[killed by signal {-exit_code}]"
    if exit_code in CRASHES:
        name = signal.Signals(exit_code - SHELL_SIGNAL_BASE).name
        return f"[exit code {exit_code}: a program was ended by {name}; limits: {limits}]"
    return f"[exit code {exit_code}]"


async def run_command(
    command: str,
    *,
    folder: Path,
    cwd: Path,
    environment: dict[str, str],
    limits: CommandLimits,
    before: Sequence[str] = (),
    standins: Sequence[str] = (),
) -> CommandResult | None:
    """Run `command` in bash with empty stdin. Raises OSError, ValueError if it cannot start.

    `before` are arguments that run the shell in a sandbox (`Sandbox.enclose`); the runner itself
    stays outside, and holds the `standins`. `folder` belongs to the call and is created here; it
    keeps the outcome until `forget_command`. Returns None if the runner was killed before it stored
    an outcome. Cancelling the task kills the command before the cancellation continues.
    """
    forget_command(folder)
    make_folder(folder)
    with _lifeline() as stdin:
        process = await asyncio.create_subprocess_exec(
            *RUNNER,
            *_arguments(command, folder, limits),
            *(str(len(standins)), *standins, *before),
            stdin=stdin,
            stdout=asyncio.subprocess.DEVNULL,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        await _end(process, folder, limits.seconds + RUNNER_SLACK_SECONDS)
    return read_outcome(folder)


async def recover_command(folder: Path) -> CommandResult | None:
    """Return the outcome of a dead incarnation's command, None if unknown.

    A runner that still lives has lost its entity and is about to exit: this waits for the runner,
    and kills it if the task is cancelled.
    """
    try:
        async with asyncio.timeout(runner.ORPHAN_SECONDS + RUNNER_SLACK_SECONDS):
            while _living_runner(folder):  # noqa: ASYNC110 - not our child: no notification
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
    except TimeoutError:
        pass  # it is frozen, or its machine is
    finally:
        _kill(folder)
    return read_outcome(folder)


def forget_command(folder: Path) -> None:
    """Kill the remaining processes of a call, and remove its folder."""
    if is_folder(folder):
        _kill(folder)
        remove_tree(folder)


def forget_commands(calls: Path, but: Collection[str] = ()) -> None:
    """Forget every call in the folder `calls` except the named calls."""
    if is_folder(calls):
        for entry in entries(calls):
            if entry.name not in but:
                forget_command(calls / entry.name)


def read_outcome(folder: Path) -> CommandResult | None:
    """Return the outcome in a call's folder, None if there is none."""
    try:
        head, _, output = read_bytes(folder / runner.OUTCOME).partition(b"\n")
        about = parse_json(head)
        return CommandResult(_text(output, about["head"], about["total"]), about["exit_code"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def _text(kept: bytes, head: int, total: int) -> str:
    """Return an output as text: beginning and end, with a note about the omitted part between."""
    left_out = total - len(kept)
    if left_out == 0:
        return kept.decode("utf-8", errors="replace")
    begin = kept[:head].decode("utf-8", errors="ignore")
    end = kept[head:].decode("utf-8", errors="ignore")
    note = f"[{left_out} bytes of {total} left out here; send output to a file to see all]"
    return f"{begin}\n{note}\n{end}"


def _arguments(command: str, folder: Path, limits: CommandLimits) -> tuple[str, ...]:
    # The kernel's limit counts all tasks of the user; it only stops commands that fork faster than
    # the runner checks.
    tasks = tasks_of_user() + 2 * limits.processes if limits.processes else 0
    memory = limits.total_memory_mb << 20
    numbers = (limits.seconds, limits.output, tasks, memory, limits.processes)
    return (str(folder), *map(str, numbers), command)


@contextmanager
def _lifeline() -> Iterator[int]:
    """Yield the runner's stdin: a pipe whose other end closes when this process ends."""
    read_fd, write_fd = os.pipe()
    try:
        yield read_fd
    finally:
        os.close(read_fd)
        os.close(write_fd)


async def _end(process: asyncio.subprocess.Process, folder: Path, seconds: float) -> None:
    """Wait for the runner to exit; afterwards no process of the command remains."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        pass  # the runner was frozen
    finally:
        identity = _identity(folder)
        if process.returncode is None:
            runner.kill_tree(process.pid)
        if identity and read_outcome(folder) is None:
            runner.kill_session(identity["session"])
            await asyncio.to_thread(_remove_standins, identity)
        with suppress(TimeoutError):
            async with asyncio.timeout(REAP_SECONDS):
                await process.wait()


def _kill(folder: Path) -> None:
    """Kill the command of a dead incarnation, if its runner still lives."""
    identity = _identity(folder)
    if identity and _living_runner(folder):
        runner.kill_tree(identity["pid"])
        runner.kill_session(identity["session"])
    if identity:
        _remove_standins(identity)


def _remove_standins(identity: dict[str, Any]) -> None:
    """Remove the stand-ins of a runner that was killed, once its command is gone."""
    if identity.get("standins") and runner.until_gone(identity["session"]):
        remove_of_killed(identity["standins"])


def _identity(folder: Path) -> dict[str, Any] | None:
    try:
        identity: dict[str, Any] = parse_json(read_bytes(folder / runner.IDENTITY))
    except (FileNotFoundError, ValueError):  # ValueError: it was killed while it wrote
        return None
    return identity


def _living_runner(folder: Path) -> bool:
    """Whether the runner of a call lives, and not another process with its pid."""
    identity = _identity(folder)
    if identity is None:
        return False
    try:
        return str(folder) in psutil.Process(identity["pid"]).cmdline()
    except psutil.Error:
        return False


def tasks_of_user() -> int:
    """Return the number of this user's processes and threads, to which a limit applies."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):  # plain: /proc
        with suppress(OSError):
            if entry.stat().st_uid == os.getuid():
                count += (entry / "task").stat().st_nlink - 2
    return count
