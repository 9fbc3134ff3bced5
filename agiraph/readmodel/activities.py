"""What each entity last reported that it does, and what the gateway has counted; in memory only."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace

from agiraph.core.models import Activity
from agiraph.messages.event import EntityStatus

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds of a histogram's buckets, in seconds; what is longer is in the last one."""

MOST = 20_000


@dataclass(frozen=True, slots=True)
class EntityActivity:
    """The last report of one incarnation, and since when it reports that (epoch seconds)."""

    incarnation: int
    doing: Activity
    since: float = 0.0


class EntityActivities:
    """The latest report by address; that of an older incarnation is ignored."""

    def __init__(self) -> None:
        self._latest: dict[str, EntityActivity] = {}

    def record(self, address: str, incarnation: int, status: EntityStatus, at: float = 0.0) -> bool:
        """Record a status that was sent at `at`; return whether it is another one than before.

        A repeated one keeps its first time.
        """
        known = self._latest.pop(address, None)
        if known is not None and known.incarnation > incarnation:
            self._latest[address] = known
            return False
        latest = EntityActivity(incarnation, status.doing, at)
        if known is not None and latest == replace(known, since=at):
            latest = known
        self._latest[address] = latest
        if len(self._latest) > MOST:
            self._latest.pop(next(iter(self._latest)))
        return latest is not known

    def get(self, address: str, incarnation: int | None = None) -> EntityActivity | None:
        """Return the last report of an address (of this incarnation, if one is named)."""
        known = self._latest.get(address)
        if known is None or incarnation not in (None, known.incarnation):
            return None
        return known


@dataclass(slots=True)
class Histogram:
    """How long something took, by buckets."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total_seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total_seconds += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Return (bound, how many took at most so long), as Prometheus wants it."""
        found, so_far = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found


@dataclass(slots=True)
class GatewayCounters:
    """Events by type, and how long notices took to go out by each channel."""

    events: Counter[str] = field(default_factory=Counter)
    deliveries: dict[str, Histogram] = field(default_factory=dict)

    def delivered(self, channel: str, seconds: float) -> None:
        """Count a notice that went out so long after its cause."""
        self.deliveries.setdefault(channel, Histogram()).add(seconds)
