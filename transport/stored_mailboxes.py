"""Mailboxes that survive the router: an index in memory, all messages in a file, a write per batch.

`accept`, `done` and `undone` change memory alone; `commit` writes their changes as one transaction,
`sync` waits for the disk. Blobs stay in memory while there is room for them, so that the common
message is never read back from the disk.
"""

from pathlib import Path

from transport.errors import NotStored
from transport.mailbox_file import Durability, Log, MailboxBatch, MailboxFile
from transport.mailboxes import (
    KNOWN_DONE,
    MAX_BYTES,
    MAX_MESSAGES,
    Mailbox,
    MailboxEntry,
    Mailboxes,
    RecentIds,
)

MEMORY_BYTES = 32 * 1024 * 1024


class StoredMailboxes(Mailboxes):
    """Mailboxes in the file at `path`; `log` is called with lines for the operator.

    Raises StoreRefused, NotStored when the file cannot be opened.
    """

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
        super().__init__(max_messages, max_bytes, known_done)
        self._memory_bytes = memory_bytes
        self._log = log
        self._file = MailboxFile(path, durability, known_done, log)
        self._in_memory = 0
        self._batch = MailboxBatch()
        self._is_full = False
        for position, address, id_, size in self._file.waiting():
            self._boxes.setdefault(address, Mailbox()).put(position, id_, size, None)
            self._position = position
        self._known = RecentIds(known_done, self._file.done())
        self.incarnations = self._file.incarnations()

    def note_incarnation(self, address: str, incarnation: int) -> None:
        """Record the highest incarnation of an address; the next commit writes it."""
        super().note_incarnation(address, incarnation)
        self._batch.incarnations[address] = incarnation

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        """Put a message into a mailbox: return its position (>= 1), DUPLICATE or FULL."""
        position = super().accept(address, id, blob)
        if position > 0:
            self._in_memory += len(blob)
            self._batch.accepted[position] = (position, address, id, blob)
        return position

    def done(self, address: str, id: bytes) -> bool:
        """Remove a message permanently; False if it is not in the mailbox."""
        is_taken = super().done(address, id)
        if is_taken:
            self._batch.done.append(self._key(address, id))
        return is_taken

    def commit(self) -> None:
        """Write everything since the last commit, or raise NotStored.

        Then the messages accepted since are taken back; messages done since stay done, and are
        written with the next commit that succeeds.
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

    def sync(self) -> None:
        """Wait until the commits are on disk, if the durability is `full`. Raises OSError."""
        self._file.sync()

    def close(self) -> None:
        """Close the file. Uncommitted changes are lost."""
        self._file.close()

    def _key(self, address: str, id: bytes) -> bytes:
        return self._file.key(address, id)

    def _read(self, position: int) -> bytes:
        return self._file.blob(position)

    def _take(self, address: str, id: bytes) -> MailboxEntry | None:
        """Remove a message, and from the file with the next commit; return it, None if missing."""
        entry = super()._take(address, id)
        if entry is None:
            return None
        if entry.blob is not None:
            self._in_memory -= entry.size
        # A message that arrived and left within a batch never gets to the file.
        if self._batch.accepted.pop(entry.position, None) is None:
            self._batch.taken.append(entry.position)
        return entry

    def _take_back(self, batch: MailboxBatch) -> frozenset[tuple[str, bytes]]:
        for _, address, id_, blob in batch.accepted.values():
            self._boxes[address].take(id_)
            self._in_memory -= len(blob)
        taken_back = frozenset((address, id_) for _, address, id_, _ in batch.accepted.values())
        batch.accepted = {}
        return taken_back

    def _spill(self, batch: MailboxBatch) -> None:
        """Drop from memory the blobs that were just written to the file."""
        for position, address, id_, blob in batch.accepted.values():
            self._boxes[address].waiting[id_] = MailboxEntry(position, len(blob), None)
            self._in_memory -= len(blob)

    def _warn_full(self, detail: str) -> None:
        """Log that nothing can be written, once until a write succeeds again."""
        if not self._is_full:
            self._log(f"{detail}; senders are refused until there is room")
        self._is_full = True
