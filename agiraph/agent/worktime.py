"""Work time: how long a worker has been at its node, folded from its conversation; pure.

A node's time begins when its worker starts on it, and continues through restarts of its process. It
stops while the worker is paused or waits for the person, and while it waits for other nodes, whose
own time runs then. It does not stop while the worker waits for a message. A time without any
process counts for a minute at most, so that a home that was down overnight misses no deadline; a
worker that waited for a message without a process counts for as long as it may wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agiraph.core.turns import ToolCall

AWAY_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 600.0
"""How long `wait` waits for a message, unless the call sets another time."""


@dataclass(frozen=True, slots=True)
class WorkTime:
    """The seconds worked so far, and the time of the last update, in seconds since the epoch."""

    seconds: float = 0.0
    seen_at: float | None = None

    def begun(self, now: float) -> "WorkTime":
        """Return the time of a node that its worker begins now."""
        return WorkTime(0.0, now)

    def at(self, now: float, *, is_waiting: bool, most: float | None = None) -> "WorkTime":
        """Return the work time updated to `now`: nothing is added if it `is_waiting`.

        Otherwise at most `most` seconds are added (None: all).
        """
        if self.seen_at is None:
            return self
        passed = 0.0 if is_waiting else max(0.0, now - self.seen_at)
        counted = passed if most is None else min(passed, most)
        return WorkTime(self.seconds + counted, max(now, self.seen_at))


def waits_for_others(running: Sequence[ToolCall], *, has_others: bool) -> bool:
    """Whether a running call waits for the person or for other nodes, so that the time stops.

    `has_others`: the worker has created sub-nodes, or has an open question to the person.
    """
    return any(_waits_for_others(call, has_others) for call in running)


def _waits_for_others(call: ToolCall, has_others: bool) -> bool:
    match call.name:
        case "ask_human":
            return True
        case "wait":
            return has_others or bool(call.arguments.get("nodes"))
        case "create_work_node":
            return bool(call.arguments.get("wait"))
        case _:
            return False


def longest_absence(running: Sequence[ToolCall]) -> float:
    """Return how many seconds without a process count as work at most, while these calls run."""
    waits = [call for call in running if call.name == "wait"]
    if not waits:
        return AWAY_SECONDS
    asked = waits[0].arguments.get("timeout_seconds")
    return float(asked) if isinstance(asked, int | float) else WAIT_SECONDS
