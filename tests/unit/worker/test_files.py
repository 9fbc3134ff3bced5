"""A worker's own files: made where they are missing, and kept where they are not."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.worker import files as worker_files
from actors.worker.files import WorkerFiles
from agiraph.core.ids import NodeId, WorkerId
from agiraph.core.models import TeamRoster, Worker, WorkNode
from agiraph.storage.home import WorkerHome

ADA = Worker(id=WorkerId("ada-1"), name="ada", role="writer", memory="Likes tables.")


def test_files_emptied_by_a_power_cut_are_written_again_and_others_kept(tmp_path: Path) -> None:
    home = WorkerHome(tmp_path / "ada-1")
    files = WorkerFiles(home, ADA)
    assert "I am ada, a writer." in home.identity.read_text()
    home.notebook.write_text("mine\n")
    for torn in (home.identity, home.memory, home.history, home.roster):
        torn.write_bytes(b"")
    files = WorkerFiles(home, ADA)
    assert files.load_roster() == TeamRoster()
    assert home.notebook.read_text() == "mine\n"
    assert "Likes tables." in home.memory.read_text()
    assert home.history.read_text() == "[]\n"


def node(number: int) -> WorkNode:
    return WorkNode(
        id=NodeId(f"n{number}"),
        name=f"part {number}",
        task="Write\u2028it",
    )


@pytest.fixture
def home(tmp_path: Path) -> WorkerHome:
    return WorkerHome(tmp_path / "ada-1")


def names_in(home: WorkerHome) -> list[str]:
    return [entry["name"] for entry in json.loads(home.history.read_text())]


def test_completed_node_is_appended_once_to_a_valid_json_list(
    home: WorkerHome,
) -> None:
    for number in (1, 2, 3):
        files = WorkerFiles(home, ADA)
        files.note_completion(node(number), f"Did {number}.", "much" if number == 2 else "")
        files.note_completion(node(number), f"Did {number}.", "")
        assert len(names_in(home)) == number
        assert WorkerFiles(home, ADA).has_completed(node(number))
    assert json.loads(home.history.read_text())[1]["learned"] == "much"
    assert home.memory.read_text().endswith(
        "## part 2 (n2)\n\nDid 2.\n\nLearned: much\n\n## part 3 (n3)\n\nDid 3.\n"
    )


def test_crash_between_memory_and_history_repeats_neither(home: WorkerHome) -> None:
    files = WorkerFiles(home, ADA)
    files.note_completion(node(1), "Did it.", "")
    home.history.write_text("[]\n")
    WorkerFiles(home, ADA).note_completion(node(1), "Did it.", "")
    assert home.memory.read_text().count("## part 1 (n1)") == 1
    assert names_in(home) == ["part 1"]


@pytest.mark.parametrize(
    "left",
    ['[\n{"node_id": "n1", "name": "part 1", "task": "", "summary": "Did 1."},\n{"node_i',
     '[\n{"node_id": "n1", "name": "part 1", "task": "", "summary": "Did 1."}\n',
     '{"node_id": "n1", "name": "part 1", "summary": "Did 1."}\n[1]\n{"node_id": 3}\nno',
     '[\n{"node_id": "n1", "name": "part 1", "task": "", "summary": "Did 1."}\n]'],
)  # fmt: skip
def test_torn_or_edited_history_is_rewritten_with_its_valid_entries(
    home: WorkerHome, left: str
) -> None:
    WorkerFiles(home, ADA)
    home.history.write_text(left)
    WorkerFiles(home, ADA).note_completion(node(2), "Did 2.", "")
    assert names_in(home) == ["part 1", "part 2"]


HOSTILE: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda path, other: path.symlink_to(other),
    "a hard link": lambda path, other: os.link(other, path),
    "a folder": lambda path, _: path.mkdir(),
    "a pipe": lambda path, _: os.mkfifo(path),
    "nothing": lambda path, _: None,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_irregular_files_in_the_place_of_worker_files_are_replaced(
    home: WorkerHome, tmp_path: Path, kind: str
) -> None:
    WorkerFiles(home, ADA)
    other = tmp_path / "other"
    other.write_text("not the worker's\n")
    for path in (home.memory, home.notebook, home.history):
        path.unlink()
        HOSTILE[kind](path, other)
    files = WorkerFiles.__new__(WorkerFiles)
    files.__dict__.update(home=home, _log=None, _history=None)
    files.note_start(node(1), 0.0)
    files.note_completion(node(1), "Did 1.", "")
    assert other.read_text() == "not the worker's\n"
    assert "took up part 1" in home.notebook.read_text()
    assert home.memory.read_text().endswith("Did 1.\n")
    assert names_in(home) == ["part 1"]


def test_full_disk_leaves_the_history_unchanged(
    home: WorkerHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = WorkerFiles(home, ADA)
    files.note_completion(node(1), "Did 1.", "")
    before, real = home.history.read_bytes(), os.write
    left = [True]

    def full(fd: int, data: bytes) -> None:
        if b"part 2" in data and left.pop():
            real(fd, bytes(data)[:9])
            left.append(False)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd, data)

    monkeypatch.setattr(worker_files, "write_all", full)
    with pytest.raises(OSError, match="No space left"):
        files.note_completion(node(2), "Did 2.", "")
    assert home.history.read_bytes() == before
    files.note_completion(node(2), "Did 2.", "")
    assert names_in(home) == ["part 1", "part 2"]
    assert home.memory.read_text().count("## part 2 (n2)") == 1
