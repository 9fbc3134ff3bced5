"""Journal: append-only JSON lines, fsynced before anyone is told; the state is the fold of it.

One process writes a journal. A record is one JSON object on one line. A crash can only tear the
last line (it has no newline, or is not JSON); opening cuts it off. A bad line anywhere else is
corruption, and is reported with file and offset, never skipped.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from agiraph.errors import Corrupt

JsonObject = dict[str, Any]


def encode_record(record: JsonObject) -> bytes:
    """Return one record as its line, newline included."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def split_records(data: bytes, name: str = "journal") -> tuple[list[JsonObject], int]:
    """Return the records in `data` and how many bytes of it are whole.

    Raises Corrupt for a line before the last that is not a JSON object.
    """
    records: list[JsonObject] = []
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset)
        if end < 0:
            return records, offset
        record = _parse(data[offset:end])
        if record is None:
            if end + 1 == len(data):
                return records, offset
            raise Corrupt(f"{name}: the record at byte {offset} is not a JSON object")
        records.append(record)
        offset = end + 1
    return records, offset


def _parse(line: bytes) -> JsonObject | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def read_journal(path: Path) -> list[JsonObject]:
    """Return the whole records of a journal that another process may be writing; [] if none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return split_records(data, str(path))[0]


class Journal:
    """One open journal; `records` are those that stood in it when it was opened."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal at `path`, cutting a torn last line; Corrupt, OSError."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            data = path.read_bytes()
            self.records, whole = split_records(data, str(path))
            if whole < len(data):
                os.ftruncate(self._fd, whole)
            if is_new:
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._fd)
            raise
        self.count = len(self.records)

    def append(self, *records: JsonObject) -> int:
        """Write records in one piece and wait until they are on disk; return how many now stand."""
        if not records:
            return self.count
        data = b"".join(encode_record(record) for record in records)
        _write_all(self._fd, data)
        os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
        self.count += len(records)
        return self.count

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def __enter__(self) -> "Journal":
        """Return the journal itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __iter__(self) -> Iterator[JsonObject]:
        """Iterate over the records that stood in the journal when it was opened."""
        return iter(self.records)


def _write_all(fd: int, data: bytes) -> None:
    """Write everything or put the file back as it was, so a full disk leaves no torn middle."""
    before = os.fstat(fd).st_size
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        os.ftruncate(fd, before)
        raise


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(path: Path, text: str) -> None:
    """Write a whole file in one step: readers see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def append_lines(path: Path, records: Iterable[JsonObject]) -> None:
    """Append records to a trace that nobody's state depends on (no fsync)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        file.write(b"".join(encode_record(record) for record in records))
