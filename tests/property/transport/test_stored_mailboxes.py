"""Stored mailboxes against a simple model, under any interleaving of use and crashes.

A crash is a copy of the current files, opened again: the state after a killed process. A power cut
also cuts the write-ahead log at any byte: then the contents must be the complete contents after one
of the commits.
"""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from transport.mailboxes import DUPLICATE, FULL
from transport.stored_mailboxes import StoredMailboxes

MAX_MESSAGES = 5
MAX_BYTES = 40
MEMORY_BYTES = 20
ADDRESSES = ("ada", "bob")
FILES = ("mailboxes.db", "mailboxes.db-wal")
addresses = st.sampled_from(ADDRESSES)
idents = st.integers(0, 12).map(lambda n: n.to_bytes(16, "big"))

# The waiting messages, in order, and the messages that are done.
Waiting = tuple[tuple[str, bytes, bytes], ...]
State = tuple[Waiting, frozenset[tuple[str, bytes]]]


class StoredMailboxesMachine(RuleBasedStateMachine):
    """One file of mailboxes; the model is a tuple and a set, and their copies at each commit."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="agiraph-"))
        self.lives = 0
        self.state: State = ((), frozenset())
        self.commits: list[State] = [self.state]
        self.boxes = self.open(self.root / "0")

    def open(self, folder: Path) -> StoredMailboxes:
        return StoredMailboxes(
            folder / FILES[0],
            durability="normal",
            max_messages=MAX_MESSAGES,
            max_bytes=MAX_BYTES,
            memory_bytes=MEMORY_BYTES,
        )

    @rule(address=addresses, id=idents, blob=st.binary(max_size=20))
    def accept(self, address: str, id: bytes, blob: bytes) -> None:
        waiting, was_done = self.state
        box = [one for one in waiting if one[0] == address]
        size = sum(len(one[2]) for one in box) + len(blob)
        position = self.boxes.accept(address, id, blob)
        if (address, id) in was_done or id in [one[1] for one in box]:
            assert position == DUPLICATE
        elif len(box) >= MAX_MESSAGES or size > MAX_BYTES:
            assert position == FULL
        else:
            assert position > 0
            self.state = ((*waiting, (address, id, blob)), was_done)

    @rule(address=addresses, id=idents)
    def done(self, address: str, id: bytes) -> None:
        waiting, was_done = self.state
        left = tuple(one for one in waiting if one[:2] != (address, id))
        assert self.boxes.done(address, id) == (left != waiting)
        if left != waiting:
            self.state = (left, was_done | {(address, id)})

    @rule(address=addresses, limit=st.integers(0, 6), data=st.data())
    def undone(self, address: str, limit: int, data: st.DataObject) -> None:
        box = [one[1:] for one in self.state[0] if one[0] == address]
        found = self.boxes.undone(address, 99)
        skipped = data.draw(st.integers(0, len(found)))
        after = found[skipped - 1].position if skipped else 0
        page = self.boxes.undone(address, limit, after)
        assert [(one.id, one.blob) for one in page] == box[skipped : skipped + limit]
        sizes = [len(blob) for _, blob in box]
        assert self.boxes.depths().get(address, (0, 0)) == (len(sizes), sum(sizes))

    @rule(address=addresses)
    def discard(self, address: str) -> None:
        waiting, was_done = self.state
        left = tuple(one for one in waiting if one[0] != address)
        assert self.boxes.discard(address) == len(waiting) - len(left)
        self.state = (left, was_done)

    @rule()
    def commit(self) -> None:
        self.boxes.commit()
        self.commits.append(self.state)

    @rule()
    def restart(self) -> None:
        """End in good order, but without a last commit."""
        self.boxes.close()
        self.boxes = self.open(self.root / str(self.lives))
        self.state = self.commits[-1]

    @rule()
    def crash(self) -> None:
        self.boxes = self.reopened(cut=None)
        self.state = self.commits[-1]

    @rule(cut=st.floats(0, 1))
    def lose_power(self, cut: float) -> None:
        self.boxes = self.reopened(cut)
        waiting = tuple(self.seen())
        found = [index for index, state in enumerate(self.commits) if state[0] == waiting]
        assert found, "a batch stands whole or not at all"
        # States may differ only in the messages that are done: check these.
        for index in reversed(found):
            if self.remembers_exactly(self.commits[index][1]):
                self.state = self.commits[index]
                self.commits = self.commits[: index + 1]
                return
        raise AssertionError("what is done does not fit what waits")

    def reopened(self, cut: float | None) -> StoredMailboxes:
        """Open a copy of the files, their log cut at a part of its length."""
        old = self.root / str(self.lives)
        self.lives += 1
        new = self.root / str(self.lives)
        new.mkdir()
        for name in FILES:
            if (old / name).exists():
                shutil.copyfile(old / name, new / name)
        wal = new / FILES[1]
        if cut is not None and wal.exists():
            with open(wal, "r+b") as log:
                log.truncate(int(wal.stat().st_size * cut))
        self.boxes.close()
        return self.open(new)

    def remembers_exactly(self, was_done: frozenset[tuple[str, bytes]]) -> bool:
        file = self.boxes._file
        known = set(self.boxes._known._keys)
        return known == {file.key(address, id_) for address, id_ in was_done}

    def seen(self) -> list[tuple[str, bytes, bytes]]:
        """Return the waiting messages of all mailboxes, in the order of arrival."""
        found = [(one, address) for address in ADDRESSES for one in self.boxes.undone(address, 99)]
        return [(address, one.id, one.blob) for one, address in sorted(found)]

    @invariant()
    def waiting_messages_match_the_model(self) -> None:
        assert tuple(self.seen()) == self.state[0]

    def teardown(self) -> None:
        self.boxes.close()
        shutil.rmtree(self.root)


TestStoredMailboxes = StoredMailboxesMachine.TestCase
TestStoredMailboxes.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
