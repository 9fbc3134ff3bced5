"""The audit file: a line for every call, in files of bounded number and size.

A line is written in one `write` behind the end of the file, without waiting for the disk: it
outlives a kill of the gateway, of a power cut the last seconds may be missing. Nothing of a query
or a body is in it, and of a path no part that opens anything.
"""

import json
import os
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from agiraph.storage.files import is_file, make_folder, move, open_file, remove_file

FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT
ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def _line(record: dict[str, Any]) -> bytes:
    try:
        return to_json(record) + b"\n"
    except ValueError:  # what is no Unicode, in an odd name, say
        return ENCODE(record).encode() + b"\n"


class AuditFile:
    """`audit.jsonl`, and the older `audit.jsonl.1` and so on."""

    def __init__(self, path: Path, most_bytes: int, files: int) -> None:
        """Write to `path`; begin a new file beyond `most_bytes`, keep `files` of them in all."""
        self.folder = path.parent
        self._path = path
        self._most_bytes = most_bytes
        self._files = files
        self._fd: int | None = None
        self._size = 0

    def write(self, record: dict[str, Any]) -> None:
        """Append one record. Raises OSError."""
        line = _line(record)
        fd = self._opened()
        if self._size and self._size + len(line) > self._most_bytes:
            self._turn_over()
            fd = self._opened()
        os.write(fd, line)
        self._size += len(line)

    def close(self) -> None:
        """Let the file go; a further write opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self) -> int:
        """Return the open file; one that somebody has taken away is begun anew."""
        if self._fd is not None and not os.fstat(self._fd).st_nlink:
            self.close()
        if self._fd is None:
            make_folder(self._path.parent, 0o700)
            self._fd = open_file(self._path, FLAGS)
            self._size = os.fstat(self._fd).st_size
        return self._fd

    def _turn_over(self) -> None:
        """Move each file one number on; the last one is gone."""
        self.close()
        for number in range(self._files - 1, 0, -1):
            older = self._numbered(number)
            newer = self._numbered(number - 1)
            if is_file(newer):
                move(newer, older)
        if self._files == 1:
            remove_file(self._path)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path
