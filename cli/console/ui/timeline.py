"""The timeline: entries of the thread in its order, each once, bounded.

The newest entries are kept while the person follows; while the person reads back, the oldest, and
`is_live` is False until the end is fetched again.
"""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, Literal

from cli.console.ui.entries import TimelineEntry

MOST: Final = 3000
SLACK: Final = 300

Keep = Literal["newest", "oldest"]


@dataclass(slots=True, eq=False)
class Timeline:
    """Entries in order; `previous` is the cursor of the page before them, None at the beginning."""

    entries: list[TimelineEntry] = field(default_factory=list)
    known: dict[str, TimelineEntry] = field(default_factory=dict)
    is_live: bool = True
    previous: int | None = None

    def entries_of(self, names: frozenset[str] | None) -> list[TimelineEntry]:
        """Return the entries that concern one of `names`; None: all."""
        return [one for one in self.entries if names is None or one.concerns(names)]

    def add(self, entries: Iterable[TimelineEntry], keep: Keep = "newest") -> None:
        """Add entries, or replace entries with the same keys; keep at most about MOST entries.

        An older page replaces no entry: the existing entries are newer.
        """
        for entry in entries:
            if keep == "oldest" and entry.key in self.known:
                continue
            if entry.seq < self._first and keep == "newest" and self.previous is not None:
                continue  # it changed before the loaded part of the thread
            self.remove(entry.key)
            self.known[entry.key] = entry
            if not self.entries or self.entries[-1].seq <= entry.seq:
                self.entries.append(entry)
            else:
                insort(self.entries, entry, key=attrgetter("seq"))
        if len(self.entries) > MOST + SLACK:
            self._trim(keep)

    def remove(self, key: str) -> TimelineEntry | None:
        """Remove the entry of a key and return it, None if there is none."""
        found = self.known.pop(key, None)
        if found is not None:
            self.entries.remove(found)
        return found

    @property
    def _first(self) -> int:
        return self.entries[0].seq if self.entries else 0

    def _trim(self, keep: Keep) -> None:
        if keep == "oldest":
            del self.entries[MOST:]
            self.is_live = False
        else:
            del self.entries[:-MOST]
            self.previous = self._first
        self.known = {entry.key: entry for entry in self.entries}
