"""KeyRedactor: removes a service's own key from the events of its answers. Pure.

The parts of the key may be in several events of a stream.
"""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agiraph.core.json_text import parse_json
from agiraph.core.redaction import map_texts
from agiraph.llm.key_redaction import MARK, KeySpelling, spelling
from agiraph.llm.wire.sse import SseEvent

HELD_EVENTS = 64
"""The most events for which a beginning of the key waits for its next character.

Then the beginning is replaced, so that a service that pauses or reports other events meanwhile does
not delay them for the agent."""
HELD_CHARACTERS = 4
"""The shortest beginning of the key for which an event is held.

Events that end in one letter of it are frequent (`message_start`), and the service may pause for
long after them; so at most three characters of a key are passed on."""
LARGE_BYTES = 1 << 16
Path = tuple[str | int, ...]


def without_key_in_json(data: bytes, key: str) -> bytes:
    """Return the bytes of an unstreamed answer without the key."""
    event = SseEvent(data)
    try:
        event = replace(event, data={"": parse_json(data)})
    except ValueError:
        return _raw_without(data, spelling(key))
    redactor = KeyRedactor(key)
    [safe] = [*redactor.feed(event), *redactor.end()]
    if safe is event and not redactor.has_found:
        return data
    return json.dumps((safe.data or {})[""], ensure_ascii=False).encode("utf-8", "replace")


@dataclass(slots=True)
class _Piece:
    """A part of a text in one event: `done` is its safe beginning, `open` the rest."""

    number: int
    holder: Any
    name: str | int
    done: str
    open: str


@dataclass(slots=True)
class _Held:
    """An event that is not yielded yet: it may contain a part of the key, or follows such one"""

    number: int
    event: SseEvent
    is_changed: bool = False


@dataclass(slots=True)
class KeyRedactor:
    """Replaces the key in the events of one answer.

    Texts at the same place of successive events are one text. An event is held while the end of a
    text could be the beginning of the key in any spelling. If HELD_EVENTS events arrive without its
    next character, the beginning is replaced; so is half of the key at the end of the answer.
    """

    key: str
    has_found: bool = False
    _spelling: KeySpelling = field(init=False)
    _held: deque[_Held] = field(default_factory=deque)
    _open: dict[Path, list[_Piece]] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._spelling = spelling(self.key)

    def feed(self, event: SseEvent) -> Iterator[SseEvent]:
        """Read an event; yield the events that are safe, in order."""
        if not self._spelling.forms:
            yield event
            return
        if event.data is None and not event.is_end and not self._held:
            yield _safe(event, self._spelling, is_changed=False)
            return
        self._count += 1
        held = _Held(self._count, event)
        self._held.append(held)
        if event.is_end:
            self._close_all()
        if event.data is not None and not (self._is_plain(event) and not self._open):
            self._read(held, event.data)
        yield from self._released()

    def end(self) -> Iterator[SseEvent]:
        """Yield the remaining events at the end of the answer."""
        self._close_all()
        yield from self._released()

    def _is_plain(self, event: SseEvent) -> bool:
        """Whether an event is large, and its bytes do not contain the key."""
        size = len(event.raw)
        return size > LARGE_BYTES and not self._spelling.is_in(_text(event.raw))

    def _read(self, held: _Held, data: Any) -> None:
        for path, holder, name, text in list(_texts(data)):
            pieces = self._open.pop(path, [])
            if not pieces and not self._spelling.may_have_part_in(text):
                continue
            pieces.append(_Piece(held.number, holder, name, "", text))
            self._close(path, pieces)

    def _close(self, path: Path, pieces: list[_Piece]) -> None:
        """Replace the key in a text; `pieces` are its unfinished parts in one or more events."""
        joined = "".join(piece.open for piece in pieces)
        spans = self._spelling.spans(joined)
        rest = joined[spans[-1][1] :] if spans else joined
        safe_until = len(joined) - self._spelling.beginning(rest)
        passed_on = sum(len(one.open) for one in pieces if not self._is_held(one.number))
        spans = [(max(first, passed_on), last) for first, last in spans]
        start, still_open = 0, []
        for piece in pieces:
            end = start + len(piece.open)
            if spans:
                piece.done += _cut(joined, start, min(end, safe_until), spans)
            else:
                piece.done += joined[start : min(end, safe_until)]
            piece.open = joined[max(start, safe_until) : end]
            if spans and self._is_held(piece.number):
                piece.holder[piece.name] = piece.done + piece.open
                self._mark_changed(piece.number)
            if piece.open:
                still_open.append(piece)
            start = end
        if still_open:
            self._open[path] = still_open

    def _close_all(self) -> None:
        """Replace a remaining half of the key, or more, at the end of the answer."""
        for pieces in self._open.values():
            if self._spelling.is_half("".join(piece.open for piece in pieces)):
                self._replace(pieces)
        self._open.clear()

    def _replace(self, pieces: list[_Piece]) -> None:
        """Replace the beginning of the key at the end of a text, in events not yet yielded."""
        held = [piece for piece in pieces if piece.open and self._is_held(piece.number)]
        for piece in held:
            piece.holder[piece.name] = piece.done + (MARK if piece is held[0] else "")
            self._mark_changed(piece.number)

    def _is_held(self, number: int) -> bool:
        return bool(self._held) and number >= self._held[0].number

    def _mark_changed(self, number: int) -> None:
        self.has_found = True
        self._held[number - self._held[0].number].is_changed = True

    def _released(self) -> Iterator[SseEvent]:
        first = self._count + 1
        for pieces in self._open.values():
            if sum(len(piece.open) for piece in pieces) < HELD_CHARACTERS:
                continue
            if self._count - pieces[-1].number < HELD_EVENTS:
                first = min(first, pieces[0].number)
            else:
                self._replace(pieces)
        while self._held and self._held[0].number < first:
            held = self._held.popleft()
            yield _safe(held.event, self._spelling, is_changed=held.is_changed)


def _texts(data: Any) -> Iterator[tuple[Path, Any, str | int, str]]:
    """Yield the texts in a JSON value: the path, the container, the name in it, the text."""
    stack: list[tuple[Path, Any]] = [((), data)]
    while stack:
        path, holder = stack.pop()
        items: Any = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for name, value in items:
            if isinstance(value, str):
                yield (*path, name), holder, name, value
            elif isinstance(value, dict | list):
                stack.append(((*path, name), value))


def _cut(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> str:
    """Return text[start:end] without the spans, each replaced by MARK at its beginning."""
    parts: list[str] = []
    for first, last in spans:
        if last <= start or first >= end:
            continue
        parts.append(text[start : max(start, first)])
        parts.append(MARK if first >= start else "")
        start = min(last, end)
    return "".join(parts) + text[start:end]


def _safe(event: SseEvent, key: KeySpelling, *, is_changed: bool) -> SseEvent:
    written = _rewritten(event) if is_changed else event.raw
    raw = _raw_without(written, key)
    if raw is not written and event.data is not None:  # the key is the name of a field
        return replace(event, raw=raw, data=map_texts(event.data, key.without))
    return event if raw is event.raw else replace(event, raw=raw)


def _rewritten(event: SseEvent) -> bytes:
    """Return the bytes of an event whose data has changed."""
    text = json.dumps(event.data, ensure_ascii=False).encode("utf-8", "replace")
    lines = event.raw.splitlines()
    if not any(line.startswith(b"data:") for line in lines):
        return text if event.raw.strip() else event.raw
    kept = [line for line in lines if line and not line.startswith(b"data:")]
    return b"\n".join([*kept, b"data: " + text, b"", b""])


def _raw_without(raw: bytes, key: KeySpelling) -> bytes:
    if not key.is_in(text := _text(raw)):
        return raw
    return key.without(text).encode("utf-8", "surrogateescape")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
