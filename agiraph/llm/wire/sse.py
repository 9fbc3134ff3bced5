"""Server-sent events: a stream of bytes cut into complete events, and events encoded. Pure.

An event keeps its bytes, because the LLM proxy forwards a service's events unchanged.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.turns import JsonObject

LONGEST_EVENT = 32 << 20


class SseEventTooLong(Exception):
    """An event is longer than LONGEST_EVENT."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its bytes as they came, and its data if that is a JSON object."""

    raw: bytes
    data: JsonObject | None


class SseSplitter:
    """Cuts a stream at the empty lines between events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Read a piece; yield the events that are complete. Raises SseEventTooLong."""
        # A carriage return at the end may be the first half of a line's end: it waits.
        self._rest += piece
        *complete, self._rest = _parts(self._rest)
        if len(self._rest) > LONGEST_EVENT:
            raise SseEventTooLong(f"an event of more than {LONGEST_EVENT} bytes")
        for raw in complete:
            yield SseEvent(raw, _data(raw))


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


def encode_event(data: JsonObject, type: str = "") -> bytes:
    """Return an event with this data, and with a type if one is given."""
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    return (b"event: %b\n" % type.encode() if type else b"") + b"data: %b\n\n" % text
