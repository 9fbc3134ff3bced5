"""MessageQueue: messages from the bus that wait until the actor receives them."""

from collections import deque

from agiraph.core.concurrency import Signal
from transport.endpoint import Received
from transport.envelope import Flag

PASSING_LIMIT = 4096


class MessageQueue:
    """Received messages that wait for `serve`.

    All durable messages are kept (the router limits how many are unacknowledged at once); of the
    passing messages the oldest are dropped.
    """

    def __init__(self) -> None:
        self._items: deque[Received] = deque()
        self._passing = 0
        self._arrived = Signal()
        self.dropped = 0
        self.is_idle = False
        """Whether the queue is empty and the actor has finished the last message."""

    def put(self, received: Received) -> None:
        """Add a message."""
        self.is_idle = False
        self._items.append(received)
        if not is_durable(received):
            self._passing += 1
            if self._passing > PASSING_LIMIT:
                self._drop_oldest_passing()
        self._arrived.set()

    def put_back(self, received: Received) -> None:
        """Put a received message back, before all others."""
        self._items.appendleft(received)
        self._passing += not is_durable(received)
        self._arrived.set()

    async def get(self) -> Received:
        """Return the next message in order of arrival; wait if there is none."""
        self.is_idle = not self._items
        try:
            await self._arrived.until(lambda: bool(self._items))
        finally:
            self.is_idle = False
        received = self._items.popleft()
        if not is_durable(received):
            self._passing -= 1
        return received

    def _drop_oldest_passing(self) -> None:
        oldest = next(item for item in self._items if not is_durable(item))
        self._items.remove(oldest)
        self._passing -= 1
        self.dropped += 1


def is_durable(received: Received) -> bool:
    """Whether the router keeps this message until it is acknowledged."""
    return bool(received.header.flags & Flag.DURABLE)
