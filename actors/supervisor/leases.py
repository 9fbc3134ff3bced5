"""Leases: for how long a host may still run what was started on it, as the home reckons. Pure.

The host counts from when it asked for its lease, the home from when it answered, which is later,
and adds MARGIN_SECONDS for the kill. So what ran there has ended before it is started elsewhere, by
whatever clocks. A lease never becomes shorter: an answer may be lost, and the host goes by the one
before. A supervisor that starts knows only for how long leases were granted: what may still run is
waited for as if the last one had been granted at that moment.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agiraph.core.hosts import HostState

MARGIN_SECONDS = 0.7
"""The host kills at once, its relay what lives 0.4 s longer; the rest is for that to happen."""
SILENT_RENEWALS = 3.0


@dataclass(frozen=True, slots=True)
class GrantedLease:
    """Until when a host may run processes, by our clock; `heard_at` is when it asked last."""

    ends_at: float = -math.inf
    heard_at: float = -math.inf

    def granted(self, now: float, seconds: float) -> "GrantedLease":
        """Return the lease after an answer at `now`."""
        return GrantedLease(max(self.ends_at, now + seconds + MARGIN_SECONDS), now)

    def left(self, now: float) -> float:
        """Return for how many seconds something may still run there."""
        return max(0.0, self.ends_at - now)

    def state(self, now: float, renew_seconds: float) -> HostState:
        """Return how the host is: heard of lately, silent, or silent with a lease that has ended.

        One that had no lease, and was not heard of yet, has lost nothing.
        """
        if now - self.heard_at <= SILENT_RENEWALS * renew_seconds:
            return "ready"
        return "lost" if -math.inf < self.ends_at <= now else "away"


@dataclass(frozen=True, slots=True)
class OverdueKills:
    """The processes that a host was told to kill and still lists, and since when.

    A host that ignores a kill for the length of a lease gets no further lease: when its last one
    has ended, what it was to kill counts as ended, as on a machine that is lost.
    """

    since: Mapping[tuple[str, int], float] = field(default_factory=dict)

    def listed(self, doomed: Collection[tuple[str, int]], now: float) -> "OverdueKills":
        """Return them after the host has listed the processes `doomed`, which it was to kill."""
        return OverdueKills({one: self.since.get(one, now) for one in doomed})

    def ignored(self, now: float, lease_seconds: float) -> list[str]:
        """Return the addresses of those that the host has had long enough to kill."""
        return [one for (one, _), since in self.since.items() if now - since > lease_seconds]


def unknown_lease(now: float, seconds: float) -> GrantedLease:
    """Return what a supervisor that starts must reckon with, of leases of so many seconds."""
    return GrantedLease(ends_at=now + seconds + MARGIN_SECONDS)
