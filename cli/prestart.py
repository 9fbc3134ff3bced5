"""The head start of `agiraph run`: its supervisor imports while the command line does.

A run on a home without a supervisor brings its own. Whether it will is nearly sure from the bare
words of the command, so one is started before anything is imported here. It waits for a word before
it touches anything; if there was something wrong with the command after all, it goes as it came.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

QUIET = frozenset({"-h", "--help", "--detach"})
FIRST_LOOK_SECONDS = 0.0005
LONGEST_LOOK_SECONDS = 0.05
ADDRESS_BYTES = 65536


class PrestartedSupervisor:
    """A supervisor that was started and waits for a word: its process, our ends of its pipes.

    `stderr` is a file that holds what it said there. Made of `os` alone: `subprocess` takes longer
    to import than this takes.
    """

    __slots__ = ("code", "home", "is_told", "pid", "stderr", "stdin", "stdout")

    def __init__(self, home: str, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        """Hold what `begin` made."""
        self.home = home
        self.pid = pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.is_told = False
        self.code: int | None = None

    def go(self) -> None:
        """Let it begin."""
        self.is_told = True
        try:
            os.write(self.stdin, b"\n")
        except BrokenPipeError:
            pass  # it ended already; whoever waits for it will see that

    def drop(self) -> None:
        """End it, if it was not told to begin: it has touched nothing."""
        if not self.is_told and not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def has_ended(self) -> bool:
        """Whether it ran and runs no more; then `code` is its exit code, or minus its signal."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, within_seconds: float | None = None) -> bool:
        """Wait until it has ended; return whether it did in time."""
        give_up_at = None if within_seconds is None else time.monotonic() + within_seconds
        pause = FIRST_LOOK_SECONDS
        while not self.has_ended():
            if give_up_at is not None and time.monotonic() >= give_up_at:
                return False
            time.sleep(pause)  # as subprocess does: there is no waitpid with a deadline
            pause = min(2 * pause, LONGEST_LOOK_SECONDS)
        return True

    def said(self) -> bytes:
        """Return what it said on stderr."""
        return os.pread(self.stderr, os.fstat(self.stderr).st_size, 0)

    def end_input(self) -> None:
        """Close its standard input: that ends it."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Let all descriptors go; it must have ended."""
        self.end_input()
        os.close(self.stdout)
        os.close(self.stderr)


def foresee(words: Sequence[str], environ: Mapping[str, str]) -> PrestartedSupervisor | None:
    """Start the supervisor that these words of a command line will need; None if they need none."""
    if words[:1] != ["run"] or QUIET.intersection(words):
        return None
    named = _option(words, "--home") or environ.get("AGIRAPH_HOME") or "~/.agiraph"
    home = os.path.abspath(os.path.expanduser(named))
    return None if _is_served(home) else begin(home, command(home, _option(words, "--model")))


def command(home: str, model: str = "") -> list[str]:
    """Return the command line of a supervisor that waits for a word, and ends with us."""
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
    apart: dict[str, Any] = {"setsid": True} if is_linux else {"setpgroup": 0}
    try:
        pid = os.posix_spawn(
            argv[0], argv, os.environ, file_actions=actions, setsigdef=(signal.SIGPIPE,), **apart
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
    """Whether a gateway seems to live on this home: then there will be no supervisor to start."""
    try:
        path = os.path.join(home, "human", "address.json")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags)  # plain: before any import; what it says is a hint alone
        try:
            said = os.read(fd, ADDRESS_BYTES)
        finally:
            os.close(fd)
        import json

        os.kill(int(json.loads(said)["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True
