"""How long a client waits for a gateway that went away: a restart takes a second or two."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.1

WORTH_ANOTHER = (httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""What a gateway that dies looks like. A call that took too long is not made again."""


@dataclass(slots=True)
class ReconnectPolicy:
    """Of one client. `has_met`: it reached the gateway before; a first try is not repeated.

    `is_expected` tells whether the gateway will be back at all.
    """

    seconds: float
    is_expected: Callable[[], bool]
    has_met: bool = False

    def begin(self) -> "ReconnectWait":
        """Return the waiting of one call."""
        return ReconnectWait(self)


@dataclass(slots=True)
class ReconnectWait:
    """One call's share of patience."""

    patience: ReconnectPolicy
    give_up_at: float = field(init=False, default=0.0)

    def is_over(self, error: httpx.TransportError) -> bool:
        """Whether there is no sense in making the call again after this."""
        if not self.patience.has_met or not isinstance(error, WORTH_ANOTHER):
            return True
        now = time.monotonic()
        self.give_up_at = self.give_up_at or now + self.patience.seconds
        return now >= self.give_up_at or not self.patience.is_expected()
