"""Leases: how long a host may still run its processes, as computed by the home. Pure.

The host counts from its request for the lease, the home from its own answer, which is later, and
adds MARGIN_SECONDS for the kill. So the processes there have ended before they are started
elsewhere, whatever the clocks show. A lease never becomes shorter: an answer may be lost, and the
host uses the earlier one. A supervisor that starts knows only the lengths of granted leases: it
waits for possibly running processes as if the last lease had been granted at that moment.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agiraph.core.hosts import HostState

MARGIN_SECONDS = 0.7
"""The host kills at once, its relay the survivors 0.4 s later; the rest is time for both."""
SILENT_RENEWALS = 3.0


@dataclass(frozen=True, slots=True)
class GrantedLease:
    """The end of a host's lease, by our clock; `heard_at` is the time of its last request."""

    ends_at: float = -math.inf
    heard_at: float = -math.inf

    def granted(self, now: float, seconds: float) -> "GrantedLease":
        """Return the lease after an answer at `now`."""
        return GrantedLease(max(self.ends_at, now + seconds + MARGIN_SECONDS), now)

    def left(self, now: float) -> float:
        """Return for how many seconds after `now` processes may still run on the host."""
        return max(0.0, self.ends_at - now)

    def state(self, now: float, renew_seconds: float) -> HostState:
        """Return `ready` for a host that was heard lately, else `away`, or `lost` without a lease.

        A host that had no lease, and has not reported yet, has lost nothing.
        """
        if now - self.heard_at <= SILENT_RENEWALS * renew_seconds:
            return "ready"
        return "lost" if -math.inf < self.ends_at <= now else "away"


@dataclass(frozen=True, slots=True)
class OverdueKills:
    """The processes that a host was asked to kill and still lists, and since when.

    A host that ignores a kill for the length of a lease gets no further lease: when its last lease
    has ended, these processes count as ended, as on a machine that is lost.
    """

    since: Mapping[tuple[str, int], float] = field(default_factory=dict)

    def listed(self, doomed: Collection[tuple[str, int]], now: float) -> "OverdueKills":
        """Return the overdue kills after the host has listed `doomed`, processes it was to kill."""
        return OverdueKills({one: self.since.get(one, now) for one in doomed})

    def ignored(self, now: float, lease_seconds: float) -> list[str]:
        """Return the addresses of the processes that the host has had enough time to kill."""
        return [one for (one, _), since in self.since.items() if now - since > lease_seconds]


def unknown_lease(now: float, seconds: float) -> GrantedLease:
    """Return the lease that a starting supervisor assumes, for leases of `seconds`."""
    return GrantedLease(ends_at=now + seconds + MARGIN_SECONDS)
