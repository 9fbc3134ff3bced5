"""Time: a wall clock for records, a monotonic clock for deadlines, and durations as text.

People, models and settings write a duration as `90`, `30s`, `5m`, `1h30m` or `2d`.
"""

import math
import re
import time
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from agiraph.core.errors import InvalidInput


class Clock(Protocol):
    """A source of the time; tests use one with a fixed time."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards, for deadlines."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return the monotonic time of the kernel, in seconds."""
        return time.monotonic()


def iso_date(ts: float) -> str:
    """Return the UTC date of a Unix time, for example 2026-11-22."""
    return datetime.fromtimestamp(ts, UTC).date().isoformat()


def iso(ts: float) -> str:
    """Return an epoch time as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(ts, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


LEAST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 10 * 366 * 86400.0
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def seconds_of(value: Any, what: str, *, least: float = LEAST_SECONDS) -> float:
    """Return a duration in seconds, given as a number or as text with units.

    Raises InvalidInput if it is shorter than `least` seconds or longer than ten years. The error
    message names the value with `what`.
    """
    seconds = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(value, str):
        seconds = _seconds_in(value)
    if seconds is None or not math.isfinite(seconds):
        raise InvalidInput(f"{what} '{value}' is no length of time (as 90, 30s, 5m, 1h30m, 2d)")
    if not least <= seconds <= MOST_SECONDS:
        unit = "second" if least == 1 else "seconds"
        raise InvalidInput(f"{what} must be between {least:g} {unit} and ten years, not {value}")
    return float(seconds)


def _seconds_in(text: str) -> float | None:
    text = text.strip().lower()
    try:
        return float(text)
    except ValueError:
        pass  # it has units
    if not text or PART.sub("", text).strip():
        return None
    return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
