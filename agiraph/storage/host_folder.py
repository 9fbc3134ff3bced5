"""HostFolder: the files of a machine that has joined a home: its key, its record, a mirror.

{folder}/host.json     its name, the home's url and public key, its labels
{folder}/host.key      its own CURVE key, mode 0600
{folder}/lock          held by its host process
{folder}/home/         a mirror of the parts of the home that the processes here need
{folder}/cache/        fetched files, by their content's hash
{folder}/unused/       files that are about to be removed
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from agiraph.core.errors import Corrupt, InvalidInput, Refused, listed
from agiraph.core.hosts import CurveKey
from agiraph.core.json_text import parse_json
from agiraph.core.record import Record
from agiraph.storage.files import (
    FolderEntry,
    entries,
    is_file,
    is_folder,
    make_private_folder,
    move,
    read_text,
    remove_file,
    replace_bytes,
    replace_file,
    status_of,
)
from agiraph.storage.home import Home, PathBelow, home_at, user_home

FOLDER_VARIABLE: Final = "AGIRAPH_HOST_FOLDER"
ALL: Final = ".agiraph-host"
UNUSED_SECONDS: Final = 7 * 86_400.0
"""A copy of files is removed this long after its worker's last start, and unused content too."""
Kept = TypeVar("Kept", bound=Record)


class HostRecord(Record):
    """The name of a machine in the home that it joined; `server_key` is the home's, in Z85."""

    name: str
    url: str
    server_key: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFolder:
    """The paths of a host's folder, and its two small files."""

    path: Path

    def __post_init__(self) -> None:
        """Resolve the path, like a home's path."""
        object.__setattr__(self, "path", home_at(self.path))

    record_file = PathBelow("host.json")
    """The HostRecord. Written when the host joins."""
    key_file = PathBelow("host.key")
    """The CurveKey, mode 0600. Written when the host joins."""
    lock = PathBelow("lock")
    """Held by the host process."""
    starts = PathBelow("starts")
    """How often the host process has started: its incarnation."""
    log = PathBelow("host.jsonl")
    """The host process's log."""
    cache = PathBelow("cache")
    """Fetched files. Written by the processes of workers."""
    contents = PathBelow("cache/contents")
    """Large files, by their digests; copies are hard links to them."""
    inputs = PathBelow("cache/inputs")
    """Input folders, one for each copy of an agent's home."""
    unused = PathBelow("unused")
    """Files that are about to be removed."""

    @property
    def home(self) -> Home:
        """The mirror of the home."""
        return Home(self.path / "home")

    @property
    def has_joined(self) -> bool:
        """Whether this machine has joined a home: both its record and its key exist."""
        return is_file(self.record_file) and is_file(self.key_file)

    def join(self, record: HostRecord, key: CurveKey) -> None:
        """Store key and record of this machine as a host, the key first. Raises OSError."""
        make_private_folder(self.path)
        replace_bytes(self.key_file, key.model_dump_json().encode(), 0o600)
        self.write_record(record)

    def write_record(self, record: HostRecord) -> None:
        """Replace the record. Raises OSError."""
        replace_file(self.record_file, record.model_dump_json(indent=1))

    def leave(self) -> None:
        """Remove record, key and start count of this machine as a host; the mirror stays."""
        for file in (self.record_file, self.key_file, self.starts):
            remove_file(file)

    def record(self) -> HostRecord:
        """Return the record. Raises Refused if this machine has not joined a home, Corrupt."""
        return self._read(self.record_file, HostRecord)

    def key(self) -> CurveKey:
        """Return the key. Raises as `record`."""
        return self._read(self.key_file, CurveKey)

    def next_start(self) -> int:
        """Return and store the next incarnation number of the host process. Raises OSError."""
        try:
            number = int(read_text(self.starts)) + 1
        except (FileNotFoundError, ValueError):
            number = 1
        replace_file(self.starts, f"{number}\n")
        return number

    def set_aside_unused(self, now: float, in_use: Collection[str]) -> None:
        """Move the unused copies of agents' homes to `unused`. Raises OSError.

        `in_use` are the names of the copies whose workers run. A worker that continues here fetches
        missing files again. Contents without a copy are removed.
        """
        for entry in _older(self.home.agents, now - UNUSED_SECONDS):
            if entry.name not in in_use:
                for place in (self.inputs / entry.name, self.home.agents / entry.name):
                    with suppress(FileNotFoundError):
                        move(place, self.unused / secrets.token_hex(8))
        for entry in _older(self.contents, now - UNUSED_SECONDS):
            status = status_of(self.contents / entry.name)
            if status is not None and status.st_nlink == 1:
                remove_file(self.contents / entry.name)

    def _read(self, file: Path, kind: type[Kept]) -> Kept:
        try:
            return kind.model_validate(parse_json(read_text(file)))
        except FileNotFoundError:
            raise Refused(
                f"{self.path} belongs to no host: `agiraph host join LINE` makes this machine one,"
                " with a line of `agiraph host invite`"
            ) from None
        except (ValueError, ValidationError) as error:
            raise Corrupt(f"{file}: {error}") from None


def _older(folder: Path, than: float) -> Iterator[FolderEntry]:
    """Yield the entries of a folder, if it exists, that were not changed since `than`."""
    if is_folder(folder):
        yield from (entry for entry in entries(folder) if entry.changed_at < than)


def folder_for(name: str, environ: Mapping[str, str]) -> HostFolder:
    """Return the folder of the host `name`: AGIRAPH_HOST_FOLDER, or `~/.agiraph-host/NAME`."""
    named = environ.get(FOLDER_VARIABLE)
    return HostFolder(Path(named) if named else user_home() / ALL / name)


def joined_folder(environ: Mapping[str, str]) -> HostFolder:
    """Return the folder of the only host on this machine. Raises InvalidInput if several exist."""
    if environ.get(FOLDER_VARIABLE):
        return folder_for("", environ)
    below = user_home() / ALL
    names = [entry.name for entry in entries(below)] if is_folder(below) else []
    joined = [name for name in names if HostFolder(below / name).has_joined]
    if len(joined) > 1:
        raise InvalidInput(
            f"this machine is several hosts ({listed(joined)}): name the folder of one, as in"
            f" --folder {below / joined[0]}"
        )
    return HostFolder(below / joined[0] if joined else below)
