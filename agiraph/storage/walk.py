"""Walk: open a folder of a home by walking from the root, one component after the other.

Each folder is opened relative to its parent and no component may be a link, so nothing can be
replaced between a check and an open. The kernel does that in one call if it can (`openat2.py`).
`files` opens the files in the folder.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from agiraph.storage.openat2 import FAILED, open_without_links

PATH_ONLY: Final = getattr(os, "O_PATH", os.O_RDONLY)  # macOS has none: folders must be readable
FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
STEP: Final = PATH_ONLY | FOLDER
PRIVATE: Final = 0o700
"""The mode of folders that are made for a file: a home is for its user alone."""
ODD: Final = {
    errno.ELOOP: "is a symbolic link",
    errno.ENOTDIR: "is no folder",
    errno.EISDIR: "is a folder where a file belongs",
    errno.ENXIO: "is no regular file",
}
Kind = Literal["file", "folder", "link", "other"]
_WHOLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class UnsafeFile(OSError):
    """An entry of a home that Agiraph did not put there; `filename` names it."""

    def __str__(self) -> str:
        """Return the path and the problem."""
        return f"{self.filename} {self.strerror}"

    def with_advice(self) -> str:
        """Return the path, the problem, and advice to a person on how to remove it."""
        if self.errno == errno.EMLINK:
            return f"{self}: replace it by a copy of itself; `agiraph doctor` names all such files"
        return f"{self}: restore the file from a backup, or move it away to start without it"


def several_names(count: int, path: Path) -> UnsafeFile:
    """Return the error for a file with `count` hard links, such as one in a backup."""
    return UnsafeFile(errno.EMLINK, f"has {count} names (hard links)", str(path))


def is_about_place(error: OSError) -> bool:
    """Whether an error concerns the opened file, not the disk or the process.

    A process that serves many agents then continues without this file.
    """
    return error.errno not in _WHOLE


def kind_of(status: os.stat_result) -> Kind:
    """Return the kind of a file: 'file', 'folder', 'link' or 'other'."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def etag_of(status: os.stat_result) -> str:
    """Return an HTTP ETag (quoted) of a file, from its change time, size and inode."""
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'


@contextmanager
def folder_of(path: Path, *, make: bool = False) -> Iterator[int]:
    """Yield a descriptor of the parent folder of `path`, for `dir_fd`; `make` it if missing.

    Raises UnsafeFile if a component is a link or not a folder, else OSError.
    """
    if path.name in ("", ".."):
        raise UnsafeFile(errno.EINVAL, "names nothing in a folder", str(path))
    fd = walk(path.parent, make)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def walk(folder: Path, make: bool) -> int:
    """Open a folder without following links and return its descriptor, for use as `dir_fd`.

    With `make`, missing folders are created. Raises UnsafeFile, OSError.
    """
    place = folder.absolute()
    root, *parts = place.parts
    if ".." in parts:
        raise UnsafeFile(errno.EINVAL, "leads upward", str(folder))
    fd = open_without_links(place, STEP)
    if fd != FAILED:
        return fd
    # Usually only the last folder is missing.
    known = max(0, len(parts) - 1)
    fd = open_without_links(place.parent, STEP)
    if fd == FAILED:
        known, fd = 0, os.open(root, STEP)
    for number, part in enumerate(parts[known:], start=known + 1):
        try:
            inner = os.open(part, STEP, dir_fd=fd)
        except OSError:
            inner = step(part, fd, os.path.join(root, *parts[:number]), make)
        finally:
            os.close(fd)
        fd = inner
    return fd


def step(part: str, fd: int, place: str, make: bool) -> int:
    try:
        return os.open(part, STEP, dir_fd=fd)
    except FileNotFoundError as missing:
        if not make:
            raise _with_path(missing, place) from None
    except OSError as error:
        raise explained(error, part, fd, place) from None
    try:
        os.mkdir(part, PRIVATE, dir_fd=fd)
    except FileExistsError:
        pass  # another process has just created it
    except OSError as error:
        raise _with_path(error, place) from None
    return step(part, fd, place, make=False)


def _with_path(error: OSError, place: str) -> OSError:
    """Return an error with the whole path: an open by descriptor knows only the last name."""
    return type(error)(error.errno, error.strerror, place)


def explained(error: OSError, name: str, fd: int, place: str) -> OSError:
    """Return the error to raise after opening `name` in the folder `fd` failed.

    It is an UnsafeFile if a link or an odd kind of file is the cause; `place` is the whole path.
    """
    number = error.errno or 0
    if number == errno.ENOTDIR and _is_link(name, fd):
        number = errno.ELOOP
    if number in ODD:
        return UnsafeFile(number, ODD[number], place)
    return _with_path(error, place)


def _is_link(name: str, fd: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError:
        return False
