"""Paging through an agent's events by their numbers, without reading its log from the start."""

from pathlib import Path

from agiraph.core.errors import Corrupt
from agiraph.core.models import Event
from agiraph.logs.event_filter import EventFilter
from agiraph.storage.journal import parse_line
from agiraph.storage.segment_reader import LATEST, STRIDE, Line, SegmentReader

__all__ = ["DELETED", "EVERYTHING", "LATEST", "LOOKED_AT", "STRIDE", "EventLog"]

LOOKED_AT = 2000
EVERYTHING = EventFilter()
DELETED = "events.deleted"


class EventLog:
    """A reader of one growing log; another process appends to it, fills segments, deletes old ones.

    Deleted events are replaced by one event of type `events.deleted`: its `seq` is the last deleted
    event's, so that a cursor continues after it. `agent` is the agent of the events if the lines do
    not contain it, as in a node's log.
    """

    def __init__(self, path: Path, agent: str = "") -> None:
        self._path = path
        self._agent = agent
        self._reader = SegmentReader(path)
        self._made: dict[int, Event] = {}
        self._made_of = 0

    @property
    def begun(self) -> int:
        """A number that increases whenever the log is replaced."""
        return self._reader.begun

    def pick(
        self, after: int, limit: int, wanted: EventFilter = EVERYTHING
    ) -> tuple[list[Event], int]:
        """Return up to `limit` matching events after seq `after`, and the seq to continue after.

        The second value is `after` itself at the log's end. At most LOOKED_AT lines are read, so a
        page may be empty although more follow.
        """
        if wanted.takes_all:
            events = self.page(after, limit)
            return events, events[-1].seq if events else after
        picked: list[Event] = []
        for event in self.page(after, LOOKED_AT):
            after = event.seq
            if wanted.takes(event) or _stands_for_deleted(event):
                picked.append(event)
            if len(picked) == limit:
                break
        return picked, after

    def pick_before(
        self, before: int, limit: int, wanted: EventFilter = EVERYTHING, after: int = 0
    ) -> tuple[list[Event], int, int]:
        """Return the last matching events between two seqs, and the read range (after, to].

        At most LOOKED_AT lines are read, so a page may be empty although there are older ones; the
        range begins at 0, or at `after`, if there are no older ones. Raises Corrupt, OSError.
        """
        to = max(after, min(before - 1, self.last()))
        start = max(after, to - (limit if wanted.takes_all else LOOKED_AT))
        events: list[Event] = []
        seen = start
        while seen < to and (more := self.page(seen, to - seen)):
            events += [one for one in more if one.seq <= to]
            seen = more[-1].seq
        if not events:  # all events of the range were deleted
            return [], after, to
        if _stands_for_deleted(events[0]):
            events[:1], start = self.page(after, 1), after
        picked = [one for one in events if wanted.takes(one) or _stands_for_deleted(one)]
        if len(picked) > limit:
            picked = picked[-limit:]
            start = picked[0].seq - 1
        return picked, start, to

    def page(self, after: int, limit: int) -> list[Event]:
        """Return up to `limit` events whose seq is greater than `after`, in order.

        A page ends before a damaged line. Raises Corrupt if it would begin with a damaged line,
        OSError.
        """
        events: list[Event] = []
        for line in self._reader.lines(after, limit):
            try:
                event = self._event(line)
            except Corrupt:
                if not events:
                    raise
                break
            if event.seq > after + 1:
                events.append(_deleted(after + 1, event))
            events.append(event)
            after = event.seq
        return events[:limit]

    def last(self) -> int:
        """Return the seq of the last event, 0 if there is none."""
        return self._reader.last()

    def _event(self, line: Line) -> Event:
        """Return a line's event; the latest events are cached."""
        seq = line[0]
        if self._made_of != self._reader.begun:
            self._made, self._made_of = {}, self._reader.begun
        known = self._made.get(seq)
        if known is None:
            known = _parsed(self._path, line, self._agent)
            if seq > self._reader.seen - LATEST:
                self._made[seq] = known
            if len(self._made) > 2 * LATEST:
                self._made = {n: e for n, e in self._made.items() if n > seq - LATEST}
        return known


def _parsed(path: Path, line: Line, agent: str) -> Event:
    seq, text = line
    record, _ = parse_line(text.rstrip(b"\n"))
    if record is None:
        raise Corrupt(f"{path}: event {seq} is damaged")
    known = {"agent_id": agent} if agent else {}
    return Event.model_validate({**known, **record, "seq": seq})


def _stands_for_deleted(event: Event) -> bool:
    return event.type == DELETED and not event.key  # the recorder's own events have a key


def _deleted(first: int, kept: Event) -> Event:
    """Return the event that stands for the deleted events `first` to the one before `kept`."""
    data = {"first": first, "last": kept.seq - 1}
    return Event(type=DELETED, agent_id=kept.agent_id, ts=kept.ts, seq=kept.seq - 1, data=data)
