"""Fresh interpreters for an actor or the spawner, each with one inherited descriptor.

Imports almost nothing, so that processes can be started before the supervisor is imported.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from actors.runtime.environment import environment_for

if TYPE_CHECKING:
    import socket
    from pathlib import Path

PASSED_FD = 3


class WaitingInterpreter(NamedTuple):
    """An interpreter that waits for its launch at the other end of `pipe`."""

    pid: int
    pipe: int


class PrestartedProcesses(NamedTuple):
    """Processes started before the supervisor is imported: router, and spawner with its link."""

    router: WaitingInterpreter
    spawner: "tuple[int, socket.socket]"


def prestart(environ: Mapping[str, str]) -> PrestartedProcesses:
    """Start router and spawner before their launches are known; return them. Raises OSError.

    They import while the supervisor imports, touch nothing before their launches, and exit when the
    supervisor exits. All other processes wait for these two.
    """
    return PrestartedProcesses(
        start_actor(environment_for("router", environ), None, kind="router"),
        start_spawner(environment_for("spawner", environ), None),
    )


def start_actor(
    environ: Mapping[str, str], log: "Path | None", kind: str = ""
) -> WaitingInterpreter:
    """Return a started interpreter of an actor; it imports the modules of `kind` already.

    Its output before its launch goes into `log`, or (None) to our own stderr. Raises OSError.
    """
    for_child, ours = os.pipe()
    try:
        pid = _run(("_actor", *([kind] if kind else ())), for_child, environ, log)
        return WaitingInterpreter(pid, ours)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(for_child)


def start_spawner(environ: Mapping[str, str], log: "Path | None") -> "tuple[int, socket.socket]":
    """Start a spawner; return its pid and the socket for requests to it. Raises OSError."""
    import socket

    ours, for_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with for_child:
        try:
            return _run(("_spawner",), for_child.fileno(), environ, log), ours
        except OSError:
            ours.close()
            raise


def start_relay(environ: Mapping[str, str], log: "Path | None") -> tuple[int, int]:
    """Start a host's relay; return its pid and the pipe for its settings. Raises OSError."""
    for_child, ours = os.pipe()
    try:
        return _run(("_relay",), for_child, environ, log), ours
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(for_child)


def _run(words: Sequence[str], fd: int, environ: Mapping[str, str], log: "Path | None") -> int:
    """Start `python -P -m agiraph WORDS` with `fd` as its descriptor 3; return its pid.

    posix_spawn passes on no other descriptor: all ours close on exec.
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
    os.close(open_file(log, flags))  # this checks that the file is ours
    return (os.POSIX_SPAWN_OPEN, 1, str(log), flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
