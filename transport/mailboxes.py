"""Mailboxes: the durable messages that wait at the router until their receiver says done.

Rules, which every implementation keeps:

- a message is known by (address, id); one that waits, or was done among the last KNOWN_DONE, is a
  duplicate and is not taken again;
- `undone` gives what waits in the order of arrival;
- a mailbox is bounded in messages and bytes; what does not fit is refused, never dropped;
- nothing is promised before `commit` returns: the router accepts a batch, commits once, and only
  then acknowledges and delivers.
"""

from bisect import bisect_right
from collections import OrderedDict
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, Protocol

MAX_MESSAGES = 10_000
MAX_BYTES = 64 * 1024 * 1024
KNOWN_DONE = 100_000
COMPACT_FROM = 512

DUPLICATE = 0
FULL = -1


class Stored(NamedTuple):
    """A message that waits. `position` grows with arrival, over all mailboxes, from 1."""

    position: int
    id: bytes
    blob: bytes


class Mailboxes(Protocol):
    """What the switch needs of a store of messages."""

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        ...

    def undone(self, address: str, limit: int, after: int = 0) -> list[Stored]:
        """Return at most `limit` waiting messages behind position `after`, oldest first."""
        ...

    def done(self, address: str, id: bytes) -> bool:
        """Take a message out for good; False if it did not wait there."""
        ...

    def commit(self) -> None:
        """Make everything since the last commit survive what this store survives."""
        ...

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return (messages, bytes) waiting, for each address that has any."""
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
        self._known_done = known_done
        self._position = 0
        self._boxes: dict[str, _Box] = {}
        self._done: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        box = self._boxes.get(address)
        if box is None:
            box = self._boxes[address] = _Box()
        if id in box.waiting or (address, id) in self._done:
            return DUPLICATE
        if len(box.waiting) >= self._max_messages or box.size + len(blob) > self._max_bytes:
            return FULL
        self._position += 1
        box.put(Stored(self._position, id, blob))
        return self._position

    def undone(self, address: str, limit: int, after: int = 0) -> list[Stored]:
        """Return at most `limit` waiting messages behind position `after`, oldest first."""
        box = self._boxes.get(address)
        return box.following(limit, after) if box is not None else []

    def done(self, address: str, id: bytes) -> bool:
        """Take a message out for good; False if it did not wait there."""
        box = self._boxes.get(address)
        if box is None or not box.take(id):
            return False
        self._done[address, id] = None
        if len(self._done) > self._known_done:
            self._done.popitem(last=False)
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


class _Box:
    """What waits for one address. `_order` has ids by position, taken ones too for a while.

    A dict alone would do, were it not that a dict emptied from its front is walked from where its
    front once was.
    """

    __slots__ = ("_order", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[bytes, Stored] = {}
        self.size = 0
        self._order: list[tuple[int, bytes]] = []

    def put(self, stored: Stored) -> None:
        """Append a message that is not there."""
        self.waiting[stored.id] = stored
        self.size += len(stored.blob)
        self._order.append((stored.position, stored.id))

    def take(self, id: bytes) -> bool:
        """Take a message out; False if it is not there."""
        stored = self.waiting.pop(id, None)
        if stored is None:
            return False
        self.size -= len(stored.blob)
        if len(self._order) > COMPACT_FROM and len(self._order) > 2 * len(self.waiting):
            self._order = [entry for entry in self._order if entry[1] in self.waiting]
        return True

    def following(self, limit: int, after: int) -> list[Stored]:
        """Return at most `limit` messages behind a position."""
        found: list[Stored] = []
        start = bisect_right(self._order, after, key=itemgetter(0))
        for _, id_ in islice(self._order, start, None):
            if len(found) >= limit:
                break
            stored = self.waiting.get(id_)
            if stored is not None:
                found.append(stored)
        return found
