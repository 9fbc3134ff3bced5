"""Processes of the command line that need no imports: forked from a process that has made them.

Such a process is equal to `python -m agiraph ARGS...`; other tests start the command line as a real
program. The first processes that such a process starts are forked as well
(`tests.fakes.interpreters`).
"""

import contextlib
import fcntl
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from threading import Thread
from typing import IO, Any

import setproctitle

FRONT_DOOR = "agiraph.__main__:main"
PRELOADED = (
    "tests.fakes.uncollected",
    *(
        "agiraph.__main__",
        "tests.fakes.forked_command",
        "cli.main",
        "cli.run.command",
        "cli.run.target",
        "cli.run.watch",
    ),
    *("cli.run.progress", "agiraph.http.own_supervisor", "tests.fakes.interpreters"),
    *("httpx", "click", "pydantic", "zmq.asyncio", "psutil", "yaml", "msgpack"),
    *("uvicorn", "mcp", "cli.console.ui.main", "cli.console.ui.top_app"),
    *("anyio._backends._asyncio", "uvicorn.server", "uvicorn.lifespan.off", "encodings.idna"),
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "tests.fakes.huge_pages",
)
"""The imported modules. No process name is among them: tests find processes by their titles in
`ps`."""


class ForkedCommand:
    """Like `Popen([python, "-m", "agiraph", *args], text=True)`, in a tenth of the time."""

    def __init__(
        self,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int = subprocess.DEVNULL,
        stderr: int = subprocess.PIPE,
        program: str = FRONT_DOOR,
    ) -> None:
        """Start `program`, MODULE:FUNCTION.

        `stdin` is DEVNULL or PIPE, `stderr` PIPE or a file that stays the caller's.
        """
        self.args = tuple(args)
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None
        self.stderr: IO[str] | None = None
        reader = os.open(os.devnull, os.O_RDONLY)
        self.stdout, writer = _pipe("r")
        if stdin == subprocess.PIPE:
            os.close(reader)
            reader, self.stdin = _pipe("w")
        if stderr == subprocess.PIPE:
            self.stderr, errors = _pipe("r")
        else:
            errors = os.dup(stderr)
        self._process = begun(program, self.args, cwd, env, [reader, writer, errors])
        self._listeners: list[Thread] = []
        self._said: dict[str, str] = {}

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, None while it runs; minus the signal's number after a signal."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its code; subprocess.TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Close its input; return its output until its end; subprocess.TimeoutExpired."""
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        if not self._listeners:
            self._listen("out", self.stdout)
            self._listen("err", self.stderr)
        self.wait(timeout)
        for thread in self._listeners:
            thread.join(timeout)
        return self._said.get("out", ""), self._said.get("err", "")

    def _listen(self, name: str, pipe: IO[str] | None) -> None:
        def listen(pipe: IO[str]) -> None:
            with contextlib.closing(pipe):
                self._said[name] = pipe.read()

        if pipe is not None:
            self._listeners.append(Thread(target=listen, args=(pipe,), daemon=True))
            self._listeners[-1].start()

    def send_signal(self, number: int) -> None:
        """Signal it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)


def begun(
    program: str,
    args: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    ends: Sequence[int],
    *,
    is_at_terminal: bool = False,
) -> BaseProcess:
    """Start `program` with these three streams, which are closed here; return its process.

    With `is_at_terminal` they are a terminal, and the process leads its own session on it.
    """
    target = _go_through_at_terminal if is_at_terminal else _go_through
    process = forking().Process(
        target=target, args=(program, tuple(args), str(cwd), dict(env), _Ends(ends)), daemon=True
    )
    try:
        process.start()
    finally:
        for end in set(ends):
            os.close(end)
    return process


class _Ends:
    """Ends of pipes that are sent to the process to become its standard streams."""

    def __init__(self, ends: Sequence[int]) -> None:
        self._ends = ends

    def __reduce__(self) -> tuple[Any, ...]:
        return _Given, tuple(DupFd(end) for end in self._ends)


class _Given:
    """The same ends, in the process."""

    def __init__(self, *ends: Any) -> None:
        self.ends = [end.detach() for end in ends]


def forking() -> multiprocessing.context.ForkServerContext:
    """Return the context that forks preloaded processes; a process has only one of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    return context


def _pipe(mode: str) -> tuple[Any, Any]:
    """Return a pipe whose end for this process is a text file, in the position for `mode`."""
    reader, writer = os.pipe()
    if mode == "r":
        return open(reader, encoding="utf-8"), writer
    return reader, open(writer, "w", encoding="utf-8", buffering=1)


def _go_through_at_terminal(
    program: str, args: Sequence[str], cwd: str, env: Mapping[str, str], given: Any
) -> None:
    """Become the process at the terminal that all three streams refer to."""
    os.setsid()
    fcntl.ioctl(given.ends[0], termios.TIOCSCTTY, 0)
    _go_through(program, args, cwd, env, given)


def begin_as_program(args: Sequence[str], env: Mapping[str, str]) -> None:
    """Set Python's streams to descriptors 0 to 2, and set these words and only these variables."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    variables = dict(env)  # they may be our own
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["agiraph", *args]


def _go_through(
    program: str, args: Sequence[str], cwd: str, env: Mapping[str, str], given: Any
) -> None:
    """Become the process, with the streams, folder, variables and words of a program."""
    for end, stream in zip(given.ends, (0, 1, 2), strict=True):
        os.dup2(end, stream)
        os.close(end)
    os.chdir(cwd)
    setproctitle.getproctitle()  # it finds its place by the original environment
    begin_as_program(args, env)
    gc.freeze()
    gc.enable()
    module, _, function = program.partition(":")
    if program == FRONT_DOOR:
        import_module("tests.fakes.interpreters").fork_instead()
    try:
        getattr(import_module(module), function)()
    finally:
        sys.stdout.flush()
