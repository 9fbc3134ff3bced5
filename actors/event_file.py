"""events.jsonl of one agent: one event a line, the line's number its seq, each written once."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from agiraph.models import Event
from agiraph.redaction import redact_texts
from agiraph.storage.journal import Journal

REMEMBERED = 20_000
"""How far back a repeat is known; the router redelivers what was last under way, no more."""

SOURCE = "source"
"""Which part of which report a line came from; what makes a report that comes again a repeat."""


class EventFile:
    """The log of one agent; one process writes it."""

    def __init__(self, path: Path) -> None:
        """Open or create the log. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        recent = self._journal.records[-REMEMBERED:]
        self._sources = OrderedDict.fromkeys(str(record.get(SOURCE)) for record in recent)
        self._journal.records = []

    def append(self, events: Sequence[tuple[str, Event]]) -> list[Event]:
        """Write (source, event) pairs in one piece; return the new events with their seq."""
        new: list[Event] = []
        records = []
        for source, event in events:
            if source in self._sources:
                continue
            self._remember(source)
            seq = self._journal.count + len(new) + 1
            numbered = event.model_copy(update={"seq": seq, "data": redact_texts(event.data)})
            new.append(numbered)
            records.append(numbered.model_dump(mode="json") | {SOURCE: source})
        self._journal.append(*records)
        return new

    def _remember(self, source: str) -> None:
        self._sources[source] = None
        if len(self._sources) > REMEMBERED:
            self._sources.popitem(last=False)

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
