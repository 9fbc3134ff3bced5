"""The timeline: the last entries of a team in the order they happened, bounded. Pure.

Entries come in any order and more than once (two logs, a reconnect, an older page); a key stands
once. The end of a tool call is joined to its beginning, and one text to several receivers is one
entry. The newest are kept while one watches; while one reads back, the oldest, and `is_live` is
False until the end is fetched anew.
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from cli.console.ui.entries import TimelineEntry

MOST: Final = 3000
SLACK: Final = 300
SAME_TEXT_SECONDS: Final = 2.0
LOOK_BACK: Final = 12

Keep = Literal["newest", "oldest"]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Entries in order, and the keys that stand in it (those of joined ones too)."""

    entries: tuple[TimelineEntry, ...] = ()
    keys: frozenset[str] = frozenset()
    is_live: bool = True
    first_event: int | None = None
    first_message: int | None = None
    was_cut: bool = False

    def of(self, names: frozenset[str] | None) -> list[TimelineEntry]:
        """Return the entries that concern one of `names`; None: all."""
        if names is None:
            return list(self.entries)
        return [entry for entry in self.entries if entry.concerns(names)]


def added(timeline: Timeline, entries: Iterable[TimelineEntry], keep: Keep = "newest") -> Timeline:
    """Return the timeline with more entries in it, no longer than MOST (and a little)."""
    stands = list(timeline.entries)
    places = {entry.key: entry for entry in stands if entry.kind == "tool"}
    keys = set(timeline.keys)
    first = {"events": timeline.first_event, "messages": timeline.first_message}
    for entry in entries:
        known = places.get(entry.key)
        if known is not None:
            joined = places[entry.key] = _joined(known, entry)
            if joined is not known:
                del stands[_index(stands, known)]
                _insert(stands, joined)
            continue
        if entry.key in keys:
            continue
        keys.add(entry.key)
        if entry.log in first:
            lowest = first[entry.log]
            first[entry.log] = entry.seq if lowest is None else min(lowest, entry.seq)
        if _told_before(stands, entry):
            continue
        if entry.kind == "tool":
            places[entry.key] = entry
        _insert(stands, entry)
    grown = replace(
        timeline,
        entries=tuple(stands),
        keys=frozenset(keys),
        first_event=first["events"],
        first_message=first["messages"],
    )
    return _bounded(grown, keep)


def without(timeline: Timeline, key: str) -> Timeline:
    """Return the timeline without one entry."""
    left = tuple(entry for entry in timeline.entries if entry.key != key)
    return replace(timeline, entries=left, keys=timeline.keys - {key})


def _joined(call: TimelineEntry, end: TimelineEntry) -> TimelineEntry:
    """Return a tool call that has ended; what it was called with stays."""
    is_running, is_still = call.outcome == "running", end.outcome == "running"
    if is_running == is_still or call.also:
        return call
    if is_still:  # its beginning is read after its end, from an older page
        call, end = end, call
    body = "\n\n".join(part for part in (call.body, end.body) if part)
    return replace(
        call,
        body=body,
        outcome=end.outcome,
        tone=end.tone,
        ended_at=end.ended_at,
        also=(f"end of {call.key}",),
    )


def _told_before(stands: list[TimelineEntry], entry: TimelineEntry) -> bool:
    """Add a text to several to the entry that stands for it; return whether there was one."""
    if entry.kind != "text" or entry.log != "messages":
        return False
    for place in range(len(stands) - 1, max(-1, len(stands) - 1 - LOOK_BACK), -1):
        other = stands[place]
        if (
            other.kind == "text"
            and (other.who, other.body) == (entry.who, entry.body)
            and abs(other.at - entry.at) <= SAME_TEXT_SECONDS
            and not set(entry.to) & set(other.to)
        ):
            to, about = (*other.to, *entry.to), other.about | entry.about
            also = (*other.also, entry.key)
            stands[place] = replace(other, to=to, about=about, also=also)
            return True
    return False


def _insert(stands: list[TimelineEntry], entry: TimelineEntry) -> None:
    if not stands or stands[-1].order <= entry.order:
        stands.append(entry)
    else:
        insort(stands, entry, key=_order)


def _index(stands: Sequence[TimelineEntry], wanted: TimelineEntry) -> int:
    for place in range(len(stands) - 1, -1, -1):
        if stands[place] is wanted:
            return place
    raise AssertionError(f"{wanted.key} does not stand in the timeline")


def _order(entry: TimelineEntry) -> tuple[float, int]:
    return entry.order


def _bounded(timeline: Timeline, keep: Keep) -> Timeline:
    if len(timeline.entries) <= MOST + SLACK:
        return timeline
    if keep == "oldest":
        left = timeline.entries[:MOST]
        return replace(timeline, entries=left, keys=_keys(left), is_live=False)
    left = timeline.entries[-MOST:]
    return replace(
        timeline,
        entries=left,
        keys=_keys(left),
        first_event=_first(left, "events", timeline.first_event),
        first_message=_first(left, "messages", timeline.first_message),
        was_cut=True,
    )


def _keys(left: tuple[TimelineEntry, ...]) -> frozenset[str]:
    """Return the keys of what is left: what was cut may be read again, what stands may not."""
    return frozenset(key for entry in left for key in (entry.key, *entry.also))


def _first(left: tuple[TimelineEntry, ...], log: str, was: int | None) -> int | None:
    return min((entry.seq for entry in left if entry.log == log), default=was)
