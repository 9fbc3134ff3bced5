"""Snapshot: the state after the first N records of a journal, so that a long one opens fast.

A snapshot is only a shortcut: if it is lost, torn or of another shape, the state is folded from the
whole journal. It names its place in the journal (`journal.JournalPosition`), and has its own
checksums.
"""

import json
import zlib
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import waiting
from agiraph.storage.files import read_bytes, replace_bytes
from agiraph.storage.journal import JournalPosition, JsonObject, encode_record, split_records

S = TypeVar("S")

FEWEST_RECORDS = 1000
SHARE = 4
MOST_STATE = 1 << 30


def is_due(count: int, snapshot_count: int) -> bool:
    """Whether a journal of `count` records is worth a new snapshot.

    A snapshot is due when the journal has grown by a quarter since the last, so that all of them
    together cost a few times as much as the last one, and opening reads at most a fifth.
    """
    return count - snapshot_count >= max(FEWEST_RECORDS, snapshot_count // SHARE)


def beside(journal: Path) -> Path:
    """Return the path of a snapshot beside its journal, in a folder that only we write."""
    return journal.with_name(f"{journal.name}.snapshot")


class Snapshots(Generic[S]):
    """A journal's only snapshot, in a file that no command may write.

    `adapter` describes the state; `fold` is increased when the meaning of records changes.
    """

    def __init__(self, path: Path, adapter: TypeAdapter[S], fold: int) -> None:
        self.path = path
        self._adapter = adapter
        self._fold = fold
        self._count = 0

    def load(self) -> tuple[JournalPosition, S] | None:
        """Return the last stored state and its place, None if no valid one exists."""
        try:
            head, newline, state = read_bytes(self.path, MOST_STATE).partition(b"\n")
            (about,), _ = split_records(head + newline)
            mark = JournalPosition(about["count"], about["offset"], about["last"])
            if about != self._about(mark, state):
                return None
            loaded = self._adapter.validate_json(state)
        except (OSError, ValueError, KeyError, Corrupt):
            return None
        self._count = mark.count
        return mark, loaded

    def keep_if_due(self, mark: JournalPosition, state: S) -> None:
        """Write the state if the journal has grown enough since the last snapshot (`is_due`).

        `mark` is the position in the journal to which `state` belongs. A failed write is ignored.
        """
        if not is_due(mark.count, self._count):
            return
        data = self._adapter.dump_json(state)
        self._count = mark.count
        # A shortcut that cannot be written is no reason to stop or to wait.
        with suppress(OSError), waiting(None):
            replace_bytes(self.path, encode_record(self._about(mark, data)) + data)

    @cached_property
    def _shape(self) -> int:
        """A checksum of the state's JSON schema: a snapshot of another schema is not loaded."""
        shape = json.dumps(self._adapter.json_schema(mode="serialization"), sort_keys=True)
        return zlib.crc32(shape.encode())

    def _about(self, mark: JournalPosition, state: bytes) -> JsonObject:
        return {
            "count": mark.count,
            "offset": mark.offset,
            "last": mark.last,
            "fold": self._fold,
            "shape": self._shape,
            "state": zlib.crc32(state),
        }
