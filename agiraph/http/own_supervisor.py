"""OwnSupervisor: a supervisor process for the duration of a run.

It runs in a session of its own, so that Ctrl-C reaches only us. When our end of its stdin closes,
which also happens if we are killed, it ends as soon as no other process has a share in it. Its
stderr is stored, and shown if it fails.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from agiraph.core.errors import Unavailable
from agiraph.http.discovery import is_supervised
from agiraph.storage.home_users import HomeShare, is_used

START_WITHIN_SECONDS: Final = 60.0
STOP_WITHIN_SECONDS: Final = 15.0
TERMINATE_WITHIN_SECONDS: Final = 6.0
LOOK_SECONDS: Final = 0.05
MEANWHILE_SECONDS: Final = 0.2
SHOWN_LINES: Final = 12
READY: Final = "agiraph-supervisor ready"


class SupervisorFailed(Unavailable):
    """The supervisor did not start; the text ends with its last line on stderr."""


class OwnSupervisor:
    """A supervisor process of this command; `start` returns when its services are ready.

    `environ` is its environment, None for ours; `command` is for tests.
    """

    def __init__(
        self,
        home: Path,
        command: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self._environ = environ
        self._command = command or supervisor_command(home)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._share = HomeShare(home)

    def start(
        self,
        within_seconds: float = START_WITHIN_SECONDS,
        *,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the supervisor and wait until its services are ready.

        Raises SupervisorFailed; the supervisor has ended then. Our share in it is held until
        `stop`. `meanwhile` is called repeatedly during the start: its exception ends the
        supervisor.
        """
        self._share.acquire(make=True)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - `stop` closes it
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
            env=self._environ,
        )
        try:
            self._wait_until_ready(self._process, time.monotonic() + within_seconds, meanwhile)
        except SupervisorFailed:
            self._end()
            raise
        except BaseException:
            self.stop(within_seconds=0.0)
            raise

    @property
    def pid(self) -> int | None:
        """The process id of the supervisor, None unless it runs."""
        return self._process.pid if self._process else None

    def has_ended(self, within_seconds: float = 0.0) -> bool:
        """Whether the supervisor was started and has ended; waits up to `within_seconds`."""
        return self._process is not None and _has_ended_within(self._process, within_seconds)

    def last_lines(self) -> str:
        """Return the last lines of the supervisor's stderr, '' after `stop`."""
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return "\n".join(lines[-SHOWN_LINES:])

    def _wait_until_ready(
        self, process: "subprocess.Popen[bytes]", deadline: float, meanwhile: Callable[[], None]
    ) -> None:
        assert process.stdout is not None
        read = b""
        while READY.encode() not in read or not read.endswith(b"\n"):
            meanwhile()
            if not _is_readable(process.stdout.fileno(), MEANWHILE_SECONDS):
                if time.monotonic() < deadline:
                    continue
                raise SupervisorFailed(self._failure("was not ready in time"))
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                raise SupervisorFailed(self._failure(f"ended ({_how(process.wait())})"))
            read += piece

    def _failure(self, what: str) -> str:
        last = self.last_lines().rpartition("\n")[2]
        return f"the supervisor on {self.home} {what}" + (f": {last}" if last else "")

    def stop(self, within_seconds: float = STOP_WITHIN_SECONDS) -> bool:
        """Release our share and close the supervisor's stdin; return whether it has ended.

        The supervisor keeps running if other processes have a share in it. Otherwise it gets
        `within_seconds` to end, then SIGTERM, then SIGKILL; its descendants end with it.
        """
        self._share.release()
        process = self._process
        if process is None:
            await_unused(self.home)
            return True
        assert process.stdin is not None
        process.stdin.close()
        deadline = time.monotonic() + within_seconds
        while not _has_ended_within(process, LOOK_SECONDS if within_seconds else 0.0):
            if is_used(self.home):
                self._leave()
                return False
            if time.monotonic() >= deadline:
                break
        self._end()
        return True

    def _leave(self) -> None:
        """Close our files of the supervisor process, which ends by itself."""
        process, self._process = self._process, None
        stderr, self._stderr = self._stderr, None
        assert process is not None
        for file in (process.stdout, stderr):
            if file is not None:
                file.close()

    def _end(self) -> None:
        """End the supervisor and its descendants by SIGTERM, then SIGKILL, if it still runs."""
        process, self._process = self._process, None
        stderr, self._stderr = self._stderr, None
        assert process is not None
        assert stderr is not None
        family = _descendants(process.pid)
        with stderr, process:  # closes its pipes, and waits
            if process.poll() is not None:
                return
            _signal_group(process.pid, signal.SIGTERM)
            if not _has_ended_within(process, TERMINATE_WITHIN_SECONDS):
                family |= _descendants(process.pid)
                _signal_group(process.pid, signal.SIGKILL)
                process.wait()
                _kill_left(family)


def supervisor_command(home: Path) -> list[str]:
    """Return the command line of a supervisor that ends with the last of its users."""
    module = [sys.executable, "-P", "-m", "agiraph"]
    return [*module, "_run_supervisor", "--home", str(home), "--until-unused"]


@contextlib.contextmanager
def shared_supervisor(
    home: Path, on_wait: Callable[[], None] = lambda: None
) -> Iterator[HomeShare]:
    """Hold a share in the supervisor that runs on a home, if any; `on_wait` as for `acquire`.

    For the last user, the exit waits until the supervisor has ended.
    """
    with HomeShare(home) as share:
        share.acquire(on_wait=on_wait)
        try:
            yield share
        finally:
            share.release()
            await_unused(home)


def await_unused(home: Path, within_seconds: float = STOP_WITHIN_SECONDS) -> None:
    """Wait until a supervisor that belongs to its users has ended, at most `within_seconds`.

    Returns at once if the supervisor has users, or does not depend on users.
    """
    from agiraph.storage.supervisor_note import belongs_to_users  # it imports records

    if not belongs_to_users(home):
        return
    give_up_at = time.monotonic() + within_seconds
    while is_supervised(home) and not is_used(home) and time.monotonic() < give_up_at:
        time.sleep(LOOK_SECONDS)


def _has_ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _is_readable(fd: int, within_seconds: float) -> bool:
    return bool(select.select([fd], [], [], within_seconds)[0])


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _descendants(pid: int) -> set[tuple[int, float]]:
    """Return (pid, start time) of all descendants of a process, so a reused pid is no match."""
    import psutil

    try:
        children = psutil.Process(pid).children(recursive=True)
        return {(child.pid, child.create_time()) for child in children}
    except psutil.NoSuchProcess:
        return set()


def _kill_left(family: set[tuple[int, float]]) -> None:
    import psutil

    for pid, started in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.create_time() == started:
                process.kill()
