"""The users of a home's supervisor: they share it, and it ends after the last user has left.

A command that needs a supervisor while it runs holds a shared lock on one file (`HomeShare`). A
supervisor that a command started waits for the exclusive lock (`wait_until_unused`) and keeps it
until its process has ended, so that a command that starts meanwhile waits for that and starts
another supervisor. The kernel releases the locks of a process that was killed.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from agiraph.storage.files import can_lock, make_private_folder, open_file
from agiraph.storage.home import Home


class HomeShare:
    """One user's share in the supervisor of a home, from `acquire` to `release` (flock)."""

    def __init__(self, home: Path) -> None:
        self._files = Home(home).system
        self._fd: int | None = None

    def __enter__(self) -> "HomeShare":
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.release()

    def acquire(self, *, make: bool = False, on_wait: Callable[[], None] = lambda: None) -> None:
        """Take the share; does nothing if its file is missing, unless `make` creates the file.

        `on_wait` is called if a supervisor is ending: this waits until it has ended. A home whose
        file cannot be opened has no share; its supervisor reports the problem.
        """
        if self._fd is not None:
            return
        with suppress(OSError):
            if make:
                make_private_folder(self._files.path)
            flags = os.O_RDONLY | (os.O_CREAT if make else 0)
            fd = open_file(self._files.users, flags, anyones=True)
            try:
                if not can_lock(fd, fcntl.LOCK_SH):
                    on_wait()
                    fcntl.flock(fd, fcntl.LOCK_SH)
            except BaseException:
                os.close(fd)
                raise
            self._fd = fd

    def release(self) -> None:
        """Release the share."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def is_used(home: Path) -> bool:
    """Whether any process has a share in the supervisor of a home; False if it is ending."""
    try:
        fd = open_file(Home(home).system.users, anyones=True)
    except OSError:
        return False
    try:
        return can_lock(fd, fcntl.LOCK_SH) and not can_lock(fd, fcntl.LOCK_EX)
    finally:
        os.close(fd)


def wait_until_unused(home: Path) -> None:
    """Wait until no process has a share in the supervisor of a home, and refuse new shares.

    New shares are refused until this process has ended.
    """
    with suppress(OSError):
        fd = open_file(Home(home).system.users, os.O_RDONLY | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)  # never closed: the end of the process releases it
