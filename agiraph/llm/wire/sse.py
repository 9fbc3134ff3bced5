"""Server-sent events: a stream of bytes split into complete events, and events encoded. Pure.

An event keeps its bytes, because the LLM proxy forwards a service's events unchanged.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.turns import JsonObject
from agiraph.foreign.http import AnswerRefused, TooManyValues, read_json

LONGEST_EVENT = 32 << 20
EVENT_END = re.compile(rb"\r?\n\r?\n")
END_BYTES = 4
DONE = b"[DONE]"
MARK = b"\xef\xbb\xbf"
"""A byte order mark, which may precede a stream."""
ERROR_LINE = b"event: error"
SHOWN_BYTES = 100


class SseEventTooLong(AnswerRefused):
    """An event is longer than LONGEST_EVENT."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its original bytes, and its data if that is a JSON object.

    `problem` describes data that is not an object; `is_end`: the stream reports its completion;
    `is_error`: its name marks it as an error.
    """

    raw: bytes
    data: JsonObject | None = None
    problem: str = ""
    is_end: bool = False
    is_error: bool = False


class SseSplitter:
    """Splits a stream of bytes at the empty lines between events, in linear time."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Read a piece; yield the complete events. Raises SseEventTooLong."""
        self._rest += piece
        complete: list[bytes] = []
        start, search_from = 0, max(0, self._searched - END_BYTES)
        while (end := EVENT_END.search(self._rest, search_from)) is not None:
            complete.append(bytes(self._rest[start : end.end()]))
            start = search_from = end.end()
        del self._rest[:start]
        self._searched = len(self._rest)
        if max(map(len, (self._rest, *complete))) > LONGEST_EVENT:
            raise SseEventTooLong(f"an event of the answer has more than {LONGEST_EVENT} bytes")
        return map(_event, complete)

    def rest(self) -> bytes:
        """Return the bytes after the last complete event."""
        return bytes(self._rest)

    def end(self) -> Iterator[SseEvent]:
        """Yield the last event, if only the empty line after that event is missing."""
        return (one for one in self.feed(b"\n\n") if one.is_end or one.data is not None)


def _event(raw: bytes) -> SseEvent:
    lines = (one for one in raw.removeprefix(MARK).splitlines() if one.startswith(b"data:"))
    text = b"\n".join(line[5:].removeprefix(b" ") for line in lines)
    if not text.strip():
        return SseEvent(raw)
    if text.strip() == DONE:
        return SseEvent(raw, is_end=True)
    try:
        value = read_json(text)
    except TooManyValues as error:
        return SseEvent(raw, problem=f"an event of the answer cannot be read: {error}")
    except UnicodeDecodeError:
        return SseEvent(raw, problem=_problem("is not UTF-8", text))
    except ValueError:
        return SseEvent(raw, problem=_problem("is not JSON", text))
    if not isinstance(value, dict):
        return SseEvent(raw, problem=_problem("is not a JSON object", text))
    return SseEvent(raw, value, is_error=raw.startswith(ERROR_LINE))


def _problem(what: str, text: bytes) -> str:
    return f"an event of the answer {what}: {text[:SHOWN_BYTES].decode('utf-8', 'replace')!r}"


def encode_event(data: JsonObject, type: str = "") -> bytes:
    """Return an event with this data, and with a type if one is given."""
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    return (b"event: %b\n" % type.encode() if type else b"") + b"data: %b\n\n" % text
