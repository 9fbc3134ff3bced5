"""Work time: how long a worker has been at its node, folded from its conversation; pure.

A node's time begins when the worker takes it up and continues through restarts of its process. It
stands still while the worker waits for the human or for other nodes, or is paused. A time in which
there was no process at all counts for a minute at most: a house that was down overnight has missed
no deadline.
"""

from dataclasses import dataclass

AWAY_SECONDS = 60.0
WAITS = frozenset({"ask_human", "wait"})
"""Calls during which a node's time stands still."""


@dataclass(frozen=True, slots=True)
class WorkTime:
    """The seconds worked so far, and when that was last known, in seconds since the epoch."""

    seconds: float = 0.0
    seen_at: float | None = None

    def begun(self, now: float) -> "WorkTime":
        """Return the time of a node that is taken up now."""
        return WorkTime(0.0, now)

    def at(self, now: float, *, is_waiting: bool, was_away: bool = False) -> "WorkTime":
        """Return the time at `now`; since the last look it waited, was away, or else worked."""
        if self.seen_at is None:
            return self
        passed = 0.0 if is_waiting else max(0.0, now - self.seen_at)
        counted = min(passed, AWAY_SECONDS) if was_away else passed
        return WorkTime(self.seconds + counted, max(now, self.seen_at))
