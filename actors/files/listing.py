"""Listing: what is below some paths that a worker may read, with the hashes of contents."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from actors.files.access import WorkerAccess
from agiraph.core.errors import Refused
from agiraph.core.file_records import FileEntry, FileRoot
from agiraph.messages.files import PART_BYTES, FilesListed, ListFiles
from agiraph.storage.copies import digest_of, read_link
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
"""Entries in one answer, so that it fits into a message."""


class Found(NamedTuple):
    """A path as the worker knows it, and where that is here."""

    path: str
    place: Path
    entry: FolderEntry


class Digests:
    """The hashes of files' contents, each as long as its size and time of change are the same."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def of(self, found: Found, *, anyones: bool) -> str:
        """Return the SHA-256 of a file; "" if it cannot be read, or is not there any more."""
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
    """Return what `asked` names and the worker may read; OutOfScope, OSError."""
    found = sorted(
        {one.path: one for path in asked.below for one in _found(access, path, asked.root)}.values()
    )
    version = _version(found)
    if version == asked.known:
        return FilesListed(version=version)
    rest = [one for one in found if one.path > asked.after]
    shown = tuple(_entry(one, digests, asked.root) for one in rest[:AT_ONCE])
    return FilesListed(
        entries=shown,
        version=version,
        has_more=len(rest) > AT_ONCE,
        contents=_contents(rest[:AT_ONCE], asked.root) if asked.has_contents else {},
    )


def _contents(found: Sequence[Found], root: FileRoot) -> dict[str, bytes]:
    """Return what is in files, as far as it fits into a message."""
    contents, room = {}, PART_BYTES
    for path, place, entry in found:
        if entry.kind == "file" and entry.size <= room:
            with suppress(OSError):  # gone meanwhile, or not for us: whoever reads it is told
                data, size = read_part(place, 0, entry.size, anyones=root != "home")
                if size == entry.size:
                    contents[path] = data
                    room -= size
    return contents


def _found(access: WorkerAccess, path: str, root: FileRoot) -> list[Found]:
    base = access.place("", root)
    if root != "home":
        top = access.to_read(path, root)
        return [_named(one, Path(path), top) for one in _below(top)]
    found = [
        _named(one, top.relative_to(base), top) for top in access.below(path) for one in _below(top)
    ]
    return [one for one in found if access.may_read(one.place)]


def _named(one: tuple[Path, FolderEntry], named: Path, top: Path) -> Found:
    relative, entry = one
    return Found((named / relative).as_posix(), top / relative, entry)


def _below(top: Path) -> list[tuple[Path, FolderEntry]]:
    """Return a file, or a folder with all that is in it, by paths relative to it; [] if missing."""
    status = status_of(top)
    if status is None:
        return []
    here = (Path(), FolderEntry.of(top.name, status))
    if kind_of(status) != "folder":
        return [here]
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


def _entry(found: Found, digests: Digests, root: FileRoot) -> FileEntry:
    entry = found.entry
    return FileEntry.model_validate(
        {
            "path": found.path,
            "kind": entry.kind,
            "size": entry.size,
            "mode": entry.mode & 0o777,
            "mtime_ns": entry.changed_ns,
            "digest": digests.of(found, anyones=root != "home") if entry.kind == "file" else "",
            "target": read_link(found.place) if entry.kind == "link" else "",
        }
    )
