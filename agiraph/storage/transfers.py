"""Transfers: large files that arrive in parts, each kept until its content is whole.

An unfinished file is in a folder of the home, under a name made from its sender, its digest and its
place; so a transfer continues at the byte where it stopped, after a restart of either side. It is
moved to its place in one step, and only if its content has the announced digest.
"""

import hashlib
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.storage.copies import digest_of, sync_file, write_at
from agiraph.storage.file_records import FileOffer
from agiraph.storage.files import (
    entries,
    make_private_folder,
    move,
    remove_file,
    set_mode,
    status_of,
)
from agiraph.storage.walk import kind_of

FORGOTTEN_SECONDS = 7 * 86_400.0
"""The age of its last part at which an unfinished file is removed."""


class Transfers:
    """The unfinished files below `folder`, on the file system of the finished ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def forget_old(self, now: float) -> None:
        """Remove files whose transfer has not continued for FORGOTTEN_SECONDS."""
        make_private_folder(self._folder)
        for entry in entries(self._folder):
            if now - entry.changed_at > FORGOTTEN_SECONDS:
                remove_file(self._folder / entry.name)

    def wanted(self, sender: str, file: FileOffer, place: Path) -> int:
        """Return the offset of the next byte needed, `file.size` if `place` has all of it.

        `sender` identifies the transfer together with `file`.
        """
        status = status_of(place)
        is_alike = status is not None and kind_of(status) == "file" and status.st_size == file.size
        if is_alike and digest_of(place) == file.digest:
            return file.size
        part = status_of(self._part(sender, file))
        if part is None:
            return 0
        return min(part.st_size, max(file.size - 1, 0))  # the last byte moves it to its place

    def take(self, sender: str, file: FileOffer, place: Path, offset: int, data: bytes) -> int:
        """Store a part that begins at `offset`; return the offset of the next byte needed.

        The complete file is moved to `place`. Raises InvalidInput for too many bytes or a wrong
        digest.
        """
        part = self._part(sender, file)
        if offset + len(data) > file.size:
            raise InvalidInput(f"'{file.path}' was announced with {file.size} bytes, not more")
        make_private_folder(self._folder)
        size = write_at(part, data, offset, 0o600, is_synced=False)
        if size < file.size:
            return size
        try:
            check_content(file, digest_of(part))
        except InvalidInput:
            remove_file(part)
            raise
        sync_file(part)
        set_mode(part, file.mode)
        move(part, place)
        return file.size

    def _part(self, sender: str, file: FileOffer) -> Path:
        named = "\x1f".join((sender, file.path, file.digest, str(file.size)))
        return self._folder / hashlib.sha256(named.encode()).hexdigest()


def check_content(file: FileOffer, found: str) -> None:
    """Raise InvalidInput unless the SHA-256 of the received content is the announced one."""
    if found != file.digest:
        raise InvalidInput(
            f"the sent bytes of '{file.path}' have the SHA-256 {found}, not {file.digest}: "
            "send it again"
        )
