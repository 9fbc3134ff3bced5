"""The confined file browser: files below one folder, without links and `..`.

Agents' shells write in these folders while we read them: `agiraph.storage.files` opens the
requested files, and its refusals become answers of the API here.
"""

import base64
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agiraph.http.api import ApiError, FileContentView, FileEntryView, FolderView
from agiraph.readmodel.media_types import kind_of
from agiraph.storage.file_names import spelled, unspelled
from agiraph.storage.files import FolderEntry, entries_below, is_part, open_file, open_folder
from agiraph.storage.walk import UnsafeFile, etag_of

READ_LIMIT = 1024 * 1024
ENTRY_LIMIT = 5000


def browse(
    root: Path, path: str, offset: int = 0, limit: int = READ_LIMIT, depth: int = 1
) -> FolderView | FileContentView:
    """Return the folder or the part of a file at `path` (parts joined by `/`) under `root`.

    For a folder also the contents of its folders, `depth` levels in all.

    Raises ApiError: 403 for a path outside, a link or a special file, 404 if it is missing.
    """
    with opened(root, path) as (fd, shown):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            return _list(fd, shown, depth)
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
    """Yield the open file or folder at `path` under `root`, and the path for display.

    `path` may be spelled with escapes (`agiraph.storage.file_names`). Raises ApiError as `browse`
    does.
    """
    shown, place = path_below(root, path)
    fd = _open(place, shown)
    try:
        yield fd, shown
    finally:
        os.close(fd)


def path_below(root: Path, path: str) -> tuple[str, Path]:
    """Return a path under `root` for display, and its real path.

    That is the exact name if it exists, else the name with its escapes decoded. Raises ApiError 403
    for a path outside.
    """
    parts = _parts(path)
    exact = root.joinpath(*parts)
    meant = unspelled("/".join(parts))
    if meant == "/".join(parts) or os.path.lexists(exact):
        return spelled("/".join(parts)), exact
    return "/".join(parts), root.joinpath(*_parts(meant))


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


def _list(fd: int, shown: str, depth: int) -> FolderView:
    try:
        found = entries_below(fd, ENTRY_LIMIT + 1, depth - 1)
    except PermissionError:  # one of its folders may not be readable
        found = entries_below(fd, ENTRY_LIMIT + 1, 0)
    whole = [one for one in found if not is_part(one[1].name)]
    entries = [_entry(path, entry, shown) for path, entry in sorted(whole, key=_place)]
    return FolderView(
        path=shown, entries=tuple(entries[:ENTRY_LIMIT]), is_truncated=len(found) > ENTRY_LIMIT
    )


def _place(found: tuple[Path, FolderEntry]) -> list[tuple[bool, str]]:
    """Return the sort key of an entry: folders first, by name, each before its contents."""
    path, entry = found
    above = [(False, part) for part in path.parts[:-1]]
    return [*above, (entry.kind != "folder", entry.name)]


def _entry(path: Path, entry: FolderEntry, shown: str) -> FileEntryView:
    place = spelled(path)
    name = place.rpartition("/")[2]
    return FileEntryView(
        path=f"{shown}/{place}" if shown else place,
        name=name,
        kind=entry.kind,
        size=entry.size if entry.kind == "file" else 0,
        modified_at=0.0 if entry.kind == "link" else entry.changed_at,
        media_type=kind_of(name).media_type if entry.kind == "file" else "",
    )


def _read(fd: int, shown: str, offset: int, limit: int) -> FileContentView:
    facts = os.fstat(fd)
    size, data = facts.st_size, os.pread(fd, limit, offset)
    goes_on = offset + len(data) < size
    text = _as_text(data, goes_on)
    content, taken = text or (base64.b64encode(data).decode("ascii"), len(data))
    return FileContentView(
        path=shown,
        content=content,
        encoding="base64" if text is None else "utf-8",
        size=size,
        offset=offset,
        returned=taken,
        is_truncated=offset + taken < size,
        media_type=kind_of(shown).media_type,
        etag=etag_of(facts),
    )


def _as_text(data: bytes, goes_on: bool) -> tuple[str, int] | None:
    """Return (text, number of its bytes), None if `data` is not UTF-8.

    If the file `goes_on`, a character that is cut at the end of `data` is left for the next part.
    """
    for cut in range(4 if goes_on else 1):
        end = len(data) - cut
        try:
            return data[:end].decode("utf-8"), end
        except UnicodeDecodeError:
            continue
    return None
