"""What a host may run: until when (its lease), and which launch of an address. Pure.

A lease counts from the moment at which the host asked for it, by the host's own clock; the home
counts from its answer, which is later. So the host has killed what it runs before the home starts
it elsewhere, whatever the network does to questions and answers, and whatever their clocks say.

What was started for one supervisor is not for the next one (`epoch`): it is killed first.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from agiraph.messages.host import LeaseRenewed

LaunchVerdict = Literal["start", "replace", "confirm", "ended", "stale"]


@dataclass(frozen=True, slots=True)
class Lease:
    """Until when, by the host's clock, and for which supervisor; none was granted at first."""

    epoch: str = ""
    ends_at: float = -math.inf
    seconds: float = 0.0

    def is_valid(self, now: float) -> bool:
        """Whether processes may run."""
        return now < self.ends_at

    def left(self, now: float) -> float:
        """Return for how many seconds they may run."""
        return max(0.0, self.ends_at - now)

    def must_end(self, granted: LeaseRenewed) -> bool:
        """Whether an answer comes of another supervisor than the one that all was started for."""
        return self.epoch not in ("", granted.epoch)

    def renewed(self, granted: LeaseRenewed, now: float) -> "Lease":
        """Return the lease after an answer; one to a question that was never asked counts nothing.

        Answers may come in any order: a late one does not shorten the lease.
        """
        if granted.sent_at > now:
            return self
        ends_at = granted.sent_at + granted.seconds
        if granted.epoch != self.epoch:
            return Lease(granted.epoch, ends_at, granted.seconds)
        return replace(self, ends_at=max(self.ends_at, ends_at), seconds=granted.seconds)


def verdict_on_launch(incarnation: int, known: int | None, is_running: bool) -> LaunchVerdict:
    """Return what to do with a launch; `known` is the address's last incarnation on this host.

    A launch may come twice, or late.
    """
    if known is None or (incarnation > known and not is_running):
        return "start"
    if incarnation > known:
        return "replace"
    if incarnation < known:
        return "stale"
    return "confirm" if is_running else "ended"
