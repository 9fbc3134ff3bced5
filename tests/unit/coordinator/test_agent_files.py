"""The coordinator's files: present before a run's first command, and safe against links."""

from pathlib import Path

import pytest

from actors.coordinator.files import AgentFiles, coordinator_belongings
from agiraph.board.board import Board
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.walk import UnsafeFile

RUN = RunId("r1")
AGENT = Agent(
    id=AgentId("a-1"),
    name="a",
    goal="Find it",
    model="m/m",
    worker_model="m/m",
    created_at=1.0,
    updated_at=1.0,
)


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return Home(tmp_path / "home").agent("a-1")


def test_folders_of_a_run_exist_before_its_first_command(home: AgentHome) -> None:
    run = AgentFiles(home, RUN, AGENT).run
    assert all(folder.is_dir() for folder in (run.nodes, run.workers, run.messages))


@pytest.mark.parametrize("name", ["nodes", "workers", "_messages"])
def test_run_with_a_linked_folder_is_refused_and_nothing_is_created_behind_it(
    home: AgentHome, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    run = home.run(RUN).path
    run.mkdir(parents=True)
    (run / name).symlink_to(outside)
    with pytest.raises(UnsafeFile, match=f"{name} is a symbolic link"):
        AgentFiles(home, RUN, AGENT)
    assert list(outside.iterdir()) == []


def test_links_in_memory_and_run_are_not_read_into_a_prompt(
    home: AgentHome, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("the secret")
    files = AgentFiles(home, RUN, AGENT)
    planted = [home.memory / "index.md", home.memory / "2026-01-01.md", home.memory_file]
    planted += [files.run.plan, files.run.path / "notes.md", files.run.path / "all"]
    for path in planted:
        path.unlink(missing_ok=True)
        path.symlink_to(secret)
    (home.memory / "2026-01-02.md").symlink_to("/dev/zero")
    told = coordinator_belongings("Find it", Board(), files)
    assert "the secret" not in repr(told)
    assert "the secret" not in files.memory()


def test_daily_log_that_is_a_link_or_a_folder_is_replaced(home: AgentHome, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    diary.write_text("the person's")
    files = AgentFiles(home, RUN, AGENT)
    day = home.memory / "1970-01-01.md"
    day.symlink_to(diary)
    files.log_day("Run r1", "found", 1.0)
    assert "found" in day.read_text()
    assert "the person's" not in day.read_text()
    assert diary.read_text() == "the person's"
    day.unlink()
    day.mkdir()
    files.log_day("Run r1", "found", 1.0)
    assert "found" in day.read_text()
