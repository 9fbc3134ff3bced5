"""Conversation: one entity's journal and its transcript, kept in step.

Every change of an entity's mind goes through `append`: it stands on disk before it counts, and
whatever waits for that (acknowledgements to the bus) is let go right after.
"""

from collections.abc import Callable
from pathlib import Path

from agiraph.agent.records import RECORD, ConversationRecord
from agiraph.agent.transcript import Transcript
from agiraph.journal import Journal


class Conversation:
    """The only place where an entity's conversation changes."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` and fold it. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        self._when_recorded: list[Callable[[], None]] = []
        self.transcript = Transcript.fold(
            RECORD.validate_python(record) for record in self._journal.records
        )

    def when_recorded(self, act: Callable[[], None]) -> None:
        """Do `act` right after the next append: its cause is then safe on disk."""
        self._when_recorded.append(act)

    def append(self, record: ConversationRecord) -> None:
        """Put a record on disk, then take it into the transcript, then let go what waited."""
        self._journal.append(RECORD.dump_python(record, mode="json", exclude_defaults=False))
        self.transcript.apply(record)
        waiting, self._when_recorded = self._when_recorded, []
        for act in waiting:
            act()

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
