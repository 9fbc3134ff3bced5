"""Attempts: which message, or which step, has ended this actor's process again and again.

Before a durable message is handed out its id is put into a small file, where it stands until it is
done or the next one is handed out. A process that dies of its own fault (not killed from outside)
leaves it there, and its next incarnation counts that against the message. A step is counted in the
same way, by the position in the conversation at which the process begins: no progress between two
deaths is the same step. LIMIT deaths make a message or a step poison. The file need not survive the
machine, and what does not fit on a full disk is not noted.

Behind the id stands what the process is doing, in words: its supervisor can name that when the
process is dead or hangs. A word on the bus could still lie in a queue that dies with it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agiraph.storage.files import make_folder, open_file, read_part, read_text, replace_file
from agiraph.storage.room import is_full_disk, waiting

LIMIT = 3
REMEMBERED = 64
ID_BYTES = 16
IDLE = bytes(ID_BYTES)
STEP_BYTES = 256


class Attempts:
    """The counts of one address, kept in `folder`. `last_end` tells of an end by own fault."""

    def __init__(self, folder: Path, name: str, last_end: str) -> None:
        """Read what the last incarnation left, and count its death."""
        self.last_end = last_end
        self._folder = folder
        self._marker = folder / f"{name}.taking"
        self._counts_file = folder / f"{name}.json"
        self._fd: int | None = None
        self._taken = IDLE
        self._counts: dict[str, int] = _read_counts(self._counts_file)
        taken = _read_marker(self._marker)
        if last_end and taken:
            self._count(taken.hex())
        if taken:
            self._write(IDLE)

    def taking(self, id: bytes) -> None:
        """Note that a message is being handled."""
        self._write(id)

    def done(self, id: bytes) -> None:
        """Note that a message is done with."""
        if id == self._taken:
            self._write(IDLE)

    def doing(self, incarnation: int, step: str) -> None:
        """Note in words what this incarnation is doing."""
        note = f"{incarnation} {step}".encode("utf-8", "replace")[:STEP_BYTES]
        with _as_far_as_it_fits():
            os.pwrite(self._file(), note.ljust(STEP_BYTES, b"\0"), ID_BYTES)

    def is_poison(self, id: bytes) -> bool:
        """Whether a message has ended this actor LIMIT times."""
        return self._counts.get(id.hex(), 0) >= LIMIT

    def forget(self, id: bytes) -> None:
        """Count from the beginning if this message comes again."""
        if self._counts.pop(id.hex(), None) is not None:
            self._save()

    def is_stuck_at(self, place: str) -> bool:
        """Count this beginning at a step; return whether LIMIT own deaths lie behind it."""
        key = f"step.{place}"
        if self.last_end:
            self._count(key)
        return self._counts.get(key, 0) >= LIMIT

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _count(self, key: str) -> None:
        self._counts[key] = self._counts.pop(key, 0) + 1
        while len(self._counts) > REMEMBERED:
            self._counts.pop(next(iter(self._counts)))
        self._save()

    def _save(self) -> None:
        with _as_far_as_it_fits():
            make_folder(self._folder, 0o700)
            replace_file(self._counts_file, json.dumps(self._counts))

    def _write(self, id: bytes) -> None:
        self._taken = id
        with _as_far_as_it_fits():
            os.pwrite(self._file(), id, 0)

    def _file(self) -> int:
        if self._fd is None:
            make_folder(self._folder, 0o700)
            self._fd = open_file(self._marker, os.O_WRONLY | os.O_CREAT)
        return self._fd


@contextmanager
def _as_far_as_it_fits() -> Iterator[None]:
    """Do without a note for which the disk has no room: it neither stops nor holds up anybody."""
    try:
        with waiting(None):
            yield
    except OSError as error:
        if not is_full_disk(error):
            raise


def file_name(address: str) -> str:
    """Return what the files of an address are called."""
    return address.replace("/", ".")


def last_step(folder: Path, address: str, incarnation: int) -> str | None:
    """Return what an incarnation noted last that it was doing, None if it noted nothing."""
    try:
        noted, _ = read_part(folder / f"{file_name(address)}.taking", ID_BYTES, STEP_BYTES)
    except OSError:
        return None
    number, _, step = noted.rstrip(b"\0").decode("utf-8", "replace").partition(" ")
    return step if number == str(incarnation) else None


def _read_marker(file: Path) -> bytes | None:
    try:
        marked, _ = read_part(file, 0, ID_BYTES)
    except OSError:
        return None
    return marked if len(marked) == ID_BYTES and marked != IDLE else None


def _read_counts(file: Path) -> dict[str, int]:
    try:
        counts = json.loads(read_text(file))
    except (OSError, ValueError):
        return {}
    return {str(key): int(count) for key, count in counts.items()}
