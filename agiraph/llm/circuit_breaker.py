"""CircuitBreaker: whether a service may be called at all; one for all its callers. Pure.

closed      calls are made
open        the last calls have all failed: no calls for some time
half open   that time is over: one call is made, and its outcome decides

Each time it opens again without an answer in between, it stays open twice as long.
"""

from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half_open"]
LONGEST_DOUBLINGS = 3


@dataclass(slots=True)
class CircuitBreaker:
    """The breaker of one service: opens after `failures` failures in a row.

    It is open for `seconds` the first time.
    """

    failures: int
    seconds: float
    in_a_row: int = 0
    openings: int = 0
    opens_until: float | None = None
    is_probing: bool = False

    def state(self, now: float) -> State:
        """Return the breaker's state at `now`, a monotonic time in seconds."""
        if self.opens_until is None:
            return "closed"
        return "open" if now < self.opens_until else "half_open"

    def wait(self, now: float) -> float | None:
        """Return the seconds until a call may begin; None: the probing call must end first."""
        if self.opens_until is None:
            return 0.0
        if now < self.opens_until:
            return self.opens_until - now
        return None if self.is_probing else 0.0

    def begin(self, now: float) -> bool:
        """Count a call that begins (`wait` returned 0); return whether it probes the service."""
        if self.state(now) != "half_open":
            return False
        self.is_probing = True
        return True

    def succeeded(self) -> None:
        """Record that a call was answered: the breaker closes."""
        self.in_a_row = self.openings = 0
        self.opens_until = None
        self.is_probing = False

    def failed(self, now: float, *, was_probe: bool) -> bool:
        """Record that the service could not serve a call; return whether the breaker opened now."""
        if self.opens_until is not None and not was_probe:
            return False  # it began before the breaker opened, and adds no information
        self.in_a_row += 1
        if not was_probe and self.in_a_row < self.failures:
            return False
        self.is_probing = False
        self.opens_until = now + self.seconds * 2.0 ** min(self.openings, LONGEST_DOUBLINGS)
        self.openings += 1
        return True

    def released(self, *, was_probe: bool) -> None:
        """Record that a call ended without information about the service."""
        if was_probe:
            self.is_probing = False
