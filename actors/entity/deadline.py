"""Deadline: a time limit that stands still while the entity waits for others."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager


class Deadline:
    """A limit in seconds; put `timer` round the work, `standing_still` round the waits.

    `was_told`: whether the one who works under it was told that it is near.
    """

    def __init__(self, seconds: float) -> None:
        """Allow `seconds` of the loop's time from now."""
        self._loop = asyncio.get_running_loop()
        self.timer = asyncio.timeout(seconds)
        self.was_told = False

    @property
    def remaining_seconds(self) -> float:
        """How much of it is left; infinite while it stands still."""
        ends_at = self.timer.when()
        return math.inf if ends_at is None else ends_at - self._loop.time()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop the clock inside this block."""
        ends_at = self.timer.when()
        if ends_at is None or self.timer.expired():
            yield
            return
        remaining = ends_at - self._loop.time()
        self.timer.reschedule(None)
        try:
            yield
        finally:
            if not self.timer.expired():
                self.timer.reschedule(self._loop.time() + max(0.0, remaining))
