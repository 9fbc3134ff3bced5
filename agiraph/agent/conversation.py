"""Conversation: one entity's journal, its snapshot and its transcript, kept consistent.

Every change of an entity's state goes through `append`: it is synced to disk before it has effects,
and the actions that wait for that (acknowledgements to the bus) follow immediately. Records at the
start of a model call may be `write`n instead, and synced during the call.

A journal names its steps with a random epoch of its own, recorded in its first record. A journal
that lost its end (`agiraph.storage.journal`) begins another epoch with the next record: earlier
steps keep their names, and no later step has the name of a lost step. A journal that was written
before there were epochs begins one in the same way.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agiraph.agent.records import RECORD, ConversationEpochBegan, ConversationRecord, StateChanged
from agiraph.agent.transcript import FOLD, TRANSCRIPT, Transcript
from agiraph.core.ids import new_epoch, step_place
from agiraph.storage.journal import Journal, read_tail
from agiraph.storage.snapshot import Snapshots, beside


class Conversation:
    """The journal at `path`, folded: the only place where an entity's conversation changes.

    Raises Corrupt or OSError if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._snapshots = Snapshots(beside(path), TRANSCRIPT, FOLD)
        self._when_recorded: list[Callable[[], None]] = []
        self.when_settled: Callable[[], None] = lambda: None
        """Called whenever all records so far are synced to disk."""
        self.when_added: Callable[[str, ConversationRecord], None] = lambda _place, _record: None
        """Called with the place and the record of each added step."""
        known = self._snapshots.load()
        restored = RECORD.dump_python(StateChanged(what="restored", ts=time.time()), mode="json")
        self._journal = Journal(path, known[0] if known else None, if_damaged=restored)
        self.transcript = known[1] if known and self._journal.since else Transcript()
        for record in self._journal.records:
            self.transcript.apply(RECORD.validate_python(record))
        self._journal.records = []
        is_over = self.transcript.is_restored or not self.transcript.epoch
        self._epoch = new_epoch() if is_over else self.transcript.epoch

    def place(self, ahead: int) -> str:
        """Return the future name of the step that is `ahead` records after the last one."""
        return step_place(self._epoch, self.transcript.position + ahead)

    def begin_epoch(self, *records: ConversationRecord) -> None:
        """Append records in another epoch: the journal's end before them was lost."""
        if self._epoch == self.transcript.epoch:
            self._epoch = new_epoch()
        if records:
            self.append(*records)
        else:
            self._record((), self._journal.append)

    def when_recorded(self, act: Callable[[], None]) -> None:
        """Call `act` once, right after the next append or sync.

        The record that is the cause of `act` is then safe on disk.
        """
        self._when_recorded.append(act)

    def append(self, *records: ConversationRecord) -> None:
        """Write records to disk in one piece, apply them, then run the waiting actions."""
        self._record(records, self._journal.append)
        self._settled()

    def write(self, *records: ConversationRecord) -> None:
        """Write records in one piece and apply them; a power cut may lose them before `sync`."""
        self._record(records, self._journal.write)

    def sync(self) -> None:
        """Sync the written records to disk, then run the actions that waited for that."""
        if self._journal.is_behind:
            self._journal.sync()
            self._settled()

    def _record(self, records: Sequence[ConversationRecord], put: Callable[..., object]) -> None:
        before = self.transcript.epoch
        if before != self._epoch:
            ts = records[0].ts if records else time.time()
            began = ConversationEpochBegan(epoch=self._epoch, after=before, ts=ts)
            records = (began, *records)
        put(*(RECORD.dump_python(record, mode="json") for record in records))
        for record in records:
            self.transcript.apply(record)
            self.when_added(self.transcript.place, record)

    def _settled(self) -> None:
        self.when_settled()
        waiting, self._when_recorded = self._when_recorded, []
        for act in waiting:
            act()
        self._snapshots.keep_if_due(self._journal.mark, self.transcript)

    def lately(self, most: int) -> list[tuple[str, ConversationRecord]]:
        """Return the last steps, at most `most`, each with its name, the oldest first."""
        position, epoch = self.transcript.position, self.transcript.epoch
        steps: list[tuple[str, ConversationRecord]] = []
        for found in reversed(read_tail(self.path)[-most:]):
            record = RECORD.validate_python(found)
            if isinstance(record, ConversationEpochBegan):
                epoch = record.after
            elif not isinstance(record, StateChanged) or record.is_step:
                steps.append((step_place(epoch, position), record))
                position -= 1
        return steps[::-1]

    def close(self) -> None:
        self._journal.close()
