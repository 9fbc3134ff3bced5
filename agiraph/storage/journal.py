"""Journal: append-only JSON lines, synced before their effects are announced; the state is a fold.

One process writes a journal. A record is one JSON object on one line, whose last field `crc` is the
CRC-32 of the preceding part of the line (records of older journals have none). A crash can only
tear the last line: it has no newline, or blocks of it were never written. Opening truncates it.

Any other invalid line is damage, and a journal without its middle cannot be used: it is renamed,
the part before the damage is written to a file beside it, and a note in its place refuses every
open until a person has decided (`docs/operations.md`). No record is skipped.
"""

import json
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from agiraph.core.errors import Corrupt
from agiraph.core.json_text import parse_json
from agiraph.storage.disk_space import patiently
from agiraph.storage.files import (
    append_all,
    open_file,
    opened,
    read_descriptor,
    replace_bytes,
    sync_folder,
    write_all,
)

JsonObject = dict[str, Any]

CHECK = b'"crc":"'
CHECK_BYTES = len(CHECK) + 10
REFUSAL = "corrupt"
TAIL_BYTES = 1 << 16


class DamagedJournal(Corrupt):
    """A record in the middle of a journal is damaged."""

    def __init__(self, name: str, offset: int) -> None:
        super().__init__(f"{name}: the record at byte {offset} is damaged")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class JournalPosition:
    """A place in a journal: after `count` records, at byte `offset`, right after `last`."""

    count: int
    offset: int
    last: str


def encode_record(record: JsonObject) -> bytes:
    """Return one record as its line, checksum and newline included."""
    body = _encoded(record)[:-1]
    comma = b"," if record else b""
    return b'%b%b%b%08x"}\n' % (body, comma, CHECK, zlib.crc32(body))


def _encoded(record: JsonObject) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def split_records(
    data: bytes, name: str = "journal", base: int = 0
) -> tuple[list[JsonObject], int]:
    """Return the records in `data`, and the length in bytes of its complete lines.

    Raises DamagedJournal, naming `name`, for a complete line that is damaged. `base` is the offset
    of `data` in the file; only the file's beginning may contain records without a checksum.
    """
    records: list[JsonObject] = []
    offset = 0
    must_check = base > 0
    while (end := data.find(b"\n", offset)) >= 0:
        line = data[offset:end]
        record, is_checked = parse_line(line)
        if record is None or (must_check and not is_checked):
            if end + 1 == len(data) and b"\0" in line:
                return records, offset  # blocks of the last append that never reached the disk
            raise DamagedJournal(name, base + offset)
        must_check = is_checked
        records.append(record)
        offset = end + 1
    return records, offset


def parse_line(line: bytes) -> tuple[JsonObject | None, bool]:
    """Return (record, whether the line has a checksum); the record of a damaged line is None."""
    body, check = line[:-CHECK_BYTES].removesuffix(b","), line[-CHECK_BYTES:]
    is_sum_right = check.endswith(b'%08x"}' % zlib.crc32(body))
    is_checked = check.startswith(CHECK)
    if is_checked != is_sum_right:  # the checksum is right, but the name of its field is damaged
        return None, is_checked
    try:
        value = parse_json(body + b"}" if is_checked else line)
    except ValueError:
        return None, is_checked
    return (value if isinstance(value, dict) else None), is_checked


def read_journal(path: Path) -> list[JsonObject]:
    """Return the complete records of a journal, which another process may be writing.

    [] if it is missing.
    """
    try:
        with opened(path) as fd:
            data = read_descriptor(fd)
    except FileNotFoundError:
        return []
    records = split_records(data, str(path))[0]
    _refuse_if_told(records)
    return records


class JournalPage(NamedTuple):
    """Records of a journal, and the position after them.

    `are_all`: the records begin with the first one of the journal.
    """

    records: list[JsonObject]
    at: JournalPosition
    are_all: bool


def read_on(path: Path, at: JournalPosition | None) -> JournalPage:
    """Return the whole records after a position; all if it is None or of another journal.

    Another process may be writing. Raises OSError, Corrupt.
    """
    with opened(path) as fd:
        since = at if at is not None and _stands_in(fd, at) else None
        known = since or JournalPosition(0, 0, "")
        data = read_descriptor(fd, known.offset)
    records, whole = split_records(data, str(path), known.offset)
    if since is None:
        _refuse_if_told(records)
    reached = JournalPosition(
        known.count + len(records), known.offset + whole, _last_of(data[:whole]) or known.last
    )
    return JournalPage(records, reached, are_all=since is None)


def _stands_in(fd: int, at: JournalPosition) -> bool:
    """Whether the bytes before the position's offset are those that it remembers of its journal."""
    last = at.last.encode()
    if not 0 < len(last) <= at.offset:
        return False
    return os.pread(fd, len(last), at.offset - len(last)) == last


def read_tail(path: Path, most_bytes: int = TAIL_BYTES) -> list[JsonObject]:
    """Return the last whole records of a journal, as many as fit in `most_bytes`; [] if none.

    For information only: damaged parts and parts without checksums are not read.
    """
    try:
        with opened(path) as fd:
            start = max(0, os.fstat(fd).st_size - most_bytes)
            data = read_descriptor(fd, start)
        skipped = data.find(b"\n") + 1 if start else 0
        return split_records(data[skipped:], str(path), start + skipped)[0]
    except (OSError, Corrupt):
        return []


class Journal:
    """One open journal; `records` are its records (after `since`) at its opening.

    It is created if it is missing, and a torn last line is truncated. With `since`, only the
    records after that position are read; a position in another journal is ignored, and `since` is
    then None. `if_damaged` is the record that ends the good part before a damage, so that a process
    that opens it knows that the end was lost. Raises Corrupt, OSError.
    """

    def __init__(
        self,
        path: Path,
        since: JournalPosition | None = None,
        *,
        if_damaged: JsonObject | None = None,
    ) -> None:
        self.path = path
        self._behind = b""
        self._if_damaged = b"" if if_damaged is None else encode_record(if_damaged)
        self._fd = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            is_new = os.fstat(self._fd).st_size == 0
            self.since = since if since and _stands_in(self._fd, since) else None
            self._load(self.since or JournalPosition(0, 0, ""))
            if is_new:
                sync_folder(path.parent)
        except BaseException:
            os.close(self._fd)
            raise

    def _load(self, since: JournalPosition) -> None:
        """Read the records after a position and truncate a torn line."""
        data = read_descriptor(self._fd, since.offset)
        try:
            self.records, whole = split_records(data, str(self.path), since.offset)
        except DamagedJournal as damage:
            data = read_descriptor(self._fd)
            raise _set_aside(self.path, data, damage, self._if_damaged) from None
        if since.count == 0:
            _refuse_if_told(self.records)
        if whole < len(data):
            os.ftruncate(self._fd, since.offset + whole)
        self.count = since.count + len(self.records)
        self._offset = since.offset + whole
        self._last = _last_of(data[:whole]) or since.last

    @property
    def mark(self) -> JournalPosition:
        """The position after the last written record."""
        return JournalPosition(self.count, self._offset, self._last)

    def append(self, *records: JsonObject) -> int:
        """Write records in one piece and sync them; return the number of all records.

        On a full disk this waits for space, or raises OSError (`agiraph.storage.disk_space`).
        """
        self.sync()
        before = self.count, self._offset, self._last
        self.write(*records)
        try:
            self.sync()
        except OSError:
            self.count, self._offset, self._last = before
            self._behind = b""
            raise
        return self.count

    def write(self, *records: JsonObject) -> None:
        """Write records in one piece; they are durable after `sync`. Raises as `append`."""
        if not records:
            return
        data = b"".join(encode_record(record) for record in records)
        patiently(lambda: append_all(self._fd, data))
        self._behind += data
        self.count += len(records)
        self._offset += len(data)
        self._last = _last_of(data)

    @property
    def is_behind(self) -> bool:
        """Whether written records may not be on disk yet."""
        return bool(self._behind)

    def sync(self) -> None:
        """Wait until all written records are on disk; handle a full disk as `append` does."""
        if self._behind:
            patiently(self._settle)
            self._behind = b""

    def try_sync(self) -> bool:
        """Sync once, and return whether all written records are on disk; a full disk gives False.

        May be called in any thread.
        """
        try:
            self._settle()
        except OSError:
            return False
        self._behind = b""
        return True

    def _settle(self) -> None:
        """Sync the written records; on an error remove them from the file, to be written again."""
        begin = self._offset - len(self._behind)
        try:
            if os.fstat(self._fd).st_size < self._offset:
                os.ftruncate(self._fd, begin)
                write_all(self._fd, self._behind)
            sync_data(self._fd)
        except OSError:
            os.ftruncate(self._fd, begin)
            raise

    def close(self) -> None:
        """Close the file. A later write or sync raises OSError."""
        fd, self._fd = self._fd, -1  # the number of a closed file may be reused for another one
        os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _last_of(data: bytes) -> str:
    """Return the checksum field at the end of `data`, which identifies a position.

    '' without one.
    """
    last = data[-CHECK_BYTES - 1 :]
    return last.decode() if last.startswith(CHECK) else ""


def _refuse_if_told(records: list[JsonObject]) -> None:
    if records and records[0].keys() == {REFUSAL}:
        raise Corrupt(str(records[0][REFUSAL]))


def _set_aside(path: Path, data: bytes, damage: DamagedJournal, closing: bytes) -> Corrupt:
    """Rename a damaged journal and write a note that refuses it; return the error to raise.

    `closing` is the line that ends the good part before the damage.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    good = path.with_name(f"{path.name}.good-{stamp}")
    text = (
        f"{damage}. The file as it was found is now {aside.name}; "
        f"what is whole before the damage is {good.name}. "
        f"To continue with that, without what came after it: mv {good} {path}"
    )
    replace_bytes(good, data[: damage.offset] + closing)
    replace_bytes(aside, data)
    replace_bytes(path, encode_record({REFUSAL: text}))
    return Corrupt(text)


def sync_data(fd: int) -> None:
    """Wait until the disk has the data of an open file. Raises OSError."""
    os.fdatasync(fd) if hasattr(os, "fdatasync") else os.fsync(fd)
