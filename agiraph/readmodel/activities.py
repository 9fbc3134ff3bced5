"""The last reported activity of each entity, and the gateway's counters; in memory only."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from agiraph.core.models import EntityState

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds of a histogram's buckets, in seconds; longer times are in the last bucket."""

MOST = 20_000


class EntityActivities:
    """The last reported state of each entity; reports of older incarnations are ignored."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, EntityState]] = {}

    def record(self, address: str, incarnation: int, doing: EntityState) -> bool:
        """Store a reported state; return whether it differs from the last one."""
        known = self._latest.get(address)
        if known is not None and (known[0] > incarnation or known == (incarnation, doing)):
            return False
        self._latest.pop(address, None)
        self._latest[address] = (incarnation, doing)
        if len(self._latest) > MOST:
            self._latest.pop(next(iter(self._latest)))
        return True

    def get(self, address: str, incarnation: int | None = None) -> EntityState | None:
        """Return the last reported state of an address, None if unknown.

        With `incarnation`, only a state that this incarnation has reported.
        """
        known = self._latest.get(address)
        if known is None or incarnation not in (None, known[0]):
            return None
        return known[1]


@dataclass(slots=True)
class Histogram:
    """The number of durations in each bucket (BOUNDS), and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total_seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total_seconds += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Return pairs of a bound and the number of durations up to it, as Prometheus requires."""
        found, so_far = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found


@dataclass(slots=True)
class GatewayCounters:
    """Counts of events by type, and the delivery times of notices by channel."""

    events: Counter[str] = field(default_factory=Counter)
    deliveries: dict[str, Histogram] = field(default_factory=dict)

    def delivered(self, channel: str, seconds: float) -> None:
        """Count a notice that was delivered this many seconds after its cause."""
        self.deliveries.setdefault(channel, Histogram()).add(seconds)
