"""Disk space: on a full disk a write raises, or waits until there is space again.

A process that should wait enters `waiting` once, when it starts; in that context every write of a
journal or of a whole file is repeated, with pauses, until it succeeds. The process blocks in the
meantime, as with an unreachable network disk: its state is not lost, no recovery is needed, and it
continues at the same point. Without `waiting` a full disk is an OSError at once.
"""

import contextlib
import errno
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

RESERVE_BYTES = 128 * 1024
"""With less free space no new work is started: running work needs the rest."""

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
WAITS = "waits for room on the disk"
FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
FULL_SQLITE = frozenset({13, 778, 4874})
"""SQLITE_FULL, SQLITE_IOERR_WRITE and, when a database is opened, SQLITE_IOERR_SHMSIZE.

Written as numbers because most processes do not import sqlite3.
"""

OnWait = Callable[[bool], None]
"""Called with True when a write begins to wait for space, with False when the wait ends."""

_ON_WAIT: ContextVar[OnWait | None] = ContextVar("waiting_for_room", default=None)


def is_full_disk(error: BaseException) -> bool:
    """Whether a full disk or quota caused an error, or an error in an exception group."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_full_disk, error.exceptions))
    number, code = getattr(error, "errno", None), getattr(error, "sqlite_errorcode", None)
    return number in FULL_ERRORS or code in FULL_SQLITE


class DiskFull(OSError):
    """A write failed for lack of disk space; nothing was written."""


def has_room(folder: Path, least_bytes: int = RESERVE_BYTES) -> bool:
    """Whether `folder`'s file system has `least_bytes` free and a free inode for a new file.

    True for a folder that cannot be examined: the write itself reports the problem.
    """
    try:
        found = os.statvfs(folder)
    except OSError:
        return True  # the write itself reports the problem
    if not found.f_blocks:
        return True  # not a disk, for example /proc: space is not its problem
    has_files = not found.f_files or found.f_favail > 0
    return has_files and found.f_bavail * found.f_frsize >= least_bytes


def full_message(home: Path) -> str:
    """Return the message for a person when nothing can be started for lack of disk space."""
    return f"the disk of {home} is full (no space left on device): free some space, then try again"


@contextlib.contextmanager
def waiting(on_wait: OnWait | None) -> Iterator[None]:
    """Let every write in the block wait for space; `on_wait` reports each wait.

    With None a write on a full disk raises at once.
    """
    token = _ON_WAIT.set(on_wait)
    try:
        yield
    finally:
        _ON_WAIT.reset(token)


def report_waiting(is_waiting: bool) -> None:
    """Report the begin (True) or end (False) of a wait for space to `on_wait` of `waiting`.

    Does nothing in a context where writes do not wait.
    """
    on_wait = _ON_WAIT.get()
    if on_wait is not None:
        on_wait(is_waiting)


def patiently(write: Callable[[], T]) -> T:
    """Return the result of `write`, repeating it on a full disk in a context that waits.

    Elsewhere a full disk raises DiskFull, or the error of `write` if that is no OSError. `write`
    must leave everything unchanged when it raises.
    """
    try:
        return write()
    except Exception as error:
        if not is_full_disk(error):
            raise
        if _ON_WAIT.get() is None and isinstance(error, OSError):
            raise DiskFull(error.errno, error.strerror, error.filename) from error
        if _ON_WAIT.get() is None:
            raise
    report_waiting(True)
    try:
        return _again_and_again(write)
    finally:
        report_waiting(False)


async def outlasting(work: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `work`; repeat it as long as a full disk ends it.

    For a process whose event loop has to keep running. `work` must be repeatable.
    """
    import asyncio  # the command line checks disks, but does not wait

    while True:
        try:
            with waiting(None):
                return await work()
        except Exception as error:
            if not is_full_disk(error):
                raise
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)


def _again_and_again(write: Callable[[], T]) -> T:
    pause = FIRST_PAUSE_SECONDS
    while True:
        time.sleep(pause)
        try:
            return write()
        except Exception as error:
            if not is_full_disk(error):
                raise
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
