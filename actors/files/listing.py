"""Listing: the entries below some paths that a worker may read, with the hashes of contents.

An entry whose name is not UTF-8 is left out, and so is an entry that is removed meanwhile.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from actors.files.access import WorkerAccess, is_utf8
from agiraph.core.errors import Refused
from agiraph.messages.files import PART_BYTES, FilesListed, ListFiles
from agiraph.storage.copies import digest_of, read_link
from agiraph.storage.file_records import FileEntry, FileRoot
from agiraph.storage.files import (
    MOST_ENTRIES,
    FolderEntry,
    entries_below,
    is_part,
    open_folder,
    read_part,
    status_of,
)
from agiraph.storage.walk import closing, kind_of

AT_ONCE = 10_000
"""The most entries in one answer."""
ANSWER_BYTES = 4 << 20
"""Bytes of names and targets of links in one answer, so that it fits into a message. Each name may
be in it twice, with its content."""


class Found(NamedTuple):
    """A path in the form that the worker uses, and its place in this home."""

    path: str
    place: Path
    entry: FolderEntry


class Digests:
    """The hashes of files' contents, each valid while its size and time of change are the same."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def of(self, found: Found, *, anyones: bool) -> str:
        """Return the SHA-256 of a file, "" if the file cannot be read or no longer exists."""
        entry = found.entry
        stamp = (entry.size, entry.changed_ns, entry.inode)
        known = self._known.get(found.place)
        if known is None or known[0] != stamp:
            try:
                known = (stamp, digest_of(found.place, anyones=anyones))
            except OSError:
                return ""
            self._known[found.place] = known
        return known[1]


def list_files(access: WorkerAccess, asked: ListFiles, digests: Digests) -> FilesListed:
    """Return the requested entries that the worker may read. Raises OutOfScope, OSError."""
    found = sorted(
        {one.path: one for path in asked.below for one in _found(access, path, asked.root)}.values()
    )
    version = _version(found)
    if version == asked.known:
        return FilesListed(version=version)
    rest = [one for one in found if one.path > asked.after]
    shown = rest[: _count_that_fits(rest)]
    return FilesListed(
        entries=tuple(_entries(shown, digests, asked.root)),
        version=version,
        has_more=len(rest) > len(shown),
        contents=_contents(shown, asked.root) if asked.has_contents else {},
    )


def _count_that_fits(found: Sequence[Found]) -> int:
    """Return how many entries fit into one answer, at least one."""
    room = ANSWER_BYTES
    for count, (path, _, entry) in enumerate(found[:AT_ONCE]):
        room -= len(path.encode()) + (entry.size if entry.kind == "link" else 0)
        if room < 0:
            return max(1, count)
    return AT_ONCE


def _contents(found: Sequence[Found], root: FileRoot) -> dict[str, bytes]:
    """Return the contents of files, as far as they fit into a message."""
    contents, room = {}, PART_BYTES
    for path, place, entry in found:
        if entry.kind == "file" and entry.size <= room:
            with suppress(OSError):  # gone or unreadable: a later read reports it
                data, size = read_part(place, 0, entry.size, anyones=root != "home")
                if size == entry.size:
                    contents[path] = data
                    room -= size
    return contents


def _found(access: WorkerAccess, path: str, root: FileRoot) -> list[Found]:
    found = [
        Found((Path(named) / relative).as_posix(), top / relative, entry)
        for named, top in access.below(path, root)
        for relative, entry in _below(top)
    ]
    return [one for one in found if is_utf8(one.path) and access.may_read(one.place, root)]


def _below(top: Path) -> list[tuple[Path, FolderEntry]]:
    """Return a file, or a folder with its contents, by paths relative to it; [] if missing."""
    status = status_of(top)
    if status is None:
        return []
    here = (Path(), FolderEntry.of(top.name, status))
    if kind_of(status) != "folder":
        return [here] if kind_of(status) != "other" else []
    with closing(open_folder(top)) as fd:
        below = entries_below(fd, MOST_ENTRIES + 1)
    if len(below) > MOST_ENTRIES:
        raise Refused(f"{top.name} holds more than {MOST_ENTRIES} files: too many to be fetched")
    return [here, *(one for one in below if one[1].kind != "other" and not is_part(one[1].name))]


def _version(found: list[Found]) -> str:
    told = hashlib.sha256()
    for path, _, entry in found:
        about = (path, entry.kind, entry.size, entry.mode, entry.changed_ns, entry.inode)
        told.update(os.fsencode(repr(about)))
    return told.hexdigest()[:32]


def _entries(found: Sequence[Found], digests: Digests, root: FileRoot) -> Iterator[FileEntry]:
    for one in found:
        kind, target = one.entry.kind, ""
        if kind == "link":
            with suppress(OSError):
                target = read_link(one.place)
            if not target or not is_utf8(target):
                continue
        yield FileEntry.model_validate(
            {
                "path": one.path,
                "kind": kind,
                "size": one.entry.size,
                "mode": one.entry.mode & 0o777,
                "mtime_ns": one.entry.changed_ns,
                "digest": digests.of(one, anyones=root != "home") if kind == "file" else "",
                "target": target,
            }
        )
