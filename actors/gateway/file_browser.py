"""The confined file browser: what lies under one folder, no links, no `..`, no way out.

Agents' shells write in these folders while we read them: `agiraph.storage.files` opens what a
person asks for, and here its refusals become answers.
"""

import base64
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agiraph.http.api import ApiError, FileContentView, FileEntryView, FolderView
from agiraph.storage.files import FolderEntry, open_file, open_folder, scan
from agiraph.storage.walk import UnsafeFile

READ_LIMIT = 1024 * 1024
ENTRY_LIMIT = 5000


def browse(
    root: Path, path: str, offset: int = 0, limit: int = READ_LIMIT
) -> FolderView | FileContentView:
    """Return the folder or the stretch of a file at `path` (parts joined by `/`) under `root`.

    Raises ApiError: 403 for a way out, a link or what is no file, 404 if there is nothing.
    """
    with opened(root, path) as (fd, shown):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            return _list(fd, shown)
        return _read(fd, shown, offset, min(limit, READ_LIMIT))


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
    """Hand out the file or folder at `path` under `root`, open, and the path as it is shown.

    Raises ApiError as `browse` does.
    """
    parts = _parts(path)
    shown = "/".join(parts)
    fd = _open(root.joinpath(*parts), shown)
    try:
        yield fd, shown
    finally:
        os.close(fd)


def _open(place: Path, shown: str) -> int:
    try:
        return _file_or_folder(place)
    except FileNotFoundError:
        raise ApiError(404, f"there is no '{shown}'") from None
    except PermissionError:
        raise ApiError(403, f"'{shown}' may not be read") from None
    except UnsafeFile as error:
        if error.errno == errno.ELOOP:
            raise ApiError(403, f"'{shown}' is or goes through a link") from None
        if error.errno == errno.ENXIO:
            raise ApiError(403, f"'{shown}' is neither a file nor a folder") from None
        raise ApiError(404, f"there is no '{shown}'") from None
    except (OSError, ValueError):
        raise ApiError(404, f"there is no '{shown}'") from None


def _file_or_folder(place: Path) -> int:
    try:
        return open_file(place, anyones=True)
    except UnsafeFile as error:
        if error.errno != errno.EISDIR:
            raise
        return open_folder(place)


def _list(fd: int, shown: str) -> FolderView:
    found = scan(fd, ENTRY_LIMIT + 1)
    entries = [_entry(entry, shown) for entry in found[:ENTRY_LIMIT]]
    ordered = sorted(entries, key=lambda entry: (entry.kind != "folder", entry.name))
    return FolderView(path=shown, entries=tuple(ordered), is_truncated=len(found) > ENTRY_LIMIT)


def _entry(entry: FolderEntry, shown: str) -> FileEntryView:
    name = _speakable(entry.name)
    return FileEntryView(
        path=f"{shown}/{name}" if shown else name,
        name=name,
        kind=entry.kind,
        size=entry.size if entry.kind == "file" else 0,
        modified_at=0.0 if entry.kind == "link" else entry.changed_at,
    )


def _read(fd: int, shown: str, offset: int, limit: int) -> FileContentView:
    size = os.fstat(fd).st_size
    data = os.pread(fd, limit, offset)
    goes_on = offset + len(data) < size
    text = _as_text(data, goes_on)
    if text is not None:
        content, taken = text
        return FileContentView(
            path=shown,
            content=content,
            size=size,
            offset=offset,
            returned=taken,
            is_truncated=offset + taken < size,
        )
    return FileContentView(
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
