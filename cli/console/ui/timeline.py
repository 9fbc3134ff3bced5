"""The timeline: the last entries of a team in the order they happened, bounded.

Entries come in any order and more than once (two logs, a reconnect, an older page); each key is
held once. The end of a tool call is joined to its beginning; one text to several receivers is one
entry, so are the retries of a model call, and so are an answer of a coordinator's model and the
message to the human that it becomes. The newest are kept while the person follows; while he reads
back, the oldest, and `is_live` is False until the end is fetched again.
"""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, Literal

from cli.console.ui.entries import TimelineEntry

MOST: Final = 3000
SLACK: Final = 300
LOOK_BACK: Final = 12

Keep = Literal["newest", "oldest"]


@dataclass(slots=True, eq=False)
class Timeline:
    """Entries in order, and the keys they hold (those of joined ones too).

    `first_event` and `first_message` are the lowest `seq` that was read from either log.
    """

    entries: list[TimelineEntry] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    is_live: bool = True
    first_event: int | None = None
    first_message: int | None = None

    def entries_of(self, names: frozenset[str] | None) -> list[TimelineEntry]:
        """Return the entries that concern one of `names`; None: all."""
        return [one for one in self.entries if names is None or one.concerns(names)]

    def add(self, entries: Iterable[TimelineEntry], keep: Keep = "newest") -> None:
        """Add entries; never holds more than MOST (and a little)."""
        joinable = {one.key: one for one in self.entries if one.kind in ("tool", "thought", "text")}
        for entry in entries:
            known = joinable.get(entry.key)
            if known is not None:
                joined = joinable[entry.key] = _joined(known, entry)
                if joined is not known:
                    self.entries.remove(known)
                    self._insert(joined)
                    self._note_first(entry)
                continue
            if entry.key in self.keys:
                continue
            self.keys.add(entry.key)
            self._note_first(entry)
            if self._merge_retry(entry):
                continue
            joinable[entry.key] = entry
            self._insert(entry)
        if len(self.entries) > MOST + SLACK:
            self._trim(keep)

    def remove(self, key: str) -> TimelineEntry | None:
        """Take out one entry and return it."""
        if key not in self.keys:
            return None
        self.keys.discard(key)
        found = next(entry for entry in self.entries if entry.key == key)
        self.entries.remove(found)
        return found

    def _insert(self, entry: TimelineEntry) -> None:
        if not self.entries or self.entries[-1].order <= entry.order:
            self.entries.append(entry)
        else:
            insort(self.entries, entry, key=attrgetter("order"))

    def _note_first(self, entry: TimelineEntry) -> None:
        if entry.log == "events":
            self.first_event = min(self.first_event or entry.seq, entry.seq)
        elif entry.log == "messages":
            self.first_message = min(self.first_message or entry.seq, entry.seq)

    def _merge_retry(self, entry: TimelineEntry) -> bool:
        """Show only the latest of the retries of a model call; return whether this is not it."""
        if entry.kind != "retry":
            return False
        last = next((one for one in self.entries[:-LOOK_BACK:-1] if one.who == entry.who), None)
        if last is None or last.kind != "retry":
            return False
        if entry.order > last.order:
            self.entries.remove(last)
            self._insert(replace(entry, also=(*last.also, last.key)))
        return True

    def _trim(self, keep: Keep) -> None:
        if keep == "oldest":
            del self.entries[MOST:]
            self.is_live = False
        else:
            del self.entries[:-MOST]
            self.first_event = self._first("events", self.first_event)
            self.first_message = self._first("messages", self.first_message)
        # What was cut may be read again, what is held may not.
        self.keys = {key for entry in self.entries for key in (entry.key, *entry.also)}

    def _first(self, log: str, before: int | None) -> int | None:
        return min((entry.seq for entry in self.entries if entry.log == log), default=before)


def _joined(known: TimelineEntry, entry: TimelineEntry) -> TimelineEntry:
    """Return the one entry for two with the same key; `known` itself if `entry` repeats it."""
    match known.kind, entry.kind:
        case "thought", "text":
            return entry
        case "text", "text" if not set(entry.to) <= set(known.to):
            return replace(known, to=(*known.to, *entry.to), about=known.about | entry.about)
        case "tool", "tool":
            return _ended(known, entry)
    return known


def _ended(call: TimelineEntry, end: TimelineEntry) -> TimelineEntry:
    """Return a tool call that has ended; what it was called with stays."""
    is_running, is_still = call.outcome == "running", end.outcome == "running"
    if is_running == is_still or call.also:
        return call
    if is_still:  # its beginning is read after its end, from an older page
        call, end = end, call
    return replace(
        call,
        body="\n\n".join(part for part in (call.body, end.body) if part),
        outcome=end.outcome,
        tone=end.tone,
        ended_at=end.ended_at,
        also=(f"end of {call.key}",),
    )
