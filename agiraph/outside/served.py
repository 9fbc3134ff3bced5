"""Served: the text files that an outside agent reads and writes through its worker.

The worker's process is not behind the agent's wall, so each step of a path is opened by itself and
no link is followed: a link could lead out of what the agent may touch, and could be put there
between a look and the opening.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agiraph.errors import InvalidInput, OutOfScope

MOST_BYTES = 16 * 1024 * 1024
OPENING = os.O_CLOEXEC | os.O_NOFOLLOW
FILE_MODE = 0o644


class Files(Protocol):
    """The files that an agent may have read and written for it."""

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file, or `limit` lines of it from the line `line` (the first is 1) on.

        Raises OutOfScope, InvalidInput.
        """
        ...

    def write(self, path: str, text: str) -> None:
        """Write a file whole, its folders too if they are missing. OutOfScope, InvalidInput."""
        ...


class FolderFiles:
    """Files below `writable`, to be read and written, and below `readable`, to be read."""

    def __init__(self, writable: Path, readable: Sequence[Path] = ()) -> None:
        """Serve these folders."""
        self._writable = writable.resolve()
        self._readable = tuple(folder.resolve() for folder in readable)

    def read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """Return a file, as `Files.read`."""
        root, parts = self._place(path, (self._writable, *self._readable))
        try:
            fd = _open(root, parts, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be read: {error.strerror}") from None
        with os.fdopen(fd, "rb") as file:
            try:
                text = file.read(MOST_BYTES).decode("utf-8", "replace")
            except OSError as error:
                raise InvalidInput(f"'{path}' cannot be read: {error.strerror}") from None
        if line is None and limit is None:
            return text
        first = max(0, (line or 1) - 1)
        return "".join(
            text.splitlines(keepends=True)[first : None if limit is None else first + limit]
        )

    def write(self, path: str, text: str) -> None:
        """Write a file, as `Files.write`."""
        root, parts = self._place(path, (self._writable,))
        how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
        try:
            with os.fdopen(_open(root, parts, how, makes_folders=True), "wb") as file:
                file.write(text.encode("utf-8", "replace"))
        except OSError as error:
            raise InvalidInput(f"'{path}' cannot be written: {error.strerror}") from None

    def _place(self, path: str, roots: Sequence[Path]) -> tuple[Path, tuple[str, ...]]:
        """Return the folder that holds a path, and the names from there on."""
        if "\0" in path:
            raise InvalidInput("a path cannot hold a NUL character")
        whole = Path(os.path.normpath(self._writable / path))
        for root in roots:
            if whole != root and whole.is_relative_to(root):
                return root, whole.relative_to(root).parts
        raise OutOfScope(f"'{path}' is outside of {', '.join(map(str, roots))}")


def _open(root: Path, parts: Sequence[str], how: int, *, makes_folders: bool = False) -> int:
    """Open a file below `root`, step by step, following no link. OSError."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in parts[:-1]:
            if makes_folders:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | OPENING, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], how | OPENING, FILE_MODE, dir_fd=folder)
    finally:
        os.close(folder)
