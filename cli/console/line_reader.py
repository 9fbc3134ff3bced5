"""Lines of text from a person, a pipe or a file, without a thread.

A thread that blocks in `readline` cannot be stopped and breaks the interpreter's shutdown; so the
event loop watches the descriptor, or reads it at once if it cannot be watched (a file).
"""

import asyncio
import os
from typing import Final

PIECE: Final = 65536


class LineReader:
    """The lines of one descriptor, which stays open; use it inside a running event loop."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._rest = b""
        self._is_watched = False

    def start(self) -> None:
        """Begin to read."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._fd, self._read)
            self._is_watched = True
        except (PermissionError, OSError):
            # epoll does not accept regular files and /dev/null: reading them never blocks.
            while self._take(os.read(self._fd, PIECE)):
                pass

    async def line(self) -> str | None:
        """Return the next line without its end; None at the end of the input."""
        return await self._lines.get()

    def close(self) -> None:
        """Stop reading."""
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_watched = False

    def _read(self) -> None:
        try:
            piece = os.read(self._fd, PIECE)
        except OSError:
            piece = b""
        if not self._take(piece):
            self.close()

    def _take(self, piece: bytes) -> bool:
        """Split a piece of input into lines; return False if it is empty: the end of the input."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if not piece and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._lines.put_nowait(line.decode("utf-8", "replace"))
        if not piece:
            self._lines.put_nowait(None)
        return bool(piece)
