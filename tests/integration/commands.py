"""The real command line in its own processes, and a check for processes that it leaves behind."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agiraph.http.discovery import is_held
from tests.fakes.forked_command import FRONT_DOOR, ForkedCommand
from tests.fakes.front_door import run_here
from tests.integration.waiting import until

DEADLINE_SECONDS = 60.0
KEYS = ("ANTHROPIC_", "OPENAI_", "OPENROUTER_", "MOONSHOT_", "MINIMAX_", "AGIRAPH_")
SUPERVISOR = (FRONT_DOOR, "_supervisor")


class Commands:
    """Runs `agiraph` on one home, with the keys of `environ` and no others."""

    def __init__(self, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self.home = home
        kept = {k: v for k, v in os.environ.items() if not k.startswith(KEYS)}
        self.environ = kept | {"AGIRAPH_HOME": str(home)} | dict(environ or {})

    def start(
        self, *args: str, cwd: Path | None = None, stdin: int = subprocess.DEVNULL
    ) -> ForkedCommand:
        """Start a command and return its process."""
        return ForkedCommand(args, cwd=cwd or Path.cwd(), env=self.environ, stdin=stdin)

    @contextmanager
    def running(self, *args: str) -> Iterator[ForkedCommand]:
        """Keep a command running; it is killed at the end, or when it takes too long."""
        process = self.start(*args)
        watchdog = threading.Timer(DEADLINE_SECONDS, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()
            process.communicate()

    def run(
        self, *args: str, cwd: Path | None = None, stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        process = self.start(*args, cwd=cwd, stdin=pipe)
        if process.stdin is not None:
            process.stdin.write(stdin or "")
        try:
            out, err = process.communicate(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{args} did not end:\n{out}\n{err}") from None
        return subprocess.CompletedProcess(args, process.wait(), out, err)

    def program(self, *args: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end like a person, with all of its imports."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "agiraph", *args],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
        )

    def here(self, *args: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command to its end in this process."""
        cwd = self.home if self.home.exists() else Path.cwd()
        return run_here(args, cwd=cwd, environ=self.environ, stdin=stdin)

    def json(self, *args: str) -> Any:
        """Run a command with --json in this process and return its one value."""
        done = self.here(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @contextmanager
    def supervisor(self, program: tuple[str, ...] = SUPERVISOR) -> Iterator[None]:
        """Keep a supervisor running on the home; `program` is MODULE:FUNCTION and its words."""
        function, *words = program
        process = ForkedCommand(
            (*words, "--until-eof"),
            cwd=Path.cwd(),
            env=self.environ,
            stdin=subprocess.PIPE,
            program=function,
        )
        try:
            assert process.stdout is not None
            assert "ready" in process.stdout.readline()
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            _, err = process.communicate(timeout=DEADLINE_SECONDS)
            assert process.returncode == 0, err


def processes_of(home: Path) -> dict[int, str]:
    """Return the processes that have a file of this home open, such as their log."""
    found = {}
    for fds in Path("/proc").glob("[0-9]*/fd"):
        pid = int(fds.parent.name)
        try:
            targets = [os.readlink(fd) for fd in fds.iterdir()]
            if any(target.startswith(f"{home}/") for target in targets):
                found[pid] = (fds.parent / "cmdline").read_text().replace("\0", " ").strip()
        except OSError:
            continue  # it has just ended
    return found


def await_nothing_left(home: Path) -> None:
    """Wait until this home has no process and its lock is free."""
    left: dict[int, str] = {}

    def is_alone() -> bool:
        nonlocal left
        if is_held(home):
            return False
        left = processes_of(home)
        return not left and not is_held(home)

    try:
        until(is_alone, "the end of all", within_seconds=20)
    except AssertionError:
        raise AssertionError(f"still there: {left}") from None
