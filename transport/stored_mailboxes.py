"""Mailboxes that outlive the router: an index in memory, everything in a file, a write a batch.

`accept`, `done` and `undone` touch memory alone; `commit` writes what they changed as one
transaction. Blobs stay in memory while there is room for them, so that the common message is never
read back from the disk.
"""

from pathlib import Path

from transport.errors import NotStored
from transport.mailbox import Mailbox, MailboxEntry, RecentIds
from transport.mailbox_file import Durability, Log, MailboxBatch, MailboxFile
from transport.mailboxes import DUPLICATE, FULL, KNOWN_DONE, MAX_BYTES, MAX_MESSAGES, StoredMessage

MEMORY_BYTES = 32 * 1024 * 1024


class StoredMailboxes:
    """Mailboxes in the file at `path`. `log` is told what a person should know."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "full",
        log: Log = print,
        max_messages: int = MAX_MESSAGES,
        max_bytes: int = MAX_BYTES,
        known_done: int = KNOWN_DONE,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        """Open or make the file and read what waits; raises StoreRefused, NotStored."""
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._memory_bytes = memory_bytes
        self._log = log
        self._file = MailboxFile(path, durability, known_done, log)
        self._boxes: dict[str, Mailbox] = {}
        self._position = 0
        self._in_memory = 0
        self._batch = MailboxBatch()
        self._is_full = False
        for position, address, id_, size in self._file.waiting():
            self._box(address).put(position, id_, size, None)
            self._position = position
        self._known = RecentIds(known_done, self._file.done())

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        box = self._boxes.get(address) or self._box(address)
        if id in box.waiting or self._file.key(address, id) in self._known:
            return DUPLICATE
        size = len(blob)
        if len(box.waiting) >= self._max_messages or box.size + size > self._max_bytes:
            return FULL
        self._position = position = self._position + 1
        box.put(position, id, size, blob)
        self._in_memory += size
        self._batch.accepted[position] = (position, address, id, blob)
        return position

    def undone(self, address: str, limit: int, after: int = 0) -> list[StoredMessage]:
        """Return at most `limit` waiting messages behind position `after`, oldest first."""
        box = self._boxes.get(address)
        if box is None:
            return []
        return [
            StoredMessage(position, id_, self._file.blob(position) if blob is None else blob)
            for id_, (position, _, blob) in box.following(limit, after)
        ]

    def done(self, address: str, id: bytes) -> bool:
        """Take a message out for good; False if it did not wait there."""
        if not self._take(address, id):
            return False
        key = self._file.key(address, id)
        self._known.add(key)
        self._batch.done.append(key)
        return True

    def commit(self) -> None:
        """Write everything since the last commit, or raise NotStored.

        Then what was accepted since is taken back; what was done since stays so, and is written
        with the next commit that succeeds.
        """
        batch = self._batch
        if not batch:
            return
        try:
            self._file.write(batch)
        except NotStored as error:
            self._warn_full(str(error))
            raise NotStored(str(error), self._take_back(batch)) from None
        self._is_full = False
        self._batch = MailboxBatch()
        if self._in_memory > self._memory_bytes:
            self._spill(batch)

    def depths(self) -> dict[str, tuple[int, int]]:
        """Return (messages, bytes) waiting, for each address that has any."""
        return {
            address: (len(box.waiting), box.size)
            for address, box in self._boxes.items()
            if box.waiting
        }

    def discard(self, address: str) -> int:
        """Throw away what waits for an address that is no more; return how many it were."""
        box = self._boxes.get(address)
        ids = list(box.waiting) if box is not None else []
        for id_ in ids:
            self._take(address, id_)
        self._boxes.pop(address, None)
        return len(ids)

    def close(self) -> None:
        """Close the file. What was not committed is lost."""
        self._file.close()

    # --- inside ---------------------------------------------------------------------------------

    def _box(self, address: str) -> Mailbox:
        box = self._boxes.get(address)
        if box is None:
            box = self._boxes[address] = Mailbox()
        return box

    def _take(self, address: str, id_: bytes) -> bool:
        """Take a message out of its box, and out of the file with the next commit."""
        box = self._boxes.get(address)
        entry = box.take(id_) if box is not None else None
        if entry is None:
            return False
        if entry.blob is not None:
            self._in_memory -= entry.size
        # One that came and went within a batch never gets to the file.
        if self._batch.accepted.pop(entry.position, None) is None:
            self._batch.taken.append(entry.position)
        return True

    def _take_back(self, batch: MailboxBatch) -> frozenset[tuple[str, bytes]]:
        for _, address, id_, blob in batch.accepted.values():
            self._boxes[address].take(id_)
            self._in_memory -= len(blob)
        taken_back = frozenset((address, id_) for _, address, id_, _ in batch.accepted.values())
        batch.accepted = {}
        return taken_back

    def _spill(self, batch: MailboxBatch) -> None:
        """Leave what was just written to the file alone."""
        for position, address, id_, blob in batch.accepted.values():
            self._boxes[address].waiting[id_] = MailboxEntry(position, len(blob), None)
            self._in_memory -= len(blob)

    def _warn_full(self, detail: str) -> None:
        """Log that nothing can be written, once until something could be again."""
        if not self._is_full:
            self._log(f"{detail}; senders are refused until there is room")
        self._is_full = True
