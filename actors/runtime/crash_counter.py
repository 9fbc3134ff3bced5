"""CrashCounter: finds the message, or the step, that has crashed this actor's process repeatedly.

While a durable message is being handled, its id is in a small file. The file may contain several
ids: of a batch that is written together, of concurrent work. It does not contain messages that only
wait in the actor's memory. A process that dies of its own fault (not killed from outside) leaves
the ids there, and its next incarnation counts the crash against each of these messages. A message
that was counted is a suspect and is handled alone from then on, so the second crash identifies the
guilty message; a message that is done is cleared. A step is counted in the same way, by the
position in the conversation at which the process begins: no progress between two crashes is the
same step. LIMIT crashes make a message or a step poison. The file need not survive the machine, and
a note that does not fit on a full disk is omitted.

The file also contains the incarnation that writes it, whether it is ready, its activity in words,
and the number of steps in its conversation. Its supervisor reads them when the process is dead or
hangs: a message on the bus could still be in a queue that dies with it. The next incarnation
compares the number of steps with its conversation, which may have lost its end.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.concurrency import Signal
from agiraph.core.json_text import parse_json
from agiraph.storage.disk_space import is_full_disk, waiting
from agiraph.storage.files import (
    make_folder,
    open_file,
    read_bytes,
    read_part,
    read_text,
    replace_bytes,
    replace_file,
)
from agiraph.storage.walk import UnsafeFile

LIMIT = 3
REMEMBERED = 512
ID_BYTES = 16
NOBODY = bytes(ID_BYTES)
NOTE_BYTES = 256
MORE = ID_BYTES + NOTE_BYTES
READY = "+"
PLACE = "@"


@dataclass(frozen=True, slots=True)
class ProcessNote:
    """The last note of a process: its incarnation, whether it was ready, its activity.

    `position` is the number of steps in its conversation, 0 without one.
    """

    incarnation: int
    is_ready: bool
    step: str
    position: int = 0


class CrashCounter:
    """The crash counts of one address, in `folder`; `last_end` is the cause of its last crash.

    `limit` crashes make a message poison.
    """

    def __init__(
        self, folder: Path, name: str, incarnation: int, last_end: str, limit: int = LIMIT
    ) -> None:
        self.last_end = last_end
        self._limit = limit
        self._incarnation = incarnation
        self._is_ready = False
        self._folder = folder
        self._marker = folder / f"{name}.taking"
        self._counts_file = folder / f"{name}.json"
        self._fd: int | None = None
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._emptied = Signal()
        noted = _read_note(self._marker)
        self.position = self.position_before = noted.position if noted is not None else 0
        """The number of steps in this actor's conversation, now and in the previous note."""
        self._counts: dict[str, int] = _read_counts(self._counts_file)
        taken = _read_taken(self._marker)
        if last_end and taken:
            self._count(*dict.fromkeys(taken.values()))
        for slot in taken:
            self._write(slot, NOBODY)

    # --- messages -------------------------------------------------------------------------------

    def begin(self, id: str) -> None:
        """Record that a message (its id in hex) is being handled."""
        if id not in self._slots:
            slot = self._free.pop() if self._free else len(self._slots)
            self._slots[id] = slot
            self._write(slot, bytes.fromhex(id))

    def end(self, id: str) -> None:
        """Record that a message is no longer being handled, done or not."""
        slot = self._slots.pop(id, None)
        if slot is not None:
            self._free.append(slot)
            self._write(slot, NOBODY)
            if not self._slots:
                self._emptied.set()

    def done(self, id: str) -> None:
        """Record that a message is done and has crashed no process; clear its count."""
        self.end(id)
        self.forget(id)

    def together(self, ids: Sequence[str]) -> int:
        """Return how many of the first `ids` may be handled together; a suspect only alone."""
        if not ids or self.is_suspect(ids[0]):
            return min(1, len(ids))
        return next((number for number, id in enumerate(ids) if self.is_suspect(id)), len(ids))

    async def turn_of(self, id: str) -> None:
        """Wait until a suspect can be handled alone; other messages do not wait."""
        await self._emptied.until(lambda: not (self.is_suspect(id) and self._slots.keys() - {id}))

    def is_suspect(self, id: str) -> bool:
        """Whether a message was being handled when this actor died of its own fault."""
        return id in self._counts

    def is_poison(self, id: str) -> bool:
        """Whether a message has crashed this actor `limit` times."""
        return self._counts.get(id, 0) >= self._limit

    def forget(self, id: str) -> None:
        """Set a message's crash count to zero."""
        if self._counts.pop(id, None) is not None:
            self._save()

    # --- steps ----------------------------------------------------------------------------------

    def is_stuck_at(self, place: str) -> bool:
        """Count this start at a step; return whether LIMIT own crashes happened at it."""
        key = f"step.{place}"
        if self.last_end:
            self._count(key)
        return self._counts.get(key, 0) >= LIMIT

    def doing(self, step: str) -> None:
        """Write the activity `step` (words) into this incarnation's note."""
        mark = READY if self._is_ready else ""
        at = f"{PLACE}{self.position}" if self.position else ""
        note = f"{self._incarnation}{mark}{at} {step}".encode("utf-8", "replace")[:NOTE_BYTES]
        with _as_far_as_it_fits():
            os.pwrite(self._file(), note.ljust(NOTE_BYTES, b"\0"), ID_BYTES)

    def ready(self) -> None:
        """Record that this incarnation accepts messages."""
        self._is_ready = True
        self.doing("")

    # --- files ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _count(self, *keys: str) -> None:
        for key in keys:
            self._counts[key] = self._counts.pop(key, 0) + 1
        while len(self._counts) > REMEMBERED:
            self._counts.pop(next(iter(self._counts)))
        self._save()

    def _save(self) -> None:
        with _as_far_as_it_fits():
            make_folder(self._folder, 0o700)
            replace_file(self._counts_file, json.dumps(self._counts))

    def _write(self, slot: int, id: bytes) -> None:
        with _as_far_as_it_fits():
            os.pwrite(self._file(), id, MORE + (slot - 1) * ID_BYTES if slot else 0)

    def _file(self) -> int:
        if self._fd is None:
            make_folder(self._folder, 0o700)
            try:
                self._fd = open_file(self._marker, os.O_WRONLY | os.O_CREAT)
            except UnsafeFile:  # it contains no note, which this process can do without
                replace_bytes(self._marker, b"", 0o600)
                self._fd = open_file(self._marker, os.O_WRONLY)
        return self._fd


@contextmanager
def _as_far_as_it_fits() -> Iterator[None]:
    """Ignore a full disk in the block: a lost note is no reason to stop or to wait."""
    try:
        with waiting(None):
            yield
    except OSError as error:
        if not is_full_disk(error):
            raise


def file_name(address: str) -> str:
    """Return the base name of the files of an address."""
    return address.replace("/", ".")


def read_note(folder: Path, address: str, incarnation: int) -> ProcessNote | None:
    """Return the last note of an incarnation, None if it has written none."""
    note = _read_note(folder / f"{file_name(address)}.taking")
    return note if note is not None and note.incarnation == incarnation else None


def _read_note(marker: Path) -> ProcessNote | None:
    try:
        noted, _ = read_part(marker, ID_BYTES, NOTE_BYTES)
    except OSError:
        return None
    head, _, step = noted.rstrip(b"\0").decode("utf-8", "replace").partition(" ")
    number, _, position = head.partition(PLACE)
    is_ready = number.endswith(READY)
    try:
        incarnation = int(number.removesuffix(READY))
        return ProcessNote(incarnation, is_ready, step, int(position or 0))
    except ValueError:
        return None


def is_repeated_crash(folder: Path, address: str) -> bool:
    """Whether a dead process was handling only messages that have crashed its address before.

    Its next incarnation counts that crash against the message, which limits the repetitions.
    """
    taken = _read_taken(folder / f"{file_name(address)}.taking").values()
    counts = _read_counts(folder / f"{file_name(address)}.json")
    return bool(taken) and all(0 < counts.get(id, 0) < LIMIT for id in taken)


def _read_taken(file: Path) -> dict[int, str]:
    """Return the ids in a marker file, by their slots."""
    try:
        data = read_bytes(file)
    except OSError:
        return {}
    ids = data[:ID_BYTES] + data[MORE:]
    whole = range(len(ids) // ID_BYTES)
    found = {slot: ids[slot * ID_BYTES : (slot + 1) * ID_BYTES] for slot in whole}
    return {slot: id.hex() for slot, id in found.items() if id != NOBODY}


def _read_counts(file: Path) -> dict[str, int]:
    try:
        counts = parse_json(read_text(file))
    except (OSError, ValueError):
        return {}
    return {str(key): int(count) for key, count in counts.items()}
