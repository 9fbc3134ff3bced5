"""GatewayCounters: what the gateway has counted since it began; kept in memory, for `/metrics`."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds of a histogram's buckets, in seconds; what is longer is in the last one."""


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
