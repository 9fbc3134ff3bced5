"""Segments: one long log as a sequence of files of limited size, so that its age costs no time.

    events.jsonl                                   the newest records; `tail -F` shows them
    events.segments/0000000001-0000003120.jsonl    a full segment: the records with seq 1 to 3120

Every record has its number in the log as `seq`, from 1 on. The name of a full segment contains its
first and last number, so the names are the index of the log: no other index has to be kept
consistent with them, and no segment is opened to open the log. One rename turns the active file
into a full segment, and the next append begins a new file; a process that dies in between leaves a
log without an active file, which is equivalent to an empty one.

One process writes a log. Any number of processes read it at the same time (`segment_reader.py`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import patiently
from agiraph.storage.files import entries, move
from agiraph.storage.journal import (
    Journal,
    JournalPosition,
    JsonObject,
    read_tail,
)

DAY_SECONDS = 86_400.0

SEGMENT_BYTES = 1 << 20

DIGITS = 10
NAME = re.compile(r"(\d{10,})-(\d{10,})")
MOST_SEGMENTS = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A full segment: the numbers of its records, its file and its size in bytes."""

    first: int
    last: int
    path: Path
    size: int = 0


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in a log: `mark` in the active file, and `base`, the number of records before it."""

    base: int
    mark: JournalPosition


def segment_path(log: Path, first: int, last: int) -> Path:
    """Return the path of the full segment with the records `first` to `last`."""
    return _folder(log) / f"{first:0{DIGITS}}-{last:0{DIGITS}}{log.suffix}"


def _folder(log: Path) -> Path:
    return log.with_name(f"{log.stem}.segments")


def segments_of(log: Path) -> list[Segment]:
    """Return the full segments of a log, oldest first; [] if there are none. Raises OSError."""
    folder = _folder(log)
    try:
        here = entries(folder, MOST_SEGMENTS)
    except FileNotFoundError:
        return []
    matches = [(entry, NAME.match(entry.name)) for entry in here if entry.kind == "file"]
    return sorted(
        Segment(int(found[1]), int(found[2]), folder / entry.name, entry.size)
        for entry, found in matches
        if found and entry.name == found[0] + log.suffix
    )


def seq_of(record: JsonObject) -> int:
    """Return a record's number, 0 if it has none."""
    seq = record.get("seq")
    return seq if isinstance(seq, int) else 0


class SegmentedJournal:
    """A log that one process appends to. `records` are the records at its opening.

    These are the records of the active file, after `since` if that is a place in it. A segment is
    full with `most_bytes`; the records of one `append` are never divided. `has_turned` is set when
    a segment becomes full, and reset by the reader of the flag. Raises Corrupt, OSError.
    """

    def __init__(
        self, path: Path, most_bytes: int = SEGMENT_BYTES, since: LogPosition | None = None
    ) -> None:
        self.path = path
        self._most_bytes = most_bytes
        self.has_turned = False
        self._journal: Journal | None = Journal(path, since.mark if since else None)
        self.records, self._journal.records = self._journal.records, []
        if since and self._journal.since:
            self.base = since.base
        else:
            self.base = _base_of(path, self.records)

    @property
    def count(self) -> int:
        """The number of the last record."""
        return self.base + (self._journal.count if self._journal else 0)

    @property
    def place(self) -> LogPosition | None:
        """The position after the last record; None if the next record begins a new segment."""
        return LogPosition(self.base, self._journal.mark) if self._journal else None

    def append(self, *records: JsonObject) -> int:
        """Write records with their `seq` in one piece; return the number of the last one.

        The records are on disk when this returns. Raises OSError.
        """
        self.write(*records)
        self.sync()
        return self.count

    def write(self, *records: JsonObject) -> None:
        """Write records in one piece; they are durable after `sync`. Raises OSError."""
        if not records:
            return
        if self._journal and self._journal.mark.offset >= self._most_bytes:
            self._turn()
        if self._journal is None:
            self._journal = patiently(lambda: Journal(self.path))
        self._journal.write(*records)

    @property
    def is_behind(self) -> bool:
        """Whether written records may not be on disk yet."""
        return self._journal is not None and self._journal.is_behind

    def sync(self) -> None:
        """Wait until all written records are on disk. Raises OSError."""
        if self._journal:
            self._journal.sync()

    def try_sync(self) -> bool:
        """Sync once, and return whether all written records are on disk; a full disk gives False.

        May be called in any thread.
        """
        return self._journal is None or self._journal.try_sync()

    def _turn(self) -> None:
        """Rename the active file to a full segment; the next write creates a new active file."""
        assert self._journal is not None
        last = self.count
        self._journal.sync()
        self._journal.close()
        self._journal = None
        full = segment_path(self.path, self.base + 1, last)
        patiently(lambda: move(self.path, full))
        self.base = last
        self.has_turned = True

    def tail_before(self, most_bytes: int) -> list[JsonObject]:
        """Return the last records of the full segments, about `most_bytes` of them."""
        pieces: list[list[JsonObject]] = []
        for segment in reversed(segments_of(self.path)):
            if most_bytes <= 0:
                break
            pieces.insert(0, read_tail(segment.path, most_bytes))
            most_bytes -= segment.size
        return [record for piece in pieces for record in piece]

    def close(self) -> None:
        """Sync and close the file."""
        if self._journal:
            self._journal.sync()
            self._journal.close()


def _base_of(path: Path, records: Sequence[JsonObject]) -> int:
    """Return the number of records in full segments, before the active file's `records`.

    Raises Corrupt if the active file begins with a record that a segment contains.
    """
    sealed = segments_of(path)
    before = sealed[-1].last if sealed else 0
    base = seq_of(records[0]) - 1 if records and seq_of(records[0]) else before
    if base < before:
        raise Corrupt(f"{path} begins with record {base + 1}, which stands in {sealed[-1].path}")
    return base


def outlived(
    segments: Sequence[Segment],
    newest_of: Callable[[Segment], float],
    now: float,
    days: float | None,
    most_bytes: int | None,
) -> list[Segment]:
    """Return the segments to delete, the oldest of a log, oldest first.

    These are segments whose newest record (`newest_of`, a Unix time) is older than `days`, and
    segments that make all `segments` together larger than `most_bytes`. The newest segment is kept:
    the numbers of an empty active file follow from it.
    """
    held = sum(segment.size for segment in segments)
    doomed: list[Segment] = []
    for segment in segments[:-1]:
        is_too_much = most_bytes is not None and held > most_bytes
        is_too_old = days is not None and now - newest_of(segment) > days * DAY_SECONDS
        if not (is_too_much or is_too_old):
            break
        doomed.append(segment)
        held -= segment.size
    return doomed
