"""ClientFilesystem: the text files that an external agent reads and writes through its worker.

The worker's process is outside the agent's sandbox, so links in a path are not followed
(`agiraph.storage.files`): they could lead to files that the agent may not access.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.storage.files import open_file, read_part

READ_LIMIT_BYTES = 16 * 1024 * 1024
FILE_MODE = 0o644


class FileMissing(InvalidInput):
    """A file that the agent asks for does not exist."""


class ClientFilesystem:
    """Files below `writable` for reading and writing, and below `readable` for reading.

    All methods raise OutOfScope for a path outside these folders.
    """

    def __init__(self, writable: Path, readable: Sequence[Path] = ()) -> None:
        self._writable = writable.resolve()
        self._readable = tuple(folder.resolve() for folder in readable)

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file, or `limit` lines of it starting at the line `line` (the first is 1).

        Raises FileMissing, or InvalidInput for an unreadable file.
        """
        place = self._place(path, (self._writable, *self._readable))
        try:
            data, _ = read_part(place, 0, READ_LIMIT_BYTES, anyones=True)
        except FileNotFoundError:
            raise FileMissing(f"Resource not found: {path}") from None
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be read: {error.strerror}") from None
        text = data.decode("utf-8", "replace")
        if line is None and limit is None:
            return text
        first = max(0, (line or 1) - 1)
        last = None if limit is None else first + limit
        return "".join(text.splitlines(keepends=True)[first:last])

    def write(self, path: str, text: str) -> None:
        """Write a file and its missing folders. Raises InvalidInput if it cannot be written."""
        place = self._place(path, (self._writable,))
        try:
            # In place, as an editor writes: the file keeps its mode.
            fd = open_file(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
            with os.fdopen(fd, "wb") as file:
                file.write(text.encode("utf-8", "replace"))
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be written: {error.strerror}") from None

    def _place(self, path: str, roots: Sequence[Path]) -> Path:
        if "\0" in path:
            raise InvalidInput("a path cannot contain a NUL character")
        absolute = Path(os.path.normpath(self._writable / path))
        for root in roots:
            if absolute != root and absolute.is_relative_to(root):
                return absolute
        raise OutOfScope(f"'{path}' is outside of {', '.join(map(str, roots))}")
