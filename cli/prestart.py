"""Prestart of `agiraph run`: its supervisor imports modules while the command line does.

A run on a home without a supervisor starts its own. Whether it will is nearly certain from the
arguments alone, so the process is started before anything is imported here. It waits for a line on
its stdin before it touches anything; if the command turns out to be wrong, it is killed.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

QUIET = frozenset({"-h", "--help", "--detach"})
FIRST_PAUSE_SECONDS = 0.0005
LONGEST_PAUSE_SECONDS = 0.05
ADDRESS_BYTES = 65536


class PrestartedSupervisor:
    """A supervisor that was started and waits for its launch: its process, our ends of its pipes.

    `stderr` is a file with its output. Only `os` is used: importing `subprocess` takes longer than
    all of this.
    """

    __slots__ = ("code", "home", "is_launched", "pid", "stderr", "stdin", "stdout")

    def __init__(self, home: str, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.home = home
        self.pid = pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.is_launched = False
        self.code: int | None = None

    def launch(self) -> None:
        """Launch it."""
        self.is_launched = True
        try:
            os.write(self.stdin, b"\n")
        except BrokenPipeError:
            pass  # it has exited already, which waiting for it will show

    def drop(self) -> None:
        """Kill it if it was not launched: it has touched nothing."""
        if not self.is_launched and not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def has_ended(self) -> bool:
        """Whether it has exited; then `code` is its exit code, or minus its signal."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, within_seconds: float | None = None) -> bool:
        """Wait until it has exited; return whether it did in time."""
        give_up_at = None if within_seconds is None else time.monotonic() + within_seconds
        pause = FIRST_PAUSE_SECONDS
        while not self.has_ended():
            if give_up_at is not None and time.monotonic() >= give_up_at:
                return False
            time.sleep(pause)  # as subprocess does: there is no waitpid with a deadline
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return True

    def output(self) -> bytes:
        """Return its stderr."""
        return os.pread(self.stderr, os.fstat(self.stderr).st_size, 0)

    def end_input(self) -> None:
        """Close its standard input, at which it exits."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Close all descriptors; it must have exited."""
        self.end_input()
        os.close(self.stdout)
        os.close(self.stderr)


def foresee(words: Sequence[str], environ: Mapping[str, str]) -> PrestartedSupervisor | None:
    """Start the supervisor that these arguments will need; None if they need none."""
    if words[:1] != ["run"] or QUIET.intersection(words):
        return None
    named = _option(words, "--home") or environ.get("AGIRAPH_HOME") or "~/.agiraph"
    home = os.path.abspath(os.path.expanduser(named))
    return None if _is_served(home) else begin(home, command(home, _option(words, "--model")))


def command(home: str, model: str = "") -> list[str]:
    """Return the command line of a supervisor that waits for its launch, and exits with us."""
    module = [sys.executable, "-P", "-m", "agiraph"]
    return [*module, "_ahead", model, "--home", home, "--until-eof"]


def begin(home: str, argv: list[str]) -> PrestartedSupervisor:
    """Start a supervisor, in a session (or group) of its own, so that Ctrl-C reaches only us."""
    for_child, stdin = os.pipe()
    stdout, from_child = os.pipe()
    stderr = _scratch()
    actions = [
        (os.POSIX_SPAWN_DUP2, for_child, 0),
        (os.POSIX_SPAWN_DUP2, from_child, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
    ]
    is_linux = sys.platform == "linux"
    session: dict[str, Any] = {"setsid": True} if is_linux else {"setpgroup": 0}
    try:
        pid = os.posix_spawn(
            argv[0], argv, os.environ, file_actions=actions, setsigdef=(signal.SIGPIPE,), **session
        )
    finally:
        os.close(for_child)
        os.close(from_child)
    return PrestartedSupervisor(home, pid, stdin, stdout, stderr)


def _option(words: Sequence[str], name: str) -> str:
    """Return the last value of an option, empty if it is not there."""
    value = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            value = following
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
    return value


def _scratch() -> int:
    """Return the descriptor of a new file that has no name."""
    if sys.platform == "linux":
        return os.memfd_create("stderr")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _is_served(home: str) -> bool:
    """Whether a gateway seems to run on this home: then no supervisor is needed."""
    try:
        path = os.path.join(home, "human", "address.json")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags)  # plain: before any import; its content is only a hint
        try:
            content = os.read(fd, ADDRESS_BYTES)
        finally:
            os.close(fd)
        import json

        os.kill(int(json.loads(content)["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True
