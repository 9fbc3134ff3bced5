"""Paging a growing log: by line, from any position, only whole lines."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.errors import Corrupt
from agiraph.logs.event_filter import EventFilter
from agiraph.logs.event_log import LOOKED_AT, STRIDE, EventLog
from agiraph.storage.files import remove_tree
from agiraph.storage.journal import encode_record


def write(path: Path, first: int, count: int) -> None:
    with path.open("ab") as file:
        for seq in range(first, first + count):
            line = {"type": "t", "agent_id": "a-1", "ts": 1.0, "seq": seq, "data": {"n": "ü" * seq}}
            file.write(json.dumps(line).encode() + b"\n")


def seqs(log: EventLog, after: int, limit: int) -> list[int]:
    return [event.seq for event in log.page(after, limit)]


@pytest.mark.parametrize("after", [0, 1, STRIDE - 1, STRIDE, STRIDE + 1, 2 * STRIDE, 700])
def test_page_begins_after_any_cursor(tmp_path: Path, after: int) -> None:
    write(tmp_path / "log", 1, 702)
    log = EventLog(tmp_path / "log")
    assert seqs(log, after, 5) == list(range(after + 1, min(after + 6, 703)))


def test_filtered_page_reports_how_far_it_searched(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, 1, LOOKED_AT + 10)
    with path.open("ab") as file:
        for seq in (LOOKED_AT + 11, LOOKED_AT + 12):
            line = {"type": "node.failed", "agent_id": "a-1", "ts": 1.0, "seq": seq}
            file.write(json.dumps(line).encode() + b"\n")
    log, wanted = EventLog(path), EventFilter(types=frozenset({"node.failed"}))
    assert log.pick(0, 5, wanted) == ([], LOOKED_AT)
    events, seen = log.pick(LOOKED_AT, 1, wanted)
    assert ([event.seq for event in events], seen) == ([LOOKED_AT + 11], LOOKED_AT + 11)
    events, seen = log.pick(seen, 5, wanted)
    assert ([event.seq for event in events], seen) == ([LOOKED_AT + 12], LOOKED_AT + 12)
    assert log.pick(seen, 5, wanted) == ([], seen)
    last = LOOKED_AT + 12
    events, start, to = log.pick_before(2**53, 1, wanted)
    assert ([event.seq for event in events], start, to) == ([last], last - 1, last)
    events, start, to = log.pick_before(last, 5, wanted)
    assert ([event.seq for event in events], start, to) == ([last - 1], 11, last - 1)
    assert log.pick_before(12, 5, wanted) == ([], 0, 11)


def test_a_log_is_read_backwards_up_to_its_beginning(tmp_path: Path) -> None:
    write(tmp_path / "log", 1, 7)
    log = EventLog(tmp_path / "log")

    def back(before: int, limit: int = 3, after: int = 0) -> tuple[list[int], int, int]:
        events, start, to = log.pick_before(before, limit, after=after)
        return [event.seq for event in events], start, to

    assert back(99) == ([5, 6, 7], 4, 7)
    assert back(5) == ([2, 3, 4], 1, 4)
    assert back(2) == ([1], 0, 1)
    assert back(1) == back(0) == ([], 0, 0)
    assert back(6, after=4) == ([5], 4, 5)
    assert back(3, after=4) == ([], 4, 4)


def test_damaged_line_is_reported_when_paging_backwards(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, 1, 3)
    with path.open("ab") as file:
        file.write(b"damaged\n")
    write(path, 5, 2)
    with pytest.raises(Corrupt, match="event 4 is damaged"):
        EventLog(path).pick_before(99, 5)


def test_missing_log_and_a_cursor_beyond_the_end_give_no_events(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log")
    assert seqs(log, 0, 5) == []
    write(tmp_path / "log", 1, 3)
    assert seqs(log, 3, 5) == seqs(log, 99, 5) == []
    assert seqs(log, 0, 0) == []
    assert log.last() == 3


def test_line_counts_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, 1, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    log = EventLog(path)
    assert seqs(log, 0, 9) == [1]
    path.write_bytes(whole)
    assert seqs(log, 1, 9) == [2]


def test_log_replaced_by_a_shorter_one_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, 1, 300)
    log = EventLog(path)
    assert log.last() == 300
    path.unlink()
    assert log.last() == 0
    write(path, 1, 4)
    assert seqs(log, 0, 9) == [1, 2, 3, 4]


def test_damaged_line_is_reported_and_not_skipped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [
        encode_record({"type": "t", "agent_id": "a-1", "ts": 1.0, "seq": seq}) for seq in (1, 2, 3)
    ]
    path.write_bytes(lines[0] + lines[1].replace(b'"t"', b'"u"') + lines[2])
    log = EventLog(path)
    assert seqs(log, 0, 9) == [1]
    assert seqs(log, 2, 9) == [3]
    with pytest.raises(Corrupt, match=r"log: event 2 is damaged"):
        log.page(1, 9)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 90), st.integers(1, 90))))
def test_cached_pages_equal_freshly_read_pages(steps: list[tuple[int, int, int]]) -> None:
    with TemporaryDirectory() as folder:
        path, count = Path(folder) / "log", 1
        write(path, 1, 1)
        log = EventLog(path)
        for grown, back, limit in steps:
            write(path, count + 1, grown)
            count += grown
            after = max(0, count - back)
            assert log.page(after, limit) == EventLog(path).page(after, limit)


@pytest.mark.parametrize("odd", ["link", "folder", "pipe"])
def test_irregular_file_counts_as_an_empty_log_until_replaced(tmp_path: Path, odd: str) -> None:
    write(tmp_path / "other", 1, 3)
    path = tmp_path / "log"
    if odd == "link":
        path.symlink_to("other")
    elif odd == "pipe":
        os.mkfifo(path)
    else:
        (path / "inside").mkdir(parents=True)
    log = EventLog(path)
    assert (log.page(0, 10), log.last()) == ([], 0)
    remove_tree(path)
    write(path, 1, 2)
    assert (seqs(log, 0, 10), log.last()) == ([1, 2], 2)
