"""One home, one supervisor: a lock that the kernel drops with its holder, however it ends."""

import fcntl
import os
from pathlib import Path

from agiraph.core.errors import Refused
from agiraph.storage.files import open_file


class HomeLocked(Refused):
    """Another supervisor lives on this home."""


class HomeLock:
    """The lock on one home, held from `take` to the end of the process or `release`."""

    def __init__(self, home: Path, file: Path) -> None:
        """Name the home and its lock file."""
        self._home = home
        self._file = file
        self._fd: int | None = None

    def take(self) -> None:
        """Take the lock and write our pid into it; raises HomeLocked naming the holder."""
        fd = open_file(self._file, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise HomeLocked(f"home {self._home} is held by supervisor pid {holder}") from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Give the home free."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None
