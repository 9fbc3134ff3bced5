"""Segments keep their numbers, whatever is appended, turned, torn, deleted and read meanwhile."""

import json
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agiraph.storage.files import move
from agiraph.storage.journal import encode_record
from agiraph.storage.segment_reader import SegmentReader
from agiraph.storage.segments import SegmentedJournal, segment_path, segments_of

BYTES = 400
SIZES = st.lists(st.integers(0, 120), min_size=1, max_size=6)


def record(seq: int, size: int = 0) -> dict[str, object]:
    return {"seq": seq, "text": "x" * size}


def numbers(reader: SegmentReader, after: int = 0, limit: int = 10**6) -> list[int]:
    found = []
    for seq, line in reader.lines(after, limit):
        assert json.loads(line)["seq"] == seq
        found.append(seq)
    return found


class SegmentedLogMachine(RuleBasedStateMachine):
    """A writer that crashes at any point, a reader that follows, and readers that start again."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "events.jsonl"
        self.reader = SegmentReader(self.path)
        self.held = ExitStack()
        self.seen = 0
        self.kept = 1
        self.last = 0
        self.log = SegmentedJournal(self.path, BYTES)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            with suppress(OSError):  # a rule failed after closing it
                self.log.close()
            self.held.close()
            self.folder.cleanup()

    @rule(sizes=SIZES)
    def append(self, sizes: list[int]) -> None:
        new = [record(self.last + n, size) for n, size in enumerate(sizes, start=1)]
        self.last += len(sizes)
        assert self.log.append(*new) == self.last

    @rule(has_place=st.booleans())
    def open_again(self, has_place: bool) -> None:
        place = self.log.place
        self.log.close()
        self.log = SegmentedJournal(self.path, BYTES, place if has_place else None)
        assert self.log.count == self.last
        if has_place and place:
            assert self.log.records == []

    @rule(sizes=SIZES, data=st.data())
    def die_while_appending(self, sizes: list[int], data: st.DataObject) -> None:
        self.log.close()
        lines = [
            encode_record(record(self.last + n, size)) for n, size in enumerate(sizes, start=1)
        ]
        whole = b"".join(lines)
        cut = data.draw(st.integers(0, len(whole)))
        with self.path.open("ab") as file:
            file.write(whole[:cut])
        self.last += sum(len(b"".join(lines[:n])) <= cut for n in range(1, len(lines) + 1))
        assert numbers(SegmentReader(self.path), self.kept - 1) == self.all()
        self.log = SegmentedJournal(self.path, BYTES)
        assert self.log.count == self.last

    @precondition(lambda self: self.path.stat().st_size)
    @rule(is_read=st.booleans())
    def die_while_turning(self, is_read: bool) -> None:
        self.log.close()
        move(self.path, segment_path(self.path, self.log.base + 1, self.last))
        if is_read:
            self.follow(3)
        self.log = SegmentedJournal(self.path, BYTES)
        assert self.log.count == self.last

    @precondition(lambda self: len(segments_of(self.path)) > 1)  # retention keeps the newest one
    @rule()
    def delete_the_oldest(self) -> None:
        oldest = segments_of(self.path)[0]
        self.held.enter_context(oldest.path.open())  # so that its inode is not used again
        oldest.path.unlink()
        self.kept = oldest.last + 1
        self.seen = max(self.seen, oldest.last)

    @rule(limit=st.integers(1, 12))
    def follow(self, limit: int) -> None:
        found = numbers(self.reader, self.seen, limit)
        assert found == list(range(self.seen + 1, min(self.seen + limit, self.last) + 1))
        self.seen += len(found)

    @rule(data=st.data(), is_new=st.booleans())
    def read(self, data: st.DataObject, is_new: bool) -> None:
        reader = SegmentReader(self.path) if is_new else self.reader
        after, limit = data.draw(st.integers(0, self.last + 2)), data.draw(st.integers(0, 12))
        begin = max(after + 1, self.kept)
        assert numbers(reader, after, limit) == list(
            range(begin, min(begin + limit, self.last + 1))
        )
        assert (reader.first(), reader.last()) == (self.kept, self.last)

    def all(self) -> list[int]:
        return list(range(self.kept, self.last + 1))


SegmentedLogMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestSegmentedLog = SegmentedLogMachine.TestCase
