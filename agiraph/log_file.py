"""LogFile: a process's own log as JSON lines in the home, in files of a bounded size.

`about` says who writes and at what: entity, incarnation, run, node. The file is made at the first
line, ended at its bound (`x.jsonl` becomes `x.jsonl.1`, that `.2`, and so on), and none is kept
beyond so many. One process writes it.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl"


class LogFile(logging.Handler):
    """Writes records. What cannot be written is lost: a full disk stops nobody."""

    def __init__(self, path: Path, about: Mapping[str, Any], most_bytes: int, files: int) -> None:
        """Write to `path`; `files` are kept of it in all, each of about `most_bytes`."""
        super().__init__()
        self.about = about
        self._path = path
        self._most_bytes = most_bytes
        self._files = files
        self._fd: int | None = None
        self._size = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line."""
        try:
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            if self._fd is None:
                self._open()
            if self._size and self._size + len(line) > self._most_bytes:
                self._turn()
            assert self._fd is not None
            self._write(self._fd, line)
        except Exception:
            return  # a log stops nobody, whatever is the matter with it

    def _write(self, fd: int, line: bytes) -> None:
        """Write a line whole or not at all: half of one would spoil the next."""
        written = os.write(fd, line)
        if written < len(line):
            os.ftruncate(fd, self._size)
        else:
            self._size += written

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        super().close()

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _turn(self) -> None:
        """End this file and begin the next."""
        assert self._fd is not None
        os.close(self._fd)
        self._fd = None
        for number in range(self._files - 1, 0, -1):
            older = _numbered(self._path, number - 1)
            if older.exists():
                os.replace(older, _numbered(self._path, number))
        if self._files == 1:
            self._path.unlink(missing_ok=True)
        self._open()


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def log_files(path: Path) -> list[Path]:
    """Return the files of one log, oldest first."""
    found, number = [], 0
    while (file := _numbered(path, number)).exists() or number == 0:
        if file.exists():
            found.append(file)
        number += 1
    return found[::-1]
