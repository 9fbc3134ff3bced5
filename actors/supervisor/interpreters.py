"""Inner processes: fresh interpreters of our own, each with one descriptor of ours and no other.

Imports next to nothing, so that the first ones can be started before a supervisor is imported.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from pathlib import Path

PASSED_FD = 3


class PrestartedProcess:
    """An interpreter that waits for its launch at the other end of `pipe`."""

    __slots__ = ("pid", "pipe")

    def __init__(self, pid: int, pipe: int) -> None:
        """Hold what `start_actor` made."""
        self.pid = pid
        self.pipe = pipe


class SpawnerProcess:
    """A spawner that waits for requests at the other end of `link`."""

    __slots__ = ("link", "pid")

    def __init__(self, pid: int, link: "socket.socket") -> None:
        """Hold what `start_spawner` made."""
        self.pid = pid
        self.link = link


def start_actor(
    words: Sequence[str], environ: Mapping[str, str], log: "Path | None"
) -> PrestartedProcess:
    """Start the interpreter of an actor; `words` tell what it may import before its launch comes.

    What it prints before it is born goes into `log`, by None to where our own stderr goes. Raises
    OSError.
    """
    for_child, ours = os.pipe()
    try:
        return PrestartedProcess(_run(("_actor", *words), for_child, environ, log), ours)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(for_child)


def start_spawner(environ: Mapping[str, str], log: "Path | None") -> SpawnerProcess:
    """Start a spawner; the first thing to send it is the name of its log. Raises OSError."""
    import socket

    ours, for_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with for_child:
        try:
            return SpawnerProcess(_run(("_spawner",), for_child.fileno(), environ, log), ours)
        except OSError:
            ours.close()
            raise


def _run(words: Sequence[str], fd: int, environ: Mapping[str, str], log: "Path | None") -> int:
    """Start `python -P -m agiraph WORDS` with `fd` as its descriptor 3; return its pid.

    posix_spawn passes nothing else on: all our descriptors close on exec.
    """
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "agiraph", *words],
        dict(environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            _output(log),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            (os.POSIX_SPAWN_DUP2, fd, PASSED_FD),
        ],
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE),
        setsid=sys.platform == "linux",
    )


def _output(log: "Path | None") -> tuple[int, int, int] | tuple[int, int, str, int, int]:
    if log is None:
        return (os.POSIX_SPAWN_DUP2, 2, 1)
    from agiraph.storage.files import make_folder, open_file  # not before there is a log

    make_folder(log.parent, 0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    os.close(open_file(log, flags))  # it is a file of ours
    return (os.POSIX_SPAWN_OPEN, 1, str(log), flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
