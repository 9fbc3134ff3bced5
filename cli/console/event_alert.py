"""The event alert: rings for each event of an agent that may have brought something for
the person."""

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from agiraph.core.errors import AgiraphError
from agiraph.http.event_follower import EventFollower

FOLLOW_SECONDS: Final = 0.5
RINGING: Final = ("message.", "human.", "agent.")


class EventAlert:
    """Follows an agent's events in a thread of its own, and sets `rung` when one may matter."""

    def __init__(self, follow: Callable[[int], EventFollower]) -> None:
        """Follow with `follow(after)`, which is called in the thread."""
        self.rung = asyncio.Event()
        self._follow = follow
        self._seq = 0
        self._is_over = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._listen, name="events", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """Stop following; returns within a second."""
        self._is_over.set()
        self._thread.join(timeout=2 * FOLLOW_SECONDS)

    def _listen(self) -> None:
        while not self._is_over.is_set():
            try:
                with self._follow(self._seq) as follower:
                    self._hear(follower)
            except AgiraphError:
                # The gateway is away; whoever looks at it next finds out and says so.
                self._is_over.wait(FOLLOW_SECONDS)

    def _hear(self, follower: EventFollower) -> None:
        while not self._is_over.is_set():
            event = follower.next(FOLLOW_SECONDS)
            if event is None:
                continue
            self._seq = event.seq
            if event.type.startswith(RINGING):
                self._loop.call_soon_threadsafe(self.rung.set)
