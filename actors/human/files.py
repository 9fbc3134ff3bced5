"""The confined file browser: what lies under one folder, no links, no `..`, no way out.

Agents' shells write in these folders while we read them, so a check of the path before opening it
would be a race. Every part of a path is opened by itself, relative to the one before, and a link
is refused by the kernel (O_NOFOLLOW) whenever it was put there.
"""

import base64
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agiraph.api import ApiError, FileContent, FileEntry, Folder

READ_LIMIT = 1024 * 1024
ENTRY_LIMIT = 5000

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO without a writer would block `open` for ever, hence O_NONBLOCK.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def browse(root: Path, path: str, offset: int = 0, limit: int = READ_LIMIT) -> Folder | FileContent:
    """Return the folder or the stretch of a file at `path` (parts joined by `/`) under `root`.

    Raises ApiError: 403 for a way out, a link or what is no file, 404 if there is nothing.
    """
    with opened(root, path) as (fd, shown):
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            return _list(fd, shown)
        if stat.S_ISREG(mode):
            return _read(fd, shown, offset, min(limit, READ_LIMIT))
    raise ApiError(403, f"'{shown}' is neither a file nor a folder")


def _parts(path: str) -> list[str]:
    if "\0" in path:
        raise ApiError(403, "a path holds no NUL")
    if path.startswith("/"):
        raise ApiError(403, f"'{path}': name a path under the run's folder")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ApiError(403, f"'{path}': '..' leads out of the run's folder")
    return parts


@contextmanager
def opened(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """Hand out what lies at `path` under `root`, open, and the path as it is shown.

    Raises ApiError as `browse` does.
    """
    parts = _parts(path)
    shown = "/".join(parts)
    fd = _open(str(root), FOLDER_FLAGS, None, shown)
    try:
        for number, part in enumerate(parts, start=1):
            is_last = number == len(parts)
            inner = _open(part, FILE_FLAGS if is_last else FOLDER_FLAGS, fd, shown)
            os.close(fd)
            fd = inner
        yield fd, shown
    finally:
        os.close(fd)


def _open(name: str, flags: int, folder: int | None, shown: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise ApiError(404, f"there is no '{shown}'") from None
    except PermissionError:
        raise ApiError(403, f"'{shown}' may not be read") from None
    except (OSError, ValueError):
        if _is_link(name, folder):
            raise ApiError(403, f"'{shown}' is or goes through a link") from None
        raise ApiError(404, f"there is no '{shown}'") from None


def _is_link(name: str, folder: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _list(fd: int, shown: str) -> Folder:
    with os.scandir(fd) as found:
        entries = [
            _entry(entry, shown) for entry, _ in zip(found, range(ENTRY_LIMIT), strict=False)
        ]
        is_truncated = next(found, None) is not None
    ordered = sorted(entries, key=lambda entry: (entry.kind != "folder", entry.name))
    return Folder(path=shown, entries=tuple(ordered), is_truncated=is_truncated)


def _entry(entry: "os.DirEntry[str]", shown: str) -> FileEntry:
    name = _speakable(entry.name)
    path = f"{shown}/{name}" if shown else name
    if entry.is_symlink():
        return FileEntry(path=path, name=name, kind="link")
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return FileEntry(path=path, name=name, kind="other")
    at = facts.st_mtime
    if stat.S_ISDIR(facts.st_mode):
        return FileEntry(path=path, name=name, kind="folder", modified_at=at)
    if stat.S_ISREG(facts.st_mode):
        return FileEntry(path=path, name=name, kind="file", size=facts.st_size, modified_at=at)
    return FileEntry(path=path, name=name, kind="other", modified_at=at)


def _read(fd: int, shown: str, offset: int, limit: int) -> FileContent:
    size = os.fstat(fd).st_size
    data = os.pread(fd, limit, offset)
    goes_on = offset + len(data) < size
    text = _as_text(data, goes_on)
    if text is not None:
        content, taken = text
        return FileContent(
            path=shown,
            content=content,
            size=size,
            offset=offset,
            returned=taken,
            is_truncated=offset + taken < size,
        )
    return FileContent(
        path=shown,
        content=base64.b64encode(data).decode("ascii"),
        encoding="base64",
        size=size,
        offset=offset,
        returned=len(data),
        is_truncated=goes_on,
    )


def _as_text(data: bytes, goes_on: bool) -> tuple[str, int] | None:
    """Return the text and how many bytes it took; a character cut at the end is left for later."""
    for cut in range(4 if goes_on else 1):
        end = len(data) - cut
        try:
            return data[:end].decode("utf-8"), end
        except UnicodeDecodeError:
            continue
    return None


def _speakable(name: str) -> str:
    """Return a file name that JSON can carry: bytes that are no UTF-8 become U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
