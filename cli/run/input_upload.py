"""Upload an input folder to a home on another machine, without the files already there."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Final

from agiraph.core.errors import InvalidInput
from agiraph.http.api import ApiError, DeclareInputRequest, InputView, WantedFileView
from agiraph.storage.file_records import FileEntry
from agiraph.storage.uploads import check_manifest
from cli.output.formats import format_size

if TYPE_CHECKING:
    from agiraph.http.client import Client

PIECE: Final = 4 * 1024 * 1024
CONFLICT: Final = 409
MOST_STARTS: Final = 20
MOST_FILES: Final = 100_000
MOST_BYTES: Final = 1 << 50
"""The gateway has the actual limit."""

Say = Callable[[str], None]


def upload_input(client: "Client", folder: Path, say: Say, note: Say) -> str:
    """Send a folder and return its path on the home's machine; `say` receives the progress.

    An interrupted upload continues where it stopped. Raises InvalidInput for files that cannot be
    sent, ApiError if the gateway refuses them.
    """
    files = list(entries_below(folder, say))
    check_manifest(files, MOST_FILES, MOST_BYTES)
    request = DeclareInputRequest(name=folder.name or "input", files=tuple(files))
    size = sum(one.size for one in files)
    for _ in range(MOST_STARTS):
        say(f"comparing {folder}")
        found = client.declare_input(request)
        if found.path is not None:
            note(
                f"input {folder}: {_counted(files)}, {format_size(size)}, is on the home's machine"
            )
            return found.path
        there = format_size(size - found.missing)
        note(f"input {folder}: {_counted(files)}, {format_size(size)}, of which {there} is there")
        try:
            return _sent(client, folder, found, say)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
    raise ApiError(CONFLICT, f"{folder} could not be sent: another console sends it, too")


def _counted(files: list[FileEntry]) -> str:
    count = sum(one.kind == "file" for one in files)
    return "1 file" if count == 1 else f"{count:,} files"


def _sent(client: "Client", folder: Path, found: InputView, say: Say) -> str:
    """Send the files that the gateway lacks; return the path of the folder there.

    Raises ApiError 409 if the folder must be declared again.
    """
    at, path, missing = 0, found.path, found.missing
    for piece in _pieces(folder, found.wanted):
        sent = client.send_input(found.id, at, piece)
        at, path = at + len(piece), sent.path
        say(f"sending {folder}: {format_size(at)} of {format_size(missing)}")
    if path is None:
        raise InvalidInput(f"{folder} has changed while it was sent; try again")
    return path


def _pieces(folder: Path, wanted: tuple[WantedFileView, ...]) -> Iterator[bytes]:
    """Yield the content of files from their offsets on, one after the other, in full pieces."""
    piece = bytearray()
    for one in wanted:
        with open(folder / one.path, "rb") as file:  # plain: named by the person
            file.seek(one.offset)
            while data := file.read(PIECE - len(piece)):
                piece += data
                if len(piece) == PIECE:
                    yield bytes(piece)
                    piece.clear()
    if piece:
        yield bytes(piece)


def entries_below(folder: Path, say: Say) -> Iterator[FileEntry]:
    """Yield all entries below a folder, sorted; `say` receives the file that is read.

    Raises InvalidInput for an unreadable file, and for a name that is not UTF-8.
    """
    for place, folders, names in os.walk(folder, onerror=_refuse):  # plain: named by the person
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(place, name)
            shown = str(path.relative_to(folder))
            try:
                shown.encode()
            except UnicodeEncodeError:
                raise InvalidInput(f"{shown!a} in {folder} is not UTF-8") from None
            try:
                entry = _entry(path, shown, say)
            except OSError as error:
                raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None
            if entry is not None:
                yield entry


def _entry(path: Path, shown: str, say: Say) -> FileEntry | None:
    """Return the entry of a file, folder or link; None for a socket and other special files."""
    status = path.lstat()
    if S_ISLNK(status.st_mode):
        return FileEntry(path=shown, kind="link", target=os.readlink(path))
    if S_ISDIR(status.st_mode):
        return FileEntry(path=shown, kind="folder")
    if not S_ISREG(status.st_mode):
        return None
    say(f"reading {shown}")
    with open(path, "rb") as file:  # plain: named by the person
        digest = hashlib.file_digest(file, "sha256").hexdigest() if status.st_size else ""
    return FileEntry(path=shown, size=status.st_size, mode=status.st_mode & 0o777, digest=digest)


def _refuse(error: OSError) -> None:
    raise InvalidInput(f"{error.filename}: cannot be read ({error.strerror})")
