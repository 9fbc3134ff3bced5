"""The journal of the delivery queue; its file is created with the first record."""

from pathlib import Path
from typing import Any

from agiraph.core.errors import Corrupt
from agiraph.notifications.delivery_queue import DeliveryQueue
from agiraph.storage.files import replace_bytes, status_of
from agiraph.storage.journal import Journal, encode_record

LONG = 2000
"""A journal of more records than this is compacted to one when it is opened."""


class DeliveryJournal:
    """A delivery queue on disk: a record is on disk when `write` returns.

    Raises Corrupt, OSError.
    """

    def __init__(self, path: Path) -> None:
        self.queue = DeliveryQueue()
        self._path = path
        self._journal: Journal | None = None
        if status_of(path) is not None:
            self._journal = self._opened()

    def _opened(self) -> Journal:
        journal = Journal(self._path)
        for number, record in enumerate(journal.records, start=1):
            try:
                self.queue.apply(record)
            except (KeyError, TypeError, ValueError) as error:
                journal.close()
                raise Corrupt(
                    f"{self._path}: record {number} is none of a channel ({error})"
                ) from error
        journal.records = []
        if journal.count <= LONG:
            return journal
        journal.close()
        replace_bytes(self._path, encode_record(self.queue.state()))
        return Journal(self._path)

    def write(self, record: dict[str, Any]) -> None:
        """Write a record to disk, then apply it."""
        if self._journal is None:
            self._journal = Journal(self._path)
        self._journal.append(record)
        self.queue.apply(record)

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
