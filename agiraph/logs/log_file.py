"""LogFile: a process's own log as JSON lines in the home, in files of limited size.

The file is created at the first line and rotated at its limit (`x.jsonl` becomes `x.jsonl.1`, that
`.2`, and so on); the oldest files beyond a number are removed. One process writes it. Unlike the
standard library's RotatingFileHandler it opens no file that a model's command may have put there,
and on a full disk it leaves no partial line.
"""

import logging
import os
from pathlib import Path

from agiraph.storage.disk_space import waiting
from agiraph.storage.files import is_file, make_folder, move, open_file, remove_file

SUFFIX = ".jsonl"


class LogFile(logging.Handler):
    """Writes records to `path`, and keeps `files` files of about `most_bytes` each.

    Lines that cannot be written are lost: a full disk stops no process.
    """

    def __init__(self, path: Path, most_bytes: int, files: int) -> None:
        super().__init__()
        self._path = path
        self._most_bytes = most_bytes
        self._files = files
        self._fd: int | None = None
        self._size = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line."""
        try:
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            with waiting(None):
                self._write_line(line)
        except Exception:
            return  # a process continues despite any error of its log

    def _write_line(self, line: bytes) -> None:
        """Write a line whole or not at all: a partial line would spoil the next."""
        if self._fd is None:
            self._open()
        if self._size and self._size + len(line) > self._most_bytes:
            self._rotate()
        assert self._fd is not None
        written = os.write(self._fd, line)
        if written < len(line):
            os.ftruncate(self._fd, self._size)
        else:
            self._size += written

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        super().close()

    def _open(self) -> None:
        make_folder(self._path.parent, 0o700)
        self._fd = open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        """Rename the log's files by one number, drop the oldest, and open a new file."""
        assert self._fd is not None
        os.close(self._fd)
        self._fd = None
        for number in range(self._files - 1, 0, -1):
            older = _numbered(self._path, number - 1)
            if is_file(older):
                move(older, _numbered(self._path, number))
        if self._files == 1:
            remove_file(self._path)
        self._open()


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def log_files(path: Path) -> list[Path]:
    """Return the files of one log, oldest first."""
    found, number = [], 0
    while (is_there := is_file(file := _numbered(path, number))) or number == 0:
        if is_there:
            found.append(file)
        number += 1
    return found[::-1]
