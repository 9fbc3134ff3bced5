"""DeadlockDetector: whether a ring of nodes that wait for each other stands for good."""

from typing import Final

from agiraph.core.models import Event
from agiraph.sdk.events import DeadlockNoticed

STANDS_SECONDS: Final = 5.0
MOVES: Final = {f"node.{how}" for how in ("started", "completed", "failed", "cancelled", "moved")}
"""What becomes of a node of a ring that is broken."""


class DeadlockDetector:
    """Follows the events of a run. `ring` is what was noticed last and not broken since.

    The coordinator is told of a ring and may break it. It stands for good if the coordinator has
    chosen to wait since, no node beside the ring is worked on, and nothing happens any more.
    """

    def __init__(self) -> None:
        self.ring: DeadlockNoticed | None = None
        self._running: set[str] = set()
        self._waits = False
        self._last_at = 0.0

    def see(self, event: Event, shown: object, now: float) -> None:
        """Take an event, and what a stream shows of it, at a monotonic time in seconds."""
        self._last_at = now
        name = str(event.data.get("name") or "")
        if event.type == "node.started":
            self._running.add(name)
        elif event.type in MOVES:
            self._running.discard(name)
        if isinstance(shown, DeadlockNoticed):
            self.ring, self._waits = shown, False
        elif self.ring and event.type in MOVES and name in self.ring.ring:
            self.ring = None
        if event.entity == "coordinator" and event.type in ("tool.called", "tool.result"):
            self._waits = event.type == "tool.called" and event.data.get("tool") == "wait"

    def stands(self, now: float) -> bool:
        """Whether the ring will stand for ever, as far as can be told from outside."""
        if self.ring is None or not self._waits or now - self._last_at < STANDS_SECONDS:
            return False
        return self._running <= {*self.ring.ring}
