"""HostFolder: what a machine that has joined a home keeps: its key, whom it belongs to, a mirror.

{folder}/host.json     its name, the home's url and public key, its labels
{folder}/host.key      its own CURVE key, mode 0600
{folder}/lock          held by its host process
{folder}/home/         a mirror of the home, as far as the processes here need it
{folder}/cache/        what was fetched, by its content's hash
{folder}/unused/       what is about to be removed
"""

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from agiraph.core.errors import Corrupt, InvalidInput, Refused, listed
from agiraph.core.hosts import CurveKey
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
"""So long after its worker's last start a copy of files is removed, and a content without one."""
Kept = TypeVar("Kept", bound=Record)


class HostRecord(Record):
    """Under what name a machine has joined which home; `server_key` is the home's, in Z85."""

    name: str
    url: str
    server_key: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFolder:
    """The paths of a host's folder, and its two small files."""

    path: Path

    def __post_init__(self) -> None:
        """Resolve the path, as that of a home."""
        object.__setattr__(self, "path", home_at(self.path))

    record_file = PathBelow("host.json")
    """The HostRecord. Written when it joins."""
    key_file = PathBelow("host.key")
    """The CurveKey, mode 0600. Written when it joins."""
    lock = PathBelow("lock")
    """Held by the host process."""
    starts = PathBelow("starts")
    """How often the host process has started: its incarnation."""
    log = PathBelow("host.jsonl")
    """The host process's log."""
    cache = PathBelow("cache")
    """What was fetched. Written by the processes of workers."""
    contents = PathBelow("cache/contents")
    """Large files, by their digests: a copy that has one is another name of it."""
    inputs = PathBelow("cache/inputs")
    """Input folders, one for each copy of an agent's home."""
    unused = PathBelow("unused")
    """What is about to be removed."""

    @property
    def home(self) -> Home:
        """The mirror of the home."""
        return Home(self.path / "home")

    @property
    def has_joined(self) -> bool:
        """Whether it holds the key of a host."""
        return is_file(self.record_file) and is_file(self.key_file)

    def join(self, record: HostRecord, key: CurveKey) -> None:
        """Write down what makes this machine a host, the key first; raises OSError."""
        make_private_folder(self.path)
        replace_bytes(self.key_file, key.model_dump_json().encode(), 0o600)
        self.write_record(record)

    def write_record(self, record: HostRecord) -> None:
        """Replace the record; raises OSError."""
        replace_file(self.record_file, record.model_dump_json(indent=1))

    def leave(self) -> None:
        """Remove key and record; the mirror stays."""
        for file in (self.record_file, self.key_file, self.starts):
            remove_file(file)

    def record(self) -> HostRecord:
        """Return the record; raises Refused if it has not joined, Corrupt."""
        return self._read(self.record_file, HostRecord)

    def key(self) -> CurveKey:
        """Return the key; errors as `record`."""
        return self._read(self.key_file, CurveKey)

    def next_start(self) -> int:
        """Return the next incarnation of the host process, written down; raises OSError."""
        try:
            number = int(read_text(self.starts)) + 1
        except (FileNotFoundError, ValueError):
            number = 1
        replace_file(self.starts, f"{number}\n")
        return number

    def set_aside_unused(self, now: float, in_use: Collection[str]) -> None:
        """Move the copies of agents' homes that no worker needs any more to `unused`; OSError.

        `in_use` are the names of those whose workers run. What a worker that continues here misses
        is fetched again. Contents that no copy has are removed.
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
            return kind.model_validate(json.loads(read_text(file)))
        except FileNotFoundError:
            raise Refused(
                f"{self.path} belongs to no host: `agiraph host join LINE` makes this machine one,"
                " with a line of `agiraph host invite`"
            ) from None
        except (ValueError, ValidationError) as error:
            raise Corrupt(f"{file}: {error}") from None


def _older(folder: Path, than: float) -> Iterator[FolderEntry]:
    """Yield what is in a folder, if there is one, and was not changed since."""
    if is_folder(folder):
        yield from (entry for entry in entries(folder) if entry.changed_at < than)


def folder_for(name: str, environ: Mapping[str, str]) -> HostFolder:
    """Return the folder of the host `name`: AGIRAPH_HOST_FOLDER, or `~/.agiraph-host/NAME`."""
    named = environ.get(FOLDER_VARIABLE)
    return HostFolder(Path(named) if named else user_home() / ALL / name)


def joined_folder(environ: Mapping[str, str]) -> HostFolder:
    """Return the folder of the one host that this machine is; raises InvalidInput if several."""
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
