"""AdaptiveConcurrency: how many calls of a service may be in flight at once, found out by its own
429s. Pure.

Every answer lets a little more in flight, every refusal for too many calls halves it (once for all
that were in flight together) and makes everybody rest: for as long as the service asked, else for a
time that doubles with every further refusal. So a storm of refusals slows all callers down, and the
service is never asked more than a little faster than it can bear.
"""

from dataclasses import dataclass

GROWTH = 0.25
MOST_DOUBLINGS = 64  # 2.0 ** 1024 overflows


@dataclass(frozen=True, slots=True)
class RestTimes:
    """How long to rest: `first_seconds`, doubled up to `longest_seconds`."""

    first_seconds: float
    longest_seconds: float

    def after(self, refusals: int, wish: float | None, chance: float) -> float:
        """Return the seconds to rest after so many refusals in a row; `chance` is in [0, 1).

        A wish of the service is kept, with up to a tenth more; else it is between half and all of
        the doubled time.
        """
        if wish is not None:
            return max(0.0, wish) * (1 + chance / 10)
        ceiling = self.first_seconds * 2.0 ** min(max(refusals, 1) - 1, MOST_DOUBLINGS)
        return min(ceiling, self.longest_seconds) * (0.5 + chance / 2)


@dataclass(slots=True)
class AdaptiveConcurrency:
    """The pace of one service; at most `most` calls at once."""

    most: int
    rests: RestTimes
    allowed: float = 0.0
    in_flight: int = 0
    refusals: int = 0
    cut_at: float = float("-inf")
    rests_until: float = float("-inf")
    answered_at: float = float("-inf")

    def __post_init__(self) -> None:
        """Begin with all that may be."""
        self.allowed = self.allowed or float(self.most)

    def wait(self, now: float) -> float | None:
        """Return for how long nobody may call; None: until a call in flight has ended."""
        if now < self.rests_until:
            return self.rests_until - now
        return 0.0 if self.in_flight < max(1, int(self.allowed)) else None

    def begin(self) -> None:
        """Let a call go (`wait` said 0)."""
        self.in_flight += 1

    def ended(self) -> None:
        """Take in that a call has ended, however."""
        self.in_flight -= 1

    def succeeded(self, now: float) -> None:
        """Take in that a call was answered."""
        self.refusals = 0
        self.answered_at = now
        self.allowed = min(float(self.most), self.allowed + max(GROWTH, 1 / self.allowed))

    def refused(self, began: float, now: float, wish: float | None, chance: float) -> float:
        """Take in that a call that `began` then was refused for too many; return the rest's length.

        Calls that were in flight together are refused together: that counts once.
        """
        if began >= self.cut_at:
            self.cut_at = now
            self.refusals += 1
            self.allowed = max(1.0, self.allowed / 2)
        rest = self.rests.after(self.refusals, wish, chance)
        self.rests_until = max(self.rests_until, now + rest)
        return self.rests_until - now

    def is_stuck(self, since: float, now: float, patience: float) -> bool:
        """Whether nobody was answered for `patience` seconds, counted from `since` at the least."""
        return now - max(since, self.answered_at) > patience
