"""A mailbox: what waits for one address, in order, as the router's memory knows it.

A blob may be left out (None) when it can be read from a file instead.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterable
from itertools import islice
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class RecentIds(Generic[K]):
    """The last `limit` keys of an address and an id, oldest forgotten first."""

    def __init__(self, limit: int, keys: Iterable[K] = ()) -> None:
        self._limit = limit
        self._order = deque(keys, maxlen=limit + 1)
        if len(self._order) > limit:
            self._order.popleft()
        self._keys = set(self._order)

    def __contains__(self, key: K) -> bool:
        return key in self._keys

    def add(self, key: K) -> None:
        """Remember a message that was not known."""
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > self._limit:
            self._keys.discard(self._order.popleft())


COMPACT_FROM = 512


class MailboxEntry(NamedTuple):
    """A message that waits: its position, the length of its blob, and the blob if it is here."""

    position: int
    size: int
    blob: bytes | None


class Mailbox:
    """What waits for one address. `_order` has ids by position, taken ones too for a while.

    A dict alone would do, were it not that a dict emptied from its front is walked from where its
    front once was.
    """

    __slots__ = ("_order", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[bytes, MailboxEntry] = {}
        self.size = 0
        self._order: list[tuple[int, bytes]] = []

    def put(self, position: int, id: bytes, size: int, blob: bytes | None) -> None:
        """Append a message that is not there."""
        self.waiting[id] = MailboxEntry(position, size, blob)
        self.size += size
        self._order.append((position, id))

    def take(self, id: bytes) -> MailboxEntry | None:
        """Take a message out; None if it is not there."""
        entry = self.waiting.pop(id, None)
        if entry is None:
            return None
        self.size -= entry.size
        if len(self._order) > COMPACT_FROM and len(self._order) > 2 * len(self.waiting):
            self._order = [known for known in self._order if known[1] in self.waiting]
        return entry

    def following(self, limit: int, after: int) -> list[tuple[bytes, MailboxEntry]]:
        """Return id and entry of at most `limit` messages behind a position, oldest first."""
        found: list[tuple[bytes, MailboxEntry]] = []
        start = bisect_right(self._order, after, key=itemgetter(0))
        for position, id_ in islice(self._order, start, None):
            if len(found) >= limit:
                break
            entry = self.waiting.get(id_)
            # An id that was taken back and came again stands twice in the order, waits once.
            if entry is not None and entry.position == position:
                found.append((id_, entry))
        return found
