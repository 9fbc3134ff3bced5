"""Mailboxes: the durable messages that wait at the router until their receiver says done.

Rules, which every implementation keeps:

- a message is known by (address, id); one that waits, or was done among the last KNOWN_DONE, is a
  duplicate and is not taken again;
- `undone` gives what waits in the order of arrival;
- a mailbox is bounded in messages and bytes; what does not fit is refused, never dropped;
- nothing is promised before `commit` returns: the router accepts a batch, commits once, and only
  then acknowledges and delivers. A commit that fails takes the whole batch back.
"""

from typing import NamedTuple, Protocol

from transport.mailbox import Mailbox, RecentIds

MAX_MESSAGES = 10_000
MAX_BYTES = 64 * 1024 * 1024
KNOWN_DONE = 100_000

DUPLICATE = 0
FULL = -1


class StoredMessage(NamedTuple):
    """A message that waits. `position` grows with arrival, over all mailboxes, from 1."""

    position: int
    id: bytes
    blob: bytes


class Mailboxes(Protocol):
    """What the switch needs of a store of messages."""

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        ...

    def undone(self, address: str, limit: int, after: int = 0) -> list[StoredMessage]:
        """Return at most `limit` waiting messages behind position `after`, oldest first."""
        ...

    def done(self, address: str, id: bytes) -> bool:
        """Take a message out for good; False if it did not wait there."""
        ...

    def commit(self) -> None:
        """Make everything since the last commit survive what this store survives.

        Raises NotStored, which names the messages that were taken back: none of them waits now.
        """
        ...

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return (messages, bytes) waiting, for each address that has any."""
        ...

    def discard(self, address: str) -> int:
        """Throw away what waits for an address that is no more; return how many it were."""
        ...


class MemoryMailboxes:
    """Mailboxes that live as long as the router's process."""

    def __init__(
        self,
        max_messages: int = MAX_MESSAGES,
        max_bytes: int = MAX_BYTES,
        known_done: int = KNOWN_DONE,
    ) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._position = 0
        self._boxes: dict[str, Mailbox] = {}
        self._known: RecentIds[tuple[str, bytes]] = RecentIds(known_done)

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        box = self._boxes.get(address)
        if box is None:
            box = self._boxes[address] = Mailbox()
        if id in box.waiting or (address, id) in self._known:
            return DUPLICATE
        size = len(blob)
        if len(box.waiting) >= self._max_messages or box.size + size > self._max_bytes:
            return FULL
        self._position += 1
        box.put(self._position, id, size, blob)
        return self._position

    def undone(self, address: str, limit: int, after: int = 0) -> list[StoredMessage]:
        """Return at most `limit` waiting messages behind position `after`, oldest first."""
        box = self._boxes.get(address)
        if box is None:
            return []
        following = box.following(limit, after)
        return [StoredMessage(entry.position, id_, entry.blob or b"") for id_, entry in following]

    def done(self, address: str, id: bytes) -> bool:
        """Take a message out for good; False if it did not wait there."""
        box = self._boxes.get(address)
        if box is None or box.take(id) is None:
            return False
        self._known.add((address, id))
        return True

    def commit(self) -> None:
        """Do nothing: memory is as safe as it gets."""

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return (messages, bytes) waiting, for each address that has any."""
        return {
            address: (len(box.waiting), box.size)
            for address, box in self._boxes.items()
            if box.waiting
        }

    def discard(self, address: str) -> int:
        """Throw away what waits for an address that is no more; return how many it were."""
        box = self._boxes.pop(address, None)
        return len(box.waiting) if box is not None else 0
