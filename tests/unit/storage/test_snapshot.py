"""A long journal opens from its snapshot, and just as well without one."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import InputReceived
from agiraph.storage.journal import JournalPosition
from agiraph.storage.snapshot import FEWEST_RECORDS, SHARE, Snapshots, is_due

NUMBERS: TypeAdapter[list[int]] = TypeAdapter(list[int])
MARK = JournalPosition(FEWEST_RECORDS, 90, "end")


def snapshots(folder: Path, fold: int = 1) -> Snapshots[list[int]]:
    return Snapshots(folder / "journal.jsonl.snapshot", NUMBERS, fold)


def test_kept_snapshot_is_loaded(tmp_path: Path) -> None:
    assert snapshots(tmp_path).load() is None
    snapshots(tmp_path).keep_if_due(MARK, [1, 2])
    assert snapshots(tmp_path).load() == (MARK, [1, 2])
    assert [file.name for file in tmp_path.iterdir()] == ["journal.jsonl.snapshot"]


def test_snapshots_become_rarer_as_the_journal_grows() -> None:
    taken = [0]
    for count in range(100_000):
        if is_due(count, taken[-1]):
            taken.append(count)
    assert taken[1] == FEWEST_RECORDS
    assert sum(taken) < (SHARE + 2) * 100_000, "all of them cost a few times what the last does"
    assert all(later - earlier <= later / SHARE for earlier, later in pairwise(taken[6:]))


def test_snapshot_is_not_taken_before_it_is_due(tmp_path: Path) -> None:
    kept = snapshots(tmp_path)
    kept.keep_if_due(JournalPosition(FEWEST_RECORDS - 1, 90, "end"), [1])
    assert kept.load() is None
    kept.keep_if_due(MARK, [1])
    kept.keep_if_due(JournalPosition(FEWEST_RECORDS + 1, 95, "end"), [2])
    assert kept.load() == (MARK, [1])


@pytest.mark.parametrize("place", range(150))
def test_damaged_snapshot_is_ignored(tmp_path: Path, place: int) -> None:
    kept = snapshots(tmp_path)
    kept.keep_if_due(MARK, [1, 2])
    data = bytearray(kept.path.read_bytes())
    data[place % len(data)] ^= 1
    kept.path.write_bytes(data)
    assert kept.load() is None
    kept.path.write_bytes(data[: place % len(data)])
    assert kept.load() is None


def test_snapshot_of_another_type_or_version_is_ignored(tmp_path: Path) -> None:
    snapshots(tmp_path).keep_if_due(MARK, [1, 2])
    assert snapshots(tmp_path, fold=2).load() is None
    words: TypeAdapter[list[str]] = TypeAdapter(list[str])
    assert Snapshots(tmp_path / "journal.jsonl.snapshot", words, 1).load() is None


def test_unwritable_snapshot_stops_no_process(tmp_path: Path) -> None:
    (tmp_path / "no-folder").touch()
    kept = snapshots(tmp_path / "no-folder")
    kept.keep_if_due(MARK, [1])
    assert kept.load() is None


def heard(number: int) -> InputReceived:
    return InputReceived(content=f"line {number}", from_name="bob", ts=0.0, message=f"m{number}")


def test_conversation_continues_from_its_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "conversation.jsonl"
    first = Conversation(path)
    for begin in range(0, 3000, 100):
        first.append(*(heard(number) for number in range(begin, begin + 100)))
    first.close()
    snapshot = path.with_name("conversation.jsonl.snapshot")
    count = json.loads(snapshot.read_bytes().partition(b"\n")[0])["count"]
    assert count >= 2000

    again = Conversation(path)
    assert again.transcript == first.transcript
    again.append(heard(3000))
    again.close()
    with path.open("r+b") as file:  # records before the snapshot are not even read
        file.write(b"rubbish")
    last = Conversation(path)
    assert last.transcript == again.transcript
    assert last.transcript.position == 3001
    last.close()


def test_snapshot_of_another_journal_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "conversation.jsonl"
    first = Conversation(path)
    first.append(*(heard(number) for number in range(2000)))
    first.close()
    path.unlink()
    again = Conversation(path)
    assert again.transcript.position == 0
    again.close()
