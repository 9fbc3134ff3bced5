"""Mailboxes: the durable messages that wait at the router until they are done.

- A message is identified by (address, id); a message that waits, or was done among the last
  KNOWN_DONE, is a duplicate and is not stored again.
- `undone` returns the waiting messages in the order of arrival.
- A mailbox has limits of messages and bytes; messages beyond them are refused, never dropped.
- Nothing is promised before `commit` returns: the router accepts a batch, commits once, and only
  then acknowledges and delivers. A commit that fails takes the whole batch back.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

MAX_MESSAGES = 10_000
MAX_BYTES = 64 * 1024 * 1024
KNOWN_DONE = 100_000
COMPACT_FROM = 512

DUPLICATE = 0
FULL = -1


class StoredMessage(NamedTuple):
    """A waiting message. `position` increases with arrival, over all mailboxes, from 1."""

    position: int
    id: bytes
    blob: bytes


class RecentIds:
    """The last `limit` added keys, each of an address and an id; the oldest is dropped first."""

    def __init__(self, limit: int, keys: Iterable[bytes] = ()) -> None:
        self._limit = limit
        self._order = deque(keys, maxlen=limit + 1)
        if len(self._order) > limit:
            self._order.popleft()
        self._keys = set(self._order)

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Remember a new message."""
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > self._limit:
            self._keys.discard(self._order.popleft())


class MailboxEntry(NamedTuple):
    """A waiting message: its position, the length of its blob, and the blob if it is in memory."""

    position: int
    size: int
    blob: bytes | None


class Mailbox:
    """The waiting messages of one address, in order.

    `_order` has ids by position, for a while also removed ones: iteration over a dict whose front
    was removed starts at its original front.
    """

    __slots__ = ("_order", "size", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[bytes, MailboxEntry] = {}
        self.size = 0
        self._order: list[tuple[int, bytes]] = []

    def put(self, position: int, id: bytes, size: int, blob: bytes | None) -> None:
        """Append a message that is not in the mailbox."""
        self.waiting[id] = MailboxEntry(position, size, blob)
        self.size += size
        self._order.append((position, id))

    def take(self, id: bytes) -> MailboxEntry | None:
        """Remove and return a message; None if it is not in the mailbox."""
        entry = self.waiting.pop(id, None)
        if entry is None:
            return None
        self.size -= entry.size
        if len(self._order) > COMPACT_FROM and len(self._order) > 2 * len(self.waiting):
            self._order = [known for known in self._order if known[1] in self.waiting]
        return entry

    def following(self, limit: int, after: int) -> list[tuple[bytes, MailboxEntry]]:
        """Return id and entry of at most `limit` messages after a position, oldest first."""
        found: list[tuple[bytes, MailboxEntry]] = []
        start = bisect_right(self._order, after, key=itemgetter(0))
        for position, id_ in islice(self._order, start, None):
            if len(found) >= limit:
                break
            entry = self.waiting.get(id_)
            # An id that was taken back and arrived again is twice in the order, but waits once.
            if entry is not None and entry.position == position:
                found.append((id_, entry))
        return found


class Mailboxes:
    """Mailboxes in memory, which end with the process."""

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
        self._known = RecentIds(known_done)
        self.incarnations: dict[str, int] = {}
        """The highest recorded incarnation of each address that has said hello."""

    def note_incarnation(self, address: str, incarnation: int) -> None:
        """Record the highest incarnation of an address; as durable as the done messages."""
        self.incarnations[address] = incarnation

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        box = self._boxes.get(address)
        if box is None:
            box = self._boxes[address] = Mailbox()
        if id in box.waiting or self._key(address, id) in self._known:
            return DUPLICATE
        size = len(blob)
        if len(box.waiting) >= self._max_messages or box.size + size > self._max_bytes:
            return FULL
        self._position += 1
        box.put(self._position, id, size, blob)
        return self._position

    def undone(self, address: str, limit: int, after: int = 0) -> list[StoredMessage]:
        """Return at most `limit` waiting messages after position `after`, oldest first."""
        box = self._boxes.get(address)
        if box is None:
            return []
        return [
            StoredMessage(position, id_, self._read(position) if blob is None else blob)
            for id_, (position, _, blob) in box.following(limit, after)
        ]

    def done(self, address: str, id: bytes) -> bool:
        """Remove a message permanently; False if it is not in the mailbox."""
        if self._take(address, id) is None:
            return False
        self._known.add(self._key(address, id))
        return True

    def commit(self) -> None:
        """Make all changes since the last commit survive the death of any process, if supported.

        Raises NotStored, which names the messages that were taken back: they wait in no mailbox.
        """

    def sync(self) -> None:
        """Wait until the commits have the durability that these mailboxes offer. Raises OSError."""

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return (messages, bytes) waiting, for each address with messages."""
        return {
            address: (len(box.waiting), box.size)
            for address, box in self._boxes.items()
            if box.waiting
        }

    def discard(self, address: str) -> int:
        """Discard the messages of an address that no longer exists; return their number."""
        ids = list(self._boxes[address].waiting) if address in self._boxes else []
        for id_ in ids:
            self._take(address, id_)
        self._boxes.pop(address, None)
        return len(ids)

    def _key(self, address: str, id: bytes) -> bytes:
        """Return the key of a message among the done messages."""
        return address.encode() + id

    def _take(self, address: str, id: bytes) -> MailboxEntry | None:
        """Remove a message from its mailbox and return it; None if it is not in the mailbox."""
        box = self._boxes.get(address)
        return None if box is None else box.take(id)

    def _read(self, position: int) -> bytes:
        """Return a blob that is not in memory."""
        raise LookupError(f"no message at {position}")
