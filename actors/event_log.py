"""Paging through an agent's events.jsonl by line number, without reading it from the start."""

import json
import os
from pathlib import Path

from agiraph.event_filter import EventFilter
from agiraph.models import Event
from agiraph.storage.files import UnsafeFile, open_file, status_of

STRIDE = 256
LOOKED_AT = 2000
LATEST = 64
EVERYTHING = EventFilter()


class EventLog:
    """A reader of one growing log; another process appends to it.

    Line N holds the event with seq N. Only whole lines count. The place of every STRIDE-th line is
    remembered, so that a page far into the log costs no more than one at its beginning; the latest
    events are, since many ask for them. `begun` grows when the log is found to be another one.
    What is no file of ours (a link, a folder) counts as no log: it must not stop whoever reads the
    logs of all agents. The recorder, which cannot write to it, tells.
    """

    def __init__(self, path: Path) -> None:
        """Read from `path`, which need not exist yet."""
        self._path = path
        self.begun = 0
        self._forget()

    def pick(
        self, after: int, limit: int, wanted: EventFilter = EVERYTHING
    ) -> tuple[list[Event], int]:
        """Return up to `limit` wanted events after seq `after`, and the seq to go on after.

        That is `after` itself at the log's end. At most LOOKED_AT lines are looked at, so a page
        may be empty though more follow.
        """
        if wanted.takes_all:
            events = self.page(after, limit)
            return events, events[-1].seq if events else after
        picked: list[Event] = []
        for event in self.page(after, LOOKED_AT):
            after = event.seq
            if wanted.takes(event):
                picked.append(event)
            if len(picked) == limit:
                break
        return picked, after

    def page(self, after: int, limit: int) -> list[Event]:
        """Return up to `limit` events whose seq is greater than `after`, in order."""
        if not self._index():
            return []
        if after >= self._lines or limit < 1:
            return []
        wanted = min(limit, self._lines - after)
        if after + 1 in self._latest:
            return [self._late(seq) for seq in range(after + 1, after + wanted + 1)]
        slot = after // STRIDE
        try:
            file = os.fdopen(open_file(self._path), "rb")
        except (FileNotFoundError, UnsafeFile):
            return []  # it was taken away at this moment
        with file:
            file.seek(self._places[slot])
            for _ in range(after - slot * STRIDE):
                file.readline()
            lines = [file.readline() for _ in range(wanted)]
        return [_event(line, seq) for seq, line in enumerate(lines, start=after + 1)]

    def last(self) -> int:
        """Return the seq of the last event, 0 if there is none."""
        self._index()
        return self._lines

    def _late(self, seq: int) -> Event:
        """Return one of the latest events; it is made of its line once."""
        late = self._latest[seq]
        if isinstance(late, bytes):
            late = self._latest[seq] = _event(late, seq)
        return late

    def _index(self) -> bool:
        """Take note of the lines that were added since; return whether there is a log."""
        try:
            status = status_of(self._path)
            size = 0 if status is None else status.st_size
            if size < self._end:
                self._forget()
            if size > self._end:
                self._scan()
        except (FileNotFoundError, UnsafeFile):
            status = None
        if status is None:
            self._forget()
        return status is not None

    def _scan(self) -> None:
        with os.fdopen(open_file(self._path), "rb") as file:
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._end += len(line)
                self._lines += 1
                self._latest[self._lines] = line
                self._latest.pop(self._lines - LATEST, None)
                if self._lines % STRIDE == 0:
                    self._places.append(self._end)

    def _forget(self) -> None:
        self._lines = 0
        self._end = 0
        self._places = [0]
        self._latest: dict[int, bytes | Event] = {}
        self.begun += 1


def _event(line: bytes, seq: int) -> Event:
    return Event.model_validate({**json.loads(line.decode()), "seq": seq})
