"""Fresh interpreters of our own: an actor's or the spawner's, each with one descriptor of ours."""

import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from agiraph.storage.files import make_folder, open_file

PASSED_FD = 3


def start_actor(environ: Mapping[str, str], log: Path) -> tuple[int, int]:
    """Start the interpreter of an actor; return its pid and the pipe for its launch.

    What it prints before its launch goes into `log`. Raises OSError.
    """
    for_child, ours = os.pipe()
    try:
        return _run("_actor", for_child, environ, log), ours
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(for_child)


def start_spawner(environ: Mapping[str, str], log: Path) -> tuple[int, socket.socket]:
    """Start a spawner; return its pid and the socket for requests to it. Raises OSError."""
    ours, for_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with for_child:
        try:
            return _run("_spawner", for_child.fileno(), environ, log), ours
        except OSError:
            ours.close()
            raise


def _run(word: str, fd: int, environ: Mapping[str, str], log: Path) -> int:
    """Start `python -P -m agiraph WORD` with `fd` as its descriptor 3; return its pid.

    posix_spawn passes nothing else on: all our descriptors close on exec.
    """
    make_folder(log.parent, 0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    os.close(open_file(log, flags))  # it is a file of ours
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "agiraph", word],
        dict(environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            (os.POSIX_SPAWN_DUP2, fd, PASSED_FD),
        ],
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE),
        setsid=sys.platform == "linux",
    )
