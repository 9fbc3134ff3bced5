"""Conversation: one entity's journal, its snapshot and its transcript, kept in step.

Every change of an entity's mind goes through `append`: it stands on disk before it counts, and
whatever waits for that (acknowledgements to the bus) is let go right after.
"""

from collections.abc import Callable
from pathlib import Path

from agiraph.agent.records import RECORD, ConversationRecord, Noted
from agiraph.agent.transcript import FOLD, TRANSCRIPT, Transcript
from agiraph.storage.journal import Journal, read_tail
from agiraph.storage.snapshot import Snapshots, beside


class Conversation:
    """The only place where an entity's conversation changes."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` and fold it. Raises Corrupt, OSError."""
        self.path = path
        self._snapshots = Snapshots(beside(path), TRANSCRIPT, FOLD)
        self._when_recorded: list[Callable[[], None]] = []
        known = self._snapshots.load()
        self._journal = Journal(path, since=known[0] if known else None)
        self.transcript = known[1] if known and self._journal.since else Transcript()
        for record in self._journal.records:
            self.transcript.apply(RECORD.validate_python(record))
        self._journal.records = []

    def when_recorded(self, act: Callable[[], None]) -> None:
        """Do `act` right after the next append: its cause is then safe on disk."""
        self._when_recorded.append(act)

    def append(self, *records: ConversationRecord) -> None:
        """Put records on disk in one piece, take them in, then let go what waited for that."""
        self._journal.append(*(RECORD.dump_python(record, mode="json") for record in records))
        for record in records:
            self.transcript.apply(record)
        waiting, self._when_recorded = self._when_recorded, []
        for act in waiting:
            act()
        self._snapshots.keep_if_due(self._journal.mark, self.transcript)

    def lately(self, most: int) -> list[tuple[int, ConversationRecord]]:
        """Return the last records that are at hand, each with its position, the oldest first."""
        records = [RECORD.validate_python(record) for record in read_tail(self.path)[-most:]]
        steps = [one for one in records if not (isinstance(one, Noted) and one.what == "away")]
        first = self.transcript.position - len(steps) + 1
        return list(enumerate(steps, start=first))

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
