"""LineSplitter: a stream of bytes cut into lines, in linear time and within a limit. Pure."""

from dataclasses import dataclass

SHOWN_BYTES = 4096
END_BYTES = 256


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `size` is its length in bytes.

    If a line is longer than the splitter's limit, `data` has only the first SHOWN_BYTES and `end`
    the last END_BYTES.
    """

    data: bytes
    size: int
    end: bytes = b""

    @property
    def is_whole(self) -> bool:
        """Whether the line is within the limit."""
        return len(self.data) == self.size


class LineSplitter:
    """Cuts a stream at each newline.

    The rest of a line that is longer than `longest` bytes is dropped as it arrives, so the memory
    use is limited by `longest`.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._line = bytearray()
        self._end = b""
        self._size = 0

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that these bytes complete."""
        *ends, rest = data.split(b"\n")
        lines: list[Line] = []
        for end in ends:
            self._add(end)
            lines.append(Line(bytes(self._line), self._size, self._end))
            self._line, self._size, self._end = bytearray(), 0, b""
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._longest:
            self._line += piece
            return
        before = self._end or bytes(self._line[-END_BYTES:])
        self._end = (before + piece[-END_BYTES:])[-END_BYTES:]
        if len(self._line) < SHOWN_BYTES:
            self._line += piece[: SHOWN_BYTES - len(self._line)]
        else:
            del self._line[SHOWN_BYTES:]
