"""The journaled board: executed commands survive, and a damaged journal is named."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import CreateNode, SpawnWorker, StartRun
from agiraph.board.store import BoardStore, read_board
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import RunId
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.storage.journal import Journal

START = StartRun(run_id=RunId("r1"), goal="goal", model="a/b", worker_model="c/d")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "journal.jsonl"


@pytest.fixture
def store(path: Path) -> Iterator[BoardStore]:
    with closing(begun(path)) as store:
        yield store


def begun(path: Path) -> BoardStore:
    """Return the store of a run that has begun."""
    store = BoardStore(path)
    store.execute(START, 1.0)
    return store


def hire(store: BoardStore) -> None:
    store.execute(SpawnWorker("w", WorkerSpec(name="ada", tools=("bash",))), 2.0)
    store.execute(CreateNode("c", NodeSpec(task="x", worker="ada")), 3.0)


def test_board_is_read_back_unchanged(path: Path) -> None:
    with closing(begun(path)) as store:
        hire(store)
        assert read_board(path) == store.board
    with closing(BoardStore(path)) as again:
        assert again.board == store.board
        assert again.execute(CreateNode("c", NodeSpec(task="x")), 4.0) == ()


def test_refused_command_writes_nothing(path: Path, store: BoardStore) -> None:
    before = path.read_bytes()
    with pytest.raises(InvalidInput):
        store.execute(CreateNode("c", NodeSpec(task=" ")), 2.0)
    assert path.read_bytes() == before


def test_a_board_that_cannot_be_written_does_not_change(
    store: BoardStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, *records: object) -> int:
        raise OSError(28, "No space left on device")

    before, spawn = store.board, SpawnWorker("w", WorkerSpec(name="ada"))
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", full)
        with pytest.raises(OSError, match="No space"):
            store.execute(spawn, 2.0)
    assert store.board == before
    assert store.execute(spawn, 2.0) != ()


def test_a_missing_journal_is_an_empty_board(tmp_path: Path) -> None:
    assert read_board(tmp_path / "none.jsonl") == Board()


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"node.vanished","ts":1}',
        '{"type":"node.started","ts":1}',
        '{"type":"node.started","ts":1,"node_id":"nobody"}',
        '{"ts":1}',
    ],
)
def test_a_record_that_cannot_have_been_is_named(path: Path, line: str) -> None:
    begun(path).close()
    with Journal(path) as journal:
        journal.append(json.loads(line))
    with pytest.raises(Corrupt, match=r"journal.jsonl: record 2 "):
        read_board(path)
    with pytest.raises(Corrupt):
        BoardStore(path)


def test_board_continues_from_its_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agiraph.storage.snapshot.FEWEST_RECORDS", 4)
    with closing(begun(path)) as store:
        hire(store)
        for number in range(6):
            store.execute(CreateNode(f"c{number}", NodeSpec(task=f"task {number}")), 3.0)
    assert path.with_name("journal.jsonl.snapshot").exists()
    with path.open("r+b") as file:  # records before the snapshot are not even read
        file.write(b"rubbish")
    with closing(BoardStore(path)) as again:
        assert again.board == store.board
        again.execute(CreateNode("c9", NodeSpec(task="one more")), 4.0)


def test_board_with_a_lost_end_reuses_no_id_and_no_attempt(
    path: Path,
) -> None:
    with closing(begun(path)) as store:
        hire(store)
        store.execute(SpawnWorker("v", WorkerSpec(name="bob")), 4.0)
        node = next(iter(store.board.nodes.values()))
        assert store.board.key("r1") == "r1"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b'"ts"', b'"tz"', 1), lines[0]]))
    with pytest.raises(Corrupt, match="mv "):
        BoardStore(path)
    [good] = path.parent.glob("*.good-*")
    good.replace(path)
    with closing(BoardStore(path)) as again:
        key = again.board.key("r1")
        assert key != "r1"
        assert again.board.nodes[node.id].attempt > node.attempt + 500
    with closing(BoardStore(path)) as last:
        assert last.board.key("r1") == key
