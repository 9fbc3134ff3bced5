"""Starting a daemon: a supervisor in a session of its own, until it is ready.

Its stderr goes into its log in the home, its standard output to the starter until it is ready.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from actors.runtime.child import open_log
from actors.supervisor.processes.causes import size_of, tail_of
from agiraph.core.errors import Unavailable
from agiraph.core.ids import SUPERVISOR
from agiraph.http.discovery import is_held
from agiraph.storage.disk_space import full_message, has_room
from agiraph.storage.home import Home
from agiraph.storage.home_folders import make_folders
from agiraph.storage.supervisor_note import holder_of

EXIT_USAGE = 2
READY = "agiraph-supervisor ready: "


class DaemonFailed(Unavailable):
    """The supervisor did not start; the text contains the reason, `code` its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def start_daemon(home: Path, options: Sequence[str]) -> str:
    """Start a supervisor with `options` on a home; return a line about it once it is ready.

    Raises DaemonFailed if another supervisor runs on the home, or this one exits before it is
    ready; OSError if its log cannot be written.
    """
    if is_held(home):
        raise DaemonFailed(
            f"home {home} is held by supervisor pid {holder_of(home) or 'unknown'}", 1
        )
    make_folders(Home(home))
    log = Home(home).system.errors(SUPERVISOR)
    with os.fdopen(open_log(log), "ab") as errors:
        offset = size_of(log)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "agiraph", "_supervisor", "--home", str(home), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            cwd=home,  # the current folder may be removed
        )
    try:
        ready = _ready_line(process)
    except BaseException:
        process.terminate()
        raise
    if ready is not None:
        return f"agiraph-supervisor runs: pid {process.pid}, {ready}, log {log}"
    code = process.wait()
    tail = tail_of(log, offset) or [f"exit code {code}" if has_room(home) else full_message(home)]
    why = "\n".join(tail) if code == EXIT_USAGE else tail[-1]
    raise DaemonFailed(f"agiraph-supervisor did not start: {why} (log {log})", code)


def _ready_line(process: "subprocess.Popen[bytes]") -> str | None:
    """Return the supervisor's ready line, None if the supervisor exits before."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            text = line.decode(errors="replace").strip()
            if text.startswith(READY):
                return text.removeprefix(READY)
    return None
