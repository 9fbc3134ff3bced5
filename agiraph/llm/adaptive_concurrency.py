"""AdaptiveConcurrency: the number of parallel calls of a service, learned from its 429s. Pure.

Every answer increases the number a little, every refusal for too many calls halves it (once for all
parallel calls) and pauses all callers: for the time that the service asked for, otherwise for a
time that doubles with every further refusal. So repeated refusals slow all callers down, and the
service is never called much faster than it can answer.
"""

from dataclasses import dataclass

GROWTH = 0.25
MOST_DOUBLINGS = 64  # 2.0 ** 1024 overflows


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waiting times after failures: `first_seconds`, then doubled up to `longest_seconds`."""

    first_seconds: float
    longest_seconds: float

    def after(self, failures: int, retry_after: float | None, chance: float) -> float:
        """Return the seconds to wait after `failures` in a row; `chance` is in [0, 1).

        With the service's own `retry_after`, the wait is that time plus up to a tenth; otherwise
        between half and all of the doubled time, so that many callers do not return at once.
        """
        if retry_after is not None:
            return max(0.0, retry_after) * (1 + chance / 10)
        ceiling = self.first_seconds * 2.0 ** min(max(failures, 1) - 1, MOST_DOUBLINGS)
        return min(ceiling, self.longest_seconds) * (0.5 + chance / 2)


@dataclass(slots=True)
class AdaptiveConcurrency:
    """The number of parallel calls that one service accepts now, at most `most`."""

    most: int
    backoff: Backoff
    allowed: float = 0.0
    in_flight: int = 0
    refusals: int = 0
    cut_at: float = float("-inf")
    rests_until: float = float("-inf")
    answered_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.allowed = self.allowed or float(self.most)

    def wait(self, now: float) -> float | None:
        """Return the seconds until a call may begin; None: a call in flight must end first."""
        if now < self.rests_until:
            return self.rests_until - now
        return 0.0 if self.in_flight < max(1, int(self.allowed)) else None

    def begin(self) -> None:
        """Count a call that begins (`wait` returned 0)."""
        self.in_flight += 1

    def ended(self) -> None:
        """Count a call that has ended, with or without success."""
        self.in_flight -= 1

    def succeeded(self, now: float) -> None:
        """Record that a call was answered."""
        self.refusals = 0
        self.answered_at = now
        self.allowed = min(float(self.most), self.allowed + max(GROWTH, 1 / self.allowed))

    def refused(self, began: float, now: float, retry_after: float | None, chance: float) -> float:
        """Record a refusal because of too many calls; return the seconds that all callers pause.

        Parallel calls are refused together: that counts once.
        """
        if began >= self.cut_at:
            self.cut_at = now
            self.refusals += 1
            self.allowed = max(1.0, self.allowed / 2)
        rest = self.backoff.after(self.refusals, retry_after, chance)
        self.rests_until = max(self.rests_until, now + rest)
        return self.rests_until - now

    def is_stuck(self, since: float, now: float, patience: float) -> bool:
        """Whether no call was answered for `patience` seconds, counted from `since` on."""
        return now - max(since, self.answered_at) > patience
