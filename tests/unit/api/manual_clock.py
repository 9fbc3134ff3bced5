"""A clock that a test turns by hand."""


class ManualClock:
    """Wall time and monotonic time that stand still until they are turned."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.time = now

    def now(self) -> float:
        """Return the time that was set."""
        return self.time

    def monotonic(self) -> float:
        """Return the same."""
        return self.time
