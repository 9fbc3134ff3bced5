"""The two clocks: wall time for records, monotonic time for deadlines."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of the time; tests pass one that stands still."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards, for deadlines."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return the kernel's monotonic seconds."""
        return time.monotonic()


def iso_date(ts: float) -> str:
    """Return the date of a Unix time, in UTC: 2026-11-22."""
    return datetime.fromtimestamp(ts, UTC).date().isoformat()


def iso(ts: float) -> str:
    """Return an epoch time as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(ts, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
