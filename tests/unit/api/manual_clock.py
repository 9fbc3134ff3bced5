"""A clock that a test sets."""


class ManualClock:
    """Wall time and monotonic time that change only when the test sets them."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.time = now

    def now(self) -> float:
        """Return the time that was set."""
        return self.time

    def monotonic(self) -> float:
        """Return the same."""
        return self.time
