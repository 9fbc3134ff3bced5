"""A supervisor that is started for one run and stopped after it.

It runs in a session of its own, so that Ctrl-C reaches only us; it exits when our end of its stdin
closes, which also happens if we are killed. Its stderr is stored, and shown if it fails.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agiraph.core.errors import Unavailable
from cli.prestart import PrestartedSupervisor, begin, command

START_WITHIN_SECONDS: Final = 60.0
STOP_WITHIN_SECONDS: Final = 15.0
TERMINATE_WITHIN_SECONDS: Final = 6.0
SHOWN_LINES: Final = 12
READY: Final = "agiraph-supervisor ready"


class SupervisorFailed(Unavailable):
    """The supervisor did not start; the text ends with its last line of stderr."""


class OwnSupervisor:
    """One supervisor process; `start` returns when everything on it is ready."""

    def __init__(self, home: Path, begun: PrestartedSupervisor | None = None) -> None:
        """Make one for `home`; `begun` is a prestarted process that waits for its launch."""
        self.home = home
        self._begun = begun
        self._process: PrestartedSupervisor | None = None

    def start(self, within_seconds: float = START_WITHIN_SECONDS) -> None:
        """Start it and wait until it is ready. Raises SupervisorFailed, leaving no process."""
        begun, self._begun = self._begun or begin(str(self.home), command(str(self.home))), None
        self._process = begun
        begun.launch()
        try:
            import agiraph.http.client.sync  # noqa: F401 - needed next, imported while it starts

            self._wait_until_ready(time.monotonic() + within_seconds)
        except BaseException:
            self.stop(within_seconds=0.0)
            raise

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._process.pid if self._process else None

    def has_ended(self) -> bool:
        """Whether it has exited."""
        return self._process is not None and self._process.has_ended()

    def output(self) -> str:
        """Return the last lines of its stderr."""
        if self._process is None:
            return ""
        lines = self._process.output().decode("utf-8", "replace").strip().splitlines()
        return "\n".join(lines[-SHOWN_LINES:])

    def _wait_until_ready(self, deadline: float) -> None:
        process = self._process
        assert process is not None
        received = b""
        while READY.encode() not in received or not received.endswith(b"\n"):
            if not _readable(process.stdout, deadline):
                raise SupervisorFailed(self._failure("was not ready in time"))
            piece = os.read(process.stdout, 65536)
            if not piece:
                process.wait()
                assert process.code is not None
                raise SupervisorFailed(self._failure(f"exited ({_how(process.code)})"))
            received += piece

    def _failure(self, what: str) -> str:
        last = self.output().rpartition("\n")[2]
        return f"the supervisor on {self.home} {what}" + (f": {last}" if last else "")

    def stop(self, within_seconds: float = STOP_WITHIN_SECONDS) -> None:
        """End it: close its stdin, then SIGTERM, then SIGKILL; its descendants end with it."""
        process, self._process = self._process, None
        if process is None:
            return
        descendants = _descendants(process.pid)
        process.end_input()
        if not process.wait(within_seconds):
            _signal_group(process.pid, signal.SIGTERM)
            if not process.wait(TERMINATE_WITHIN_SECONDS):
                descendants |= _descendants(process.pid)
                _signal_group(process.pid, signal.SIGKILL)
                process.wait()
                _kill_left(descendants)
        process.close()


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, so that what we started is stopped too.

    A SIGHUP that is ignored (nohup) stays ignored.
    """

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _readable(fd: int, deadline: float) -> bool:
    left = max(deadline - time.monotonic(), 0.0)
    return bool(select.select([fd], [], [], left)[0])


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _descendants(pid: int) -> set[tuple[int, float]]:
    """Return (pid, start time) of all that descend from a process, so a reused pid is no match."""
    import psutil

    try:
        children = psutil.Process(pid).children(recursive=True)
        return {(child.pid, child.create_time()) for child in children}
    except psutil.NoSuchProcess:
        return set()


def _kill_left(descendants: set[tuple[int, float]]) -> None:
    import psutil

    for pid, started in descendants:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.create_time() == started:
                process.kill()
