"""SegmentReader: the lines of a segmented log by their numbers, while another process writes it.

At each poll it checks that the active file is the known file (by inode), and that the part that it
has read is unchanged. If not, a segment was filled in the meantime (or the log was replaced) and it
starts again: records are requested by number, so none is missed or returned twice.
"""

import os
from bisect import bisect_left
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from agiraph.core.errors import Corrupt
from agiraph.core.json_text import parse_json
from agiraph.storage.files import open_file, status_of
from agiraph.storage.segments import Segment, segments_of, seq_of
from agiraph.storage.walk import UnsafeFile

STRIDE: Final = 256
LATEST: Final = 64
NEAR_BYTES: Final = 1 << 16
KNOWN_BYTES: Final = 64
TRIES: Final = 20

Line = tuple[int, bytes]


class SegmentReader:
    """A reader of one growing log. Only whole lines count.

    The place of every STRIDE-th line of the active file is stored, and the LATEST lines, which are
    requested most. `begun` increases whenever the active file is replaced. A log whose records have
    no `seq` is one file, numbered by its lines.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._sealed: list[Segment] = []
        self.begun = 0
        self._base = self._last = 0
        self._inode = self._end = self._changed = 0
        self._known = b""
        self._places = [0]
        self._latest: dict[int, bytes] = {}

    def last(self) -> int:
        """Poll the log and return the number of its last record, 0 if it is empty.

        Raises OSError.
        """
        self._look()
        return self._last

    @property
    def seen(self) -> int:
        """The number of the last record at the last poll."""
        return self._last

    def first(self) -> int:
        """Return the number of the oldest kept record (`last` + 1 if there is none)."""
        self._look()
        self._sealed = segments_of(self._path)
        return self._sealed[0].first if self._sealed else self._base + 1

    def lines(self, after: int, limit: int) -> list[Line]:
        """Return up to `limit` lines whose numbers are greater than `after`, in order.

        Numbers are missing only where their segment has been deleted. Raises Corrupt, OSError.
        """
        self._look()
        for _ in range(TRIES):
            if limit < 1 or after >= self._last:
                return []
            with suppress(FileNotFoundError, UnsafeFile, _Changed):  # between a poll and an open
                return self._read(after, limit)
            self._reopen()
        raise Corrupt(f"{self._path} does not match the names of its segments")

    # --- reading ---------------------------------------------------------------------------------

    def _read(self, after: int, limit: int) -> list[Line]:
        if after + 1 in self._latest:
            end = min(self._last, after + limit)
            return [(seq, self._latest[seq]) for seq in range(after + 1, end + 1)]
        found: list[Line] = []
        place = bisect_left(self._sealed, after + 1, key=lambda segment: segment.last)
        for segment in self._sealed[place:]:
            seq = max(after + 1, segment.first)
            count = min(limit - len(found), segment.last + 1 - seq)
            if count > 0:
                found += _lines_of(segment, seq, count)
        seq = max(after, self._base) + 1
        count = min(limit - len(found), self._last + 1 - seq)
        return found + self._active(seq, count) if count > 0 else found

    def _active(self, seq: int, count: int) -> list[Line]:
        slot, skipped = divmod(seq - self._base - 1, STRIDE)
        with _opened(self._path) as file:
            if os.fstat(file.fileno()).st_ino != self._inode:
                raise _Changed
            file.seek(self._places[slot])
            for _ in range(skipped):
                file.readline()
            return [(seq + number, file.readline()) for number in range(count)]

    # --- polling ---------------------------------------------------------------------------------

    def _look(self) -> None:
        """Read the lines written since the last poll; reopen the log if its file was replaced."""
        try:
            found = os.stat(self._name, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            self._reopen()
            return
        is_known = found.st_ino == self._inode and self._end > 0  # an inode number may be reused
        is_replaced = found.st_size == self._end and found.st_mtime_ns != self._changed
        if not is_known or is_replaced or found.st_size < self._end:
            self._reopen()
        elif found.st_size > self._end:
            try:
                with _opened(self._path) as file:
                    self._scan(file)
            except (FileNotFoundError, UnsafeFile, _Changed):
                self._reopen()

    def _reopen(self) -> None:
        """Open the log again and forget all known lines; an unsafe file counts as missing."""
        try:
            self._begin()
        except UnsafeFile:
            self._sealed = []
            self._forget(0)

    def _begin(self) -> None:
        for _ in range(TRIES):
            with suppress(FileNotFoundError, _Changed):
                with _opened(self._path) as file:
                    self._sealed = segments_of(self._path)
                    self._forget(self._base_of(file))
                    self._inode = os.fstat(file.fileno()).st_ino
                    self._scan(file)
                return
            self._sealed = segments_of(self._path)
            self._forget(self._sealed[-1].last if self._sealed else 0)
            if status_of(self._path) is None:
                return
        raise Corrupt(f"{self._path} begins with a record that an older segment has")

    def _base_of(self, file: BinaryIO) -> int:
        """Return the number of records in full segments, before the active file's first line.

        Raises _Changed if the active file has become a full segment.
        """
        sealed = self._sealed[-1].last if self._sealed else 0
        line = file.readline()
        base = _seq(line) - 1 if line.endswith(b"\n") else sealed
        if base < 0:
            return sealed
        if base < sealed:
            raise _Changed  # it has become a full segment since it was opened
        return base

    def _scan(self, file: BinaryIO) -> None:
        """Read the complete lines after the known ones. Raises _Changed for a replaced file."""
        if self._inode != os.fstat(file.fileno()).st_ino:
            raise _Changed
        file.seek(self._end - len(self._known))
        if file.read(len(self._known)) != self._known:
            raise _Changed
        for line in file:
            if not line.endswith(b"\n"):
                break
            self._end += len(line)
            self._last += 1
            self._known = line[-KNOWN_BYTES:]
            self._latest[self._last] = line
            self._latest.pop(self._last - LATEST, None)
            if (self._last - self._base) % STRIDE == 0:
                self._places.append(self._end)
        self._changed = os.fstat(file.fileno()).st_mtime_ns

    def _forget(self, base: int) -> None:
        self._base = self._last = base
        self._inode = self._end = self._changed = 0
        self._known = b""
        self._places = [0]
        self._latest = {}
        self.begun += 1


class _Changed(Exception):
    """The active file was replaced while it was being read."""


def _opened(path: Path) -> BinaryIO:
    return os.fdopen(open_file(path), "rb")


def _lines_of(segment: Segment, seq: int, count: int) -> list[Line]:
    """Return `count` pairs (number, line) of a full segment, starting with number `seq`."""
    with _opened(segment.path) as file:
        file.seek(_place_of(file, segment, seq))
        lines = [(seq + number, file.readline()) for number in range(count)]
    if not lines[-1][1].endswith(b"\n"):
        raise Corrupt(f"{segment.path} ends before record {segment.last}")
    return lines


def _place_of(file: BinaryIO, segment: Segment, seq: int) -> int:
    """Return the offset of the record `seq` in a full segment, by bisection."""
    low, low_seq, high = 0, segment.first, os.fstat(file.fileno()).st_size
    while high - low > NEAR_BYTES:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        place = file.tell()
        found = _seq(file.readline()) if place < high else 0
        if 0 < found <= seq:
            low, low_seq = place, found
        else:
            high = middle
    file.seek(low)
    for _ in range(seq - low_seq):
        file.readline()
    return file.tell()


def _seq(line: bytes) -> int:
    """Return the `seq` in a line, 0 if the line is no JSON object with a number."""
    try:
        record = parse_json(line)
    except ValueError:
        return 0
    return seq_of(record) if isinstance(record, dict) else 0
