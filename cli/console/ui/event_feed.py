"""The event feed: an agent's events, followed by a thread of their own, waiting to be shown.

It holds no more than MOST: when the screen is behind, the thread waits, and what comes meanwhile
waits in the log. The follower goes on from its cursor through every restart, so nothing is missed
and nothing comes twice.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from agiraph.core.errors import AgiraphError
from agiraph.core.models import Event
from agiraph.http.api import ApiError
from agiraph.http.event_follower import EventFollower

MOST: Final = 2000
TURN_SECONDS: Final = 0.25


class EventFeed:
    """Follows with `follow(after)`; `take` returns what came."""

    def __init__(self, follow: Callable[[int], EventFollower], after: int) -> None:
        """Follow from the event after `after` on, once started."""
        self._follow = follow
        self._seq = after
        self._events: deque[Event] = deque()
        self._changed = threading.Condition()
        self._is_over = False
        self.refusal: ApiError | None = None
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def take(self, most: int) -> tuple[Event, ...]:
        """Return up to `most` events that have come since; returns at once."""
        with self._changed:
            taken = tuple(self._events.popleft() for _ in range(min(most, len(self._events))))
            self._changed.notify_all()
        return taken

    def close(self) -> None:
        """Stop following; returns within a second."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=4 * TURN_SECONDS)

    def _run(self) -> None:
        while not self._is_over:
            try:
                with self._follow(self._seq) as follower:
                    self._hear(follower)
            except ApiError as error:
                self.refusal = error
                return
            except AgiraphError:
                with self._changed:  # the gateway is away: whoever asks it says so
                    self._changed.wait(TURN_SECONDS)

    def _hear(self, follower: EventFollower) -> None:
        while not self._is_over:
            event = follower.next(TURN_SECONDS)
            if event is None:
                continue
            with self._changed:
                while len(self._events) >= MOST and not self._is_over:
                    self._changed.wait(TURN_SECONDS)
                self._events.append(event)
                self._seq = event.seq
