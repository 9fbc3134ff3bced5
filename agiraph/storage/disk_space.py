"""Disk space: what a write does when the disk is full: it raises, or waits until there is room
again.

Whoever lets processes wait enters `waiting` once, at its beginning; every write of a journal and of
a whole file in that context is then made again, with pauses, until it succeeds. The process stands
still meanwhile, like one whose network disk is away: nothing that it knows is lost, nothing has to
be recovered, and it goes on where it was. Without `waiting` a full disk is an OSError at once.
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
"""With less free than this nothing new is begun: what is under way needs the rest."""

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
WAITS = "waits for room on the disk"
FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
FULL_SQLITE = frozenset({13, 778, 4874})
"""SQLITE_FULL, SQLITE_IOERR_WRITE and, when a database is opened, SQLITE_IOERR_SHMSIZE.

Most processes need no sqlite3.
"""

Tell = Callable[[bool], None]
"""Called with True when a write begins to wait for room, with False when it has found it."""

_TELL: ContextVar[Tell | None] = ContextVar("waiting_for_room", default=None)


def is_full_disk(error: BaseException) -> bool:
    """Whether this says that nothing more can be written; groups are looked into."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_full_disk, error.exceptions))
    number, code = getattr(error, "errno", None), getattr(error, "sqlite_errorcode", None)
    return number in FULL_ERRORS or code in FULL_SQLITE


class DiskFull(OSError):
    """There was no room on the disk for what was to be written; nothing of it was."""


def has_room(folder: Path, least_bytes: int = RESERVE_BYTES) -> bool:
    """Whether so much is free on the file system of a folder, and a file can be made there."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return True  # whoever writes there is told what is wrong
    has_files = not found.f_files or found.f_favail > 0
    return has_files and found.f_bavail * found.f_frsize >= least_bytes


def full_message(home: Path) -> str:
    """Return what a person is told when nothing can be begun for want of room."""
    return f"the disk of {home} is full (no space left on device): make room, then try again"


@contextlib.contextmanager
def waiting(tell: Tell | None) -> Iterator[None]:
    """Have every write in this context wait for room; `tell` hears of it. None: raise at once."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def tell_of_waiting(is_waiting: bool) -> None:
    """Tell, where writes wait for room, that one does, or that it has found it."""
    tell = _TELL.get()
    if tell is not None:
        tell(is_waiting)


def patiently(write: Callable[[], T]) -> T:
    """Return what `write` returns; on a full disk raise its error, or wait and do it again.

    `write` must leave everything as it was when it raises.
    """
    try:
        return write()
    except Exception as error:
        if not is_full_disk(error):
            raise
        if _TELL.get() is None and isinstance(error, OSError):
            raise DiskFull(error.errno, error.strerror, error.filename) from error
        if _TELL.get() is None:
            raise
    tell_of_waiting(True)
    try:
        return _again_and_again(write)
    finally:
        tell_of_waiting(False)


async def outlasting(work: Callable[[], Awaitable[T]]) -> T:
    """Return what `work` returns; if a full disk ends it, begin it again until it does not.

    For one whose event loop has to go on turning. `work` must be one that can be begun again.
    """
    import asyncio  # the command line looks at disks, and does without

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
