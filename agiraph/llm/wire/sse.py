"""Server-sent events: a stream of bytes cut into whole events, each with its data. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

LONGEST_EVENT = 32 << 20


class SseEventTooLong(Exception):
    """An event is longer than anybody would send."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its bytes as they came, and its data if that is a JSON object."""

    raw: bytes
    data: JsonObject | None


class SseSplitter:
    """Cuts a stream at the empty lines between events."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._held = b""

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Take a piece; yield the events that are whole. Raises SseEventTooLong."""
        # A carriage return at the end may be the first half of a line's end: it waits.
        self._held += piece
        *whole, self._held = _parts(self._held)
        if len(self._held) > LONGEST_EVENT:
            raise SseEventTooLong(f"an event of more than {LONGEST_EVENT} bytes")
        for raw in whole:
            yield SseEvent(raw, _data(raw))

    def rest(self) -> bytes:
        """Return what came after the last whole event."""
        return self._held


def _parts(data: bytes) -> list[bytes]:
    """Return the events in `data`, each with the empty line that ends it, and what is left."""
    parts: list[bytes] = []
    start = 0
    while True:
        ends = [
            place + len(mark)
            for mark in (b"\n\n", b"\r\n\r\n")
            if (place := data.find(mark, start)) >= 0
        ]
        if not ends:
            return [*parts, data[start:]]
        parts.append(data[start : min(ends)])
        start = min(ends)


def _data(raw: bytes) -> JsonObject | None:
    lines = (line for line in raw.splitlines() if line.startswith(b"data:"))
    text = b"\n".join(line[5:].removeprefix(b" ") for line in lines)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
