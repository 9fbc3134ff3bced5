"""The lease of a host, and the decision about each launch of an address. Pure.

A lease counts from the host's request, by the host's own clock; the home counts from its answer,
which is later. So the host has killed its processes before the home starts them elsewhere, whatever
happens to questions and answers on the network, and whatever their clocks show.

Processes that were started for one supervisor do not continue for the next (`epoch`): they are
killed first.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from agiraph.messages.host import LeaseRenewed

LaunchVerdict = Literal["start", "replace", "confirm", "ended", "stale"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The end of a host's lease (`steady_seconds`), and the supervisor that granted it."""

    epoch: str = ""
    ends_at: float = -math.inf
    seconds: float = 0.0

    def is_valid(self, now: float) -> bool:
        """Whether the host's processes may run at `now`."""
        return now < self.ends_at

    def left(self, now: float) -> float:
        """Return for how many seconds after `now` the host's processes may run."""
        return max(0.0, self.ends_at - now)

    def must_end(self, granted: LeaseRenewed) -> bool:
        """Whether an answer comes from another supervisor than the current lease."""
        return self.epoch not in ("", granted.epoch)

    def renewed(self, granted: LeaseRenewed, now: float) -> "Lease":
        """Return the lease after an answer; an answer with a `sent_at` after `now` is ignored.

        Answers may arrive in any order: a late answer does not shorten the lease.
        """
        if granted.sent_at > now:
            return self
        ends_at = granted.sent_at + granted.seconds
        if granted.epoch != self.epoch:
            return Lease(granted.epoch, ends_at, granted.seconds)
        return replace(self, ends_at=max(self.ends_at, ends_at), seconds=granted.seconds)


def verdict_on_launch(incarnation: int, known: int | None, is_running: bool) -> LaunchVerdict:
    """Return the verdict on a launch; `known` is the address's last incarnation on this host.

    A launch may arrive twice or late. 'stale' and 'ended' start nothing; 'replace' ends the running
    process first.
    """
    if known is None or (incarnation > known and not is_running):
        return "start"
    if incarnation > known:
        return "replace"
    if incarnation < known:
        return "stale"
    return "confirm" if is_running else "ended"
