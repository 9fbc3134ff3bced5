"""Client filesystem: the text files that an outside agent reads and writes through its worker.

The worker's process is not behind the agent's wall, so no link on the way is followed
(`agiraph.storage.files`): it could lead out of what the agent may touch.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.storage.files import open_file, read_part

MOST_BYTES = 16 * 1024 * 1024
FILE_MODE = 0o644


class FileMissing(InvalidInput):
    """There is no such file."""


class ClientFilesystem(Protocol):
    """The files that an agent may have read and written for it."""

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file, or `limit` lines of it from the line `line` (the first is 1) on.

        Raises OutOfScope, FileMissing, InvalidInput.
        """
        ...

    def write(self, path: str, text: str) -> None:
        """Write a file whole, its folders too if they are missing. OutOfScope, InvalidInput."""
        ...


class FolderFilesystem:
    """Files below `writable`, to be read and written, and below `readable`, to be read."""

    def __init__(self, writable: Path, readable: Sequence[Path] = ()) -> None:
        """Serve these folders."""
        self._writable = writable.resolve()
        self._readable = tuple(folder.resolve() for folder in readable)

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file, as `ClientFilesystem.read`."""
        place = self._place(path, (self._writable, *self._readable))
        try:
            text = read_part(place, 0, MOST_BYTES, anyones=True)[0].decode("utf-8", "replace")
        except FileNotFoundError:
            raise FileMissing(f"Resource not found: {path}") from None
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be read: {error.strerror}") from None
        if line is None and limit is None:
            return text
        first = max(0, (line or 1) - 1)
        return "".join(
            text.splitlines(keepends=True)[first : None if limit is None else first + limit]
        )

    def write(self, path: str, text: str) -> None:
        """Write a file, as `ClientFilesystem.write`."""
        place = self._place(path, (self._writable,))
        try:
            # In place, as an editor writes: the file keeps its mode.
            fd = open_file(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
            with os.fdopen(fd, "wb") as file:
                file.write(text.encode("utf-8", "replace"))
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be written: {error.strerror}") from None

    def _place(self, path: str, roots: Sequence[Path]) -> Path:
        """Return the place that a path means, which stands below one of `roots`."""
        if "\0" in path:
            raise InvalidInput("a path cannot hold a NUL character")
        whole = Path(os.path.normpath(self._writable / path))
        for root in roots:
            if whole != root and whole.is_relative_to(root):
                return whole
        raise OutOfScope(f"'{path}' is outside of {', '.join(map(str, roots))}")
