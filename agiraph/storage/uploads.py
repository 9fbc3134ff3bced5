"""Uploads: input folders that consoles on other machines send, below `inputs/` of a home.

A folder is declared first: every file with its SHA-256. Content that is already there, also in
another upload, is not sent again. The rest arrives as one stream of bytes, the missing files one
after the other, in parts of any size. A file is moved to its place when it is whole (`transfers`),
so that after a kill another declaration continues where the stream broke off. A file's name is
never trusted: it stays below its folder, and no link leads out of it.
"""

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import slug
from agiraph.core.json_text import parse_json
from agiraph.storage.copies import copy_file, digest_of, make_link, read_link
from agiraph.storage.file_records import DIGEST, FileEntry, FileOffer
from agiraph.storage.files import (
    entries,
    make_folder,
    read_bytes,
    remove_file,
    remove_tree,
    replace_bytes,
    replace_file,
    set_mode,
    status_of,
)
from agiraph.storage.transfers import FORGOTTEN_SECONDS, Transfers, check_content
from agiraph.storage.walk import kind_of

SENDER: Final = "console"
MANIFEST: Final = ".json"
UNFINISHED: Final = ".parts"
SMALL: Final = 1024 * 1024
LONGEST_NAME: Final = 255
LONGEST_PATH: Final = 4000
MOST_MANIFEST: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class Upload:
    """A declared folder; `wanted` are the incomplete files, each with the offset of its next byte.

    `received` counts the bytes of the stream that arrived since it was declared.
    """

    id: str
    path: Path
    wanted: deque[tuple[FileOffer, int]] = field(default_factory=deque)
    received: int = 0

    @property
    def missing(self) -> int:
        """The number of bytes that have not arrived yet."""
        return sum(file.size - offset for file, offset in self.wanted)


class Uploads:
    """The uploads below `folder`, each with limits of files and bytes. Not for two threads."""

    def __init__(self, folder: Path, most_files: int, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_files, most_bytes
        self._transfers = Transfers(folder / UNFINISHED)
        self._open: dict[str, Upload] = {}

    def declare(self, name: str, files: Sequence[FileEntry]) -> Upload:
        """Return the upload of a folder called `name` with these files. Raises InvalidInput."""
        check_manifest(files, *self._most)
        manifest = [one.model_dump(exclude={"mtime_ns"}) for one in files]
        text = json.dumps(sorted(manifest, key=lambda one: str(one["path"])))
        id = f"{slug(name, 'input')}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        upload = Upload(id, self._folder / id)
        make_folder(upload.path, 0o700)
        replace_file(self._folder / f"{id}{MANIFEST}", text)  # first: it identifies the files
        upload.wanted.extend(self._missing(upload, files))
        return self._noted(upload)

    def take(self, id: str, at: int, data: bytes) -> Upload:
        """Store `data`, the bytes of the stream from position `at` on; return the upload.

        Raises Refused if that is not the next byte needed: declare the folder again; InvalidInput
        if a file's content differs from the declaration.
        """
        upload = self._open.get(id)
        if upload is None or upload.received != at:
            raise Refused(f"'{id}' does not go on at byte {at}: declare it again (PUT /inputs)")
        if len(data) > upload.missing:
            raise InvalidInput(f"'{id}' has {upload.missing} bytes to come, not {len(data)}")
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._take_of_first(upload, rest) :]
        except BaseException:
            del self._open[id]
            raise
        return self._noted(upload)

    def forget_unused(self, used: set[Path], now: float) -> None:
        """Remove unfinished files, and old uploads that are not in `used`, the agents' inputs."""
        self._transfers.forget_old(now)
        for entry in entries(self._folder):
            path = self._folder / entry.name.removesuffix(MANIFEST)
            is_old = now - entry.changed_at > FORGOTTEN_SECONDS
            if entry.name.endswith(MANIFEST) and is_old and path not in used:
                remove_tree(path)
                remove_file(self._folder / entry.name)

    def _noted(self, upload: Upload) -> Upload:
        """Remember an incomplete upload; sync the files of a complete one. Return it.

        One sync of the whole system serves all small files.
        """
        if upload.wanted:
            self._open[upload.id] = upload
        else:
            self._open.pop(upload.id, None)
            os.sync()
        return upload

    def _take_of_first(self, upload: Upload, data: memoryview) -> int:
        """Store bytes of the first wanted file from the start of `data`; return how many.

        Raises Refused if they are not the next bytes needed.
        """
        file, offset = upload.wanted[0]
        piece = bytes(data[: file.size - offset])
        place = upload.path / file.path
        if len(piece) == file.size:
            _place_whole(file, place, piece)
            reached = file.size
        else:
            reached = self._transfers.take(SENDER, file, place, offset, piece)
        if reached != offset + len(piece):
            raise Refused(f"'{file.path}' does not go on at byte {offset}: declare it again")
        upload.received += len(piece)
        if reached == file.size:
            upload.wanted.popleft()
        else:
            upload.wanted[0] = (file, reached)
        return len(piece)

    def _missing(
        self, upload: Upload, files: Sequence[FileEntry]
    ) -> Iterator[tuple[FileOffer, int]]:
        """Create folders, links, empty files and copies of known content; yield the other files."""
        elsewhere: dict[str, Path] | None = None
        for one in files:
            place = upload.path / one.path
            mode = 0o755 if one.mode & 0o100 else 0o644
            if one.kind == "folder":
                make_folder(place, 0o755)
            elif one.kind == "link":
                if not _is_link_to(place, one.target):
                    make_link(place, one.target)
            elif not one.size:
                replace_bytes(place, b"", mode, is_synced=False)
            else:
                offer = FileOffer(path=one.path, size=one.size, digest=one.digest, mode=mode)
                offset = self._transfers.wanted(SENDER, offer, place)
                if offset < one.size and elsewhere is None:
                    elsewhere = self._contents(upload.id)
                if offset < one.size and not _copied(elsewhere or {}, offer, place):
                    yield offer, offset

    def _contents(self, id: str) -> dict[str, Path]:
        """Return the paths of files in other uploads by content digest.

        A path may no longer exist.
        """
        found: dict[str, Path] = {}
        for entry in entries(self._folder):
            name = entry.name.removesuffix(MANIFEST)
            if not entry.name.endswith(MANIFEST) or name == id:
                continue
            rows = parse_json(read_bytes(self._folder / entry.name, MOST_MANIFEST))
            found |= {row["digest"]: self._folder / name / row["path"] for row in rows}
        return found


def _place_whole(file: FileOffer, place: Path, data: bytes) -> None:
    """Write a complete file without waiting for the disk. Raises InvalidInput."""
    check_content(file, hashlib.sha256(data).hexdigest())
    replace_bytes(place, data, file.mode, is_synced=False)


def _copied(contents: dict[str, Path], offer: FileOffer, place: Path) -> bool:
    """Copy a file's content from another upload to `place`; False if it is no longer there.

    `contents` maps digests to paths.
    """
    source = contents.get(offer.digest)
    try:
        if source is None:
            return False
        if offer.size <= SMALL:
            _place_whole(offer, place, read_bytes(source, SMALL))
        elif digest_of(source) == offer.digest:
            copy_file(source, place, offer.mode)
        else:
            return False
    except (OSError, InvalidInput):
        return False
    set_mode(place, offer.mode)
    return True


def _is_link_to(place: Path, target: str) -> bool:
    status = status_of(place)
    return status is not None and kind_of(status) == "link" and read_link(place) == target


def check_manifest(files: Sequence[FileEntry], most_files: int, most_bytes: int) -> None:
    """Raise InvalidInput, which names file and limit, for entries not allowed in an upload."""
    if len(files) > most_files:
        raise InvalidInput(
            f"the folder has {len(files)} files and folders, at most {most_files} may be uploaded "
            "(http.input_files)"
        )
    if (size := sum(one.size for one in files)) > most_bytes:
        raise InvalidInput(
            f"the folder has {size} bytes, at most {most_bytes} may be uploaded (http.input_bytes)"
        )
    kinds: dict[PurePosixPath, str] = {}
    for one in files:
        path = _checked_path(one.path)
        if path in kinds:
            raise InvalidInput(f"'{one.path}' is there twice")
        kinds[path] = one.kind
        _check_entry(one, path)
    for path in kinds:
        for above in path.parents:
            if kinds.get(above, "folder") != "folder":
                raise InvalidInput(f"'{path}' cannot be below '{above}', a {kinds[above]}")


def _checked_path(text: str) -> PurePosixPath:
    parts = text.split("/")
    is_sound = all(
        part not in ("", ".", "..") and len(part.encode()) <= LONGEST_NAME for part in parts
    )
    if not is_sound or "\0" in text or len(text.encode()) > LONGEST_PATH:
        raise InvalidInput(f"{text[:200]!r} is not the path of a file in the folder")
    return PurePosixPath(text)


def _check_entry(one: FileEntry, path: PurePosixPath) -> None:
    if one.kind == "link" and not stays_inside(path, one.target):
        raise InvalidInput(
            f"the link '{path}' leads out of the folder, to {one.target[:200]!r} (possible: a "
            "relative target inside it)"
        )
    if one.kind != "file":
        if one.size or one.digest:
            raise InvalidInput(f"'{path}' is a {one.kind} and has no content")
    elif one.size < 0 or (one.size and not re.fullmatch(DIGEST, one.digest)):
        raise InvalidInput(f"'{path}' needs its size and its SHA-256 in hexadecimal")


def stays_inside(link: PurePosixPath, target: str) -> bool:
    """Whether a link can only lead to a path in the folder, whatever other links exist there.

    `..` may only occur at the beginning: behind a name, which may be a link itself, it can lead to
    any place.
    """
    parts = target.split("/")
    if not target or target.startswith("/") or "\0" in target or len(target) > LONGEST_PATH:
        return False
    names = [part for part in parts if part not in ("", ".")]
    ups = next((n for n, part in enumerate(names) if part != ".."), len(names))
    return ups < len(link.parts) and ".." not in names[ups:]
