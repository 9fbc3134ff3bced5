"""Publishing: move a node's scratch/ to published/, so that a crash at any moment loses nothing.

Each file is renamed, which is atomic, and then made read-only; a second call finishes an
interrupted first call. Links and special files are left behind: a link would make `published/` lead
to files that its readers may not see. A file with a second name (a hard link) is copied, since its
other name could still change the published content.
"""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from agiraph.core.errors import InvalidInput
from agiraph.storage.copies import copy_file
from agiraph.storage.file_names import spelled
from agiraph.storage.files import (
    files_below,
    is_folder,
    make_folder,
    move,
    open_file,
    remove_file,
    replace_file,
    set_mode,
    status_of,
    sync_folder,
)
from agiraph.storage.home import NodeHome
from agiraph.storage.walk import UnsafeFile, closing, kind_of

SUMMARY_FILE: Final = "summary.md"
READ_ONLY: Final = 0o444
WRITABLE: Final = 0o222
EXECUTABLE: Final = 0o111


def publish_files(node: NodeHome, summary: str, but: Sequence[str] = ()) -> tuple[str, ...]:
    """Publish everything in scratch/; return the sorted relative paths of all published files.

    The paths are spelled as by `agiraph.storage.file_names`. If scratch/ is empty, the summary is
    published, as `summary.md`. Names that match `but` stay in scratch/ (such as its git worktree).
    Safe to call again after a crash or a success. Raises InvalidInput for files that cannot be
    published, OSError if the file system refuses.
    """
    _require_real_folder(node.scratch)
    _require_real_folder(node.published)
    files = _regular_files(node.scratch, but)
    if not files and not _regular_files(node.published):
        replace_file(node.scratch / SUMMARY_FILE, f"{summary.rstrip()}\n", is_synced=False)
        files = [Path(SUMMARY_FILE)]
    for file in files:
        try:
            _promote(node.scratch / file, node.published / file)
        except UnsafeFile as error:
            raise InvalidInput(f"{file} cannot be published: {error}") from None
    for folder in {(node.published / file).parent for file in files}:
        sync_folder(folder)
    published = files_below(node.published)
    for file, entry in published:
        if entry.mode & WRITABLE:
            set_mode(node.published / file, READ_ONLY | entry.mode & EXECUTABLE)
    return tuple(sorted(spelled(file) for file, _ in published))


def put_aside(node: NodeHome, attempt: int) -> None:
    """Move an attempt's published files to `attempts/{attempt}/`, once, before the next attempt."""
    kept = node.attempts / str(attempt)
    if is_folder(kept):
        return
    make_folder(node.attempts)
    if is_folder(node.published):
        move(node.published, kept)
    else:
        make_folder(kept)


def files_left(node: NodeHome, but: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the sorted relative paths of the files in scratch/; () if it is unreadable.

    Names that match `but` are left out.
    """
    try:
        return tuple(sorted(spelled(file) for file in _regular_files(node.scratch, but)))
    except OSError:
        return ()


def _require_real_folder(folder: Path) -> None:
    try:
        make_folder(folder)
    except UnsafeFile as error:
        raise InvalidInput(
            f"{folder.name}/ {error.strerror}; it must be the node's own folder"
        ) from None


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name matches one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _regular_files(folder: Path, but: Sequence[str] = ()) -> list[Path]:
    """Return the regular files below a folder, relative to it; links are never followed."""
    return [path for path, _ in files_below(folder) if not is_named(path.parts[0], but)]


def _promote(source: Path, target: Path) -> None:
    if _synced(source).st_nlink > 1:
        _copy(source, target)
        remove_file(source)
        return
    move(source, target, is_synced=False)
    moved = _status(target)
    if kind_of(moved) != "file":  # a command replaced it since it was listed
        move(target, source)
        raise InvalidInput(f"{source.name} was changed while it was published: publish again")
    if moved.st_nlink > 1:
        _copy(target, target)


def _copy(source: Path, target: Path) -> None:
    copy_file(source, target, 0o666 | _status(source).st_mode & EXECUTABLE)


def _status(path: Path) -> os.stat_result:
    status = status_of(path)
    if status is None:
        raise InvalidInput(f"{path.name} was removed while it was published: publish again")
    return status


def _synced(file: Path) -> os.stat_result:
    """Sync a file to disk, if this user may open it, and return its status."""
    try:
        fd = open_file(file)
    except PermissionError:
        return _status(file)  # a file that its worker made unreadable is published unchanged
    with closing(fd):
        os.fsync(fd)
        return os.fstat(fd)
