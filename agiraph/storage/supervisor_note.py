"""SupervisorNote: the note that a running supervisor leaves in its home."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import Field, ValidationError

from agiraph.core.record import Record
from agiraph.storage.files import read_bytes, read_text, remove_file, replace_bytes
from agiraph.storage.home import Home

NONE: Final[Mapping[str, str]] = MappingProxyType({})
PROC: Final = "/proc"


class SupervisorNote(Record):
    """The process that holds a home, and since when (Unix time).

    `ends_with_command`: a command started it and it ends with that command; if it
    `belongs_to_users`, it ends with the last command that uses it (`home_users.py`). `variables`
    are the names of the secrets in its environment, each given only to the processes that need it;
    `addresses` are the addresses of providers there, by their variables.
    """

    pid: int
    since: float
    ends_with_command: bool = False
    belongs_to_users: bool = False
    variables: tuple[str, ...] = ()
    addresses: dict[str, str] = Field(default_factory=dict)


def write_note(
    home: Home,
    since: float,
    *,
    ends_with_command: bool,
    belongs_to_users: bool,
    variables: tuple[str, ...] = (),
    addresses: Mapping[str, str] = NONE,
) -> None:
    """Write the note of this process, a supervisor that holds the home's lock."""
    note = SupervisorNote(
        pid=os.getpid(),
        since=since,
        ends_with_command=ends_with_command,
        belongs_to_users=belongs_to_users,
        variables=variables,
        addresses=dict(addresses),
    )
    with suppress(OSError):
        replace_bytes(home.system.note, note.model_dump_json().encode(), 0o600)


def remove_note(home: Home) -> None:
    """Remove the note of this process; errors are ignored."""
    with suppress(OSError):
        remove_file(home.system.note)


def read_note(home: Path) -> SupervisorNote | None:
    """Return the note of the supervisor that holds a home; None if it has none.

    A supervisor that was killed leaves its note: only the note of the lock's holder counts.
    """
    try:
        note = SupervisorNote.model_validate_json(read_bytes(Home(home).system.note))
    except (OSError, ValidationError):
        return None
    return note if holder_of(home) in (note.pid, None) else None


def belongs_to_users(home: Path) -> bool:
    """Whether the supervisor that holds a home ends with the last command that uses it."""
    note = read_note(home)
    return note is not None and note.belongs_to_users


def holder_of(home: Path) -> int | None:
    """Return the pid that the holder of a home's lock has written, None if there is none."""
    return pid_in(Home(home).system.lock)


def pid_in(file: Path) -> int | None:
    """Return the pid that the holder of a lock has written, None if there is none."""
    try:
        return int(read_text(file))
    except (OSError, ValueError):
        return None


# --- the holder as other processes see it --------------------------------------------------------


def pid_here(written: int, folder: Path) -> int | None:
    """Return the pid, as this process sees it, of the process that locks a folder.

    In a container (a PID namespace of its own) its own pid differs from the pid here, and the
    written pid may belong to an unrelated process. None if the process is not visible from here.
    """
    if not os.path.isdir(PROC):
        return written
    held = os.stat(folder)
    if _holds(written, held):
        return written
    others = (int(name) for name in os.listdir(PROC) if name.isdecimal())  # plain: /proc
    inside = (pid for pid in others if _inner_pid(pid) == written)
    return next((pid for pid in inside if _holds(pid, held)), None)


def _holds(pid: int, held: os.stat_result) -> bool:
    """Whether a process has the folder with status `held` open, as the holder of its lock has.

    True if that cannot be examined.
    """
    folder = f"{PROC}/{pid}/fd"
    try:
        names = os.listdir(folder)  # plain: /proc
    except PermissionError:  # another user's: no signal can reach it by mistake
        return True
    except OSError:
        return False
    for name in names:
        with suppress(OSError):
            if os.path.samestat(os.stat(f"{folder}/{name}"), held):
                return True
    return False


def _inner_pid(pid: int) -> int | None:
    """Return a process's pid in its own PID namespace, None if that is our namespace."""
    with suppress(OSError), open(f"{PROC}/{pid}/status", encoding="utf-8") as file:  # plain: /proc
        for line in file:
            if line.startswith("NSpid:"):
                pids = line.split()[1:]
                return int(pids[-1]) if len(pids) > 1 else None
    return None
