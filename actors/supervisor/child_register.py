"""The child register: the table of children on disk; every change is written before it is acted on.

What only notes what has happened is owed to the file while the disk is full: it counts at once, and
is written with the next change that can be.
"""

from collections.abc import Sequence
from pathlib import Path

from actors.supervisor.registered_children import (
    ChildDeclared,
    ChildForgotten,
    DesiredStateSet,
    IncarnationAssigned,
    RegisteredChildren,
    TableEvent,
    apply,
    compacted,
    fold,
    to_record,
)
from agiraph.messages import ChildSpec
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import replace_file
from agiraph.storage.journal import Journal, JsonObject, encode_record

SLACK_RECORDS = 256


class ChildRegister:
    """The one writer of `system/children.journal`."""

    def __init__(self, path: Path) -> None:
        """Open and fold the journal, rewriting one that has grown; raises Corrupt, ValueError."""
        self._journal = Journal(path)
        self._owed: list[JsonObject] = []
        self.table: RegisteredChildren = fold(self._journal.records)
        short = compacted(self.table)
        if self._journal.count > 2 * len(short) + SLACK_RECORDS:
            self._journal.close()
            replace_file(path, b"".join(encode_record(record) for record in short).decode())
            self._journal = Journal(path)

    def write(self, *events: TableEvent) -> None:
        """Write events and what is owed down, then let them count. Raises OSError: they do not."""
        self._journal.append(*self._owed, *(to_record(event) for event in events))
        self._owed.clear()
        self._count(events)

    def note(self, event: TableEvent) -> None:
        """Let an event count, and write it down as soon as the disk has room for it."""
        self._count([event])
        self._owed.append(to_record(event))
        try:
            self.write()
        except OSError as error:
            if not is_full_disk(error):
                raise

    def _count(self, events: Sequence[TableEvent]) -> None:
        for event in events:
            self.table = apply(self.table, event)

    def declare(self, spec: ChildSpec) -> None:
        """Note that a child is wanted; nothing is written if that stands already."""
        row = self.table.rows.get(spec.address)
        if row is None or row.spec != spec or row.desired != "running":
            self.write(ChildDeclared(spec=spec))

    def allot(self, address: str) -> int:
        """Return the next incarnation of an address; it is never given out again."""
        number = self.table.next_incarnation(address)
        self.write(IncarnationAssigned(address=address, incarnation=number))
        return number

    def rest(self, event: DesiredStateSet) -> None:
        """Note what became of a child, if it is one that is remembered."""
        if event.address in self.table.rows:
            self.note(event)

    def forget(self, address: str) -> None:
        """Drop a child; its incarnation number stays."""
        if address in self.table.rows:
            self.note(ChildForgotten(address=address))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
