"""events.jsonl of one agent: one event a line, each numbered by `seq` and written once.

A repeated report is recognized by its source. The sources of the newest events are in memory, a
limited number for each open file; an event that is not newer than the forgotten sources is looked
up in the log, near the time that it reports.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.core.models import Event
from agiraph.core.redaction import redact_texts
from agiraph.storage.journal import JsonObject, parse_line, read_tail
from agiraph.storage.segment_reader import SegmentReader
from agiraph.storage.segments import SEGMENT_BYTES, LogPosition, SegmentedJournal

REMEMBERED: Final = 500
"""The sources in memory for each open log."""

TAIL_BYTES: Final = 1 << 18
"""How much of the newest full segment is read for them if the active file is short."""

SLACK_SECONDS: Final = 5.0
"""By how much an event may be written later than an event that happened after it."""

SEARCHED: Final = 5_000
PAGE: Final = 500

SOURCE = "source"
"""The report and the part of it that a line came from; it identifies a repeated report."""


@dataclass(frozen=True, slots=True)
class ClosedLog:
    """Facts about a log that was closed, with which opening it again reads almost nothing."""

    place: LogPosition | None
    newest: float


class EventFile(SegmentedJournal):
    """The event log of one agent; only this process writes it.

    `before` is the last result of `shut`, if this process had the log open. Raises Corrupt, OSError
    when the log cannot be opened.
    """

    def __init__(
        self, path: Path, most_bytes: int = SEGMENT_BYTES, before: ClosedLog | None = None
    ) -> None:
        super().__init__(path, most_bytes, before.place if before else None)
        self._reader = SegmentReader(path)
        self._sources: dict[int, float] = {}
        self._newest = before.newest if before else 0.0
        self._recall(path)

    def take_turn(self) -> bool:
        """Return whether the active file was turned into a segment since the last call."""
        has_turned, self.has_turned = self.has_turned, False
        return has_turned

    def _recall(self, path: Path) -> None:
        """Remember the sources at the log's end."""
        records = self.records or read_tail(path)
        self.records = []
        if len(records) < REMEMBERED and self.base:
            records = self.tail_before(TAIL_BYTES) + records
        recent = records[-REMEMBERED:]
        self._floor = self._newest
        if not self._floor and recent and len(recent) < self.count:
            self._floor = recent[0]["ts"] + SLACK_SECONDS
        for record in recent:
            self._remember(str(record.get(SOURCE)), record["ts"])

    def append_events(self, events: Sequence[tuple[str, Event]]) -> list[Event]:
        """Write (source, event) pairs like `write_events`, and sync; return the new events."""
        new = self.write_events(events)
        self.sync()
        return new

    def write_events(self, events: Sequence[tuple[str, Event]]) -> list[Event]:
        """Write (source, event) pairs in one piece; return the new events with their seq.

        They are durable when `sync` has returned. Raises OSError.
        """
        new: list[Event] = []
        records: list[JsonObject] = []
        for source, event in events:
            if self._is_known(source, event.ts):
                continue
            self._remember(source, event.ts)
            seq = self.count + len(new) + 1
            numbered = event.model_copy(update={"seq": seq, "data": redact_texts(event.data)})
            new.append(numbered)
            records.append(numbered.model_dump(mode="json") | {SOURCE: source})
        self.write(*records)
        return new

    def _remember(self, source: str, ts: float) -> None:
        self._sources[hash(source)] = ts
        self._newest = max(self._newest, ts)
        if len(self._sources) > REMEMBERED:
            forgotten = next(iter(self._sources))
            self._floor = max(self._floor, self._sources.pop(forgotten))

    def _is_known(self, source: str, ts: float) -> bool:
        return hash(source) in self._sources or (ts <= self._floor and self._is_logged(source, ts))

    def _is_logged(self, source: str, ts: float) -> bool:
        """Whether the log contains the event of `source`, written soon after `ts`."""
        sought = json.dumps({SOURCE: source}, ensure_ascii=False, separators=(",", ":"))[1:-1]
        after = self._last_before(ts - SLACK_SECONDS)
        end = after + SEARCHED
        while after < end and (lines := self._reader.lines(after, PAGE)):
            for line in (line for _, line in lines if sought.encode() in line):
                record, _ = parse_line(line.rstrip())
                if record and record.get(SOURCE) == source:  # and not a field of its data
                    return True
            after = lines[-1][0]
        return False

    def _last_before(self, ts: float) -> int:
        """Return the number of the last event that is older than `ts`, by bisection."""
        low, high = self._reader.first() - 1, self._reader.last()
        while low < high:
            middle = (low + high + 1) // 2
            [(_, line)] = self._reader.lines(middle - 1, 1)
            if (parse_line(line.rstrip())[0] or {}).get("ts", 0.0) < ts:
                low = middle
            else:
                high = middle - 1
        return low

    def shut(self) -> ClosedLog:
        """Close the file; return the facts that make opening it again quick."""
        self.close()
        return ClosedLog(self.place, self._newest)
