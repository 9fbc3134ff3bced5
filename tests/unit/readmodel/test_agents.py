"""The list of agents: a damaged agent hides only itself, and is reported once."""

import logging
from pathlib import Path
from typing import Any, cast

import pytest

from agiraph.api.routes.lifecycle import remove_half_deleted
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.http.errors import ApiError
from agiraph.readmodel.agents import AgentDirectory
from agiraph.storage.files import make_folder, replace_file
from agiraph.storage.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    record = Agent(
        id=AgentId("ada-1"),
        name="ada",
        goal="Survey",
        model="script/survey",
        worker_model="script/survey",
        status="working",
        created_at=1.0,
        updated_at=1.0,
    )
    replace_file(home.agent("ada-1").record, record.model_dump_json())
    return home


def test_irregular_agent_folders_are_skipped_and_reported_once(
    home: Home, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.agents / "link-1").symlink_to(tmp_path / "elsewhere")
    (home.agents / "file-1").touch()
    make_folder(home.agent("folder-1").record)
    make_folder(home.agent("linked-1").path)
    home.agent("linked-1").record.symlink_to(home.agent("ada-1").record)
    make_folder(home.agent("new-1").path)
    agents = AgentDirectory(home)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert [agent.id for agent in agents.all()] == ["ada-1"]
    assert sorted(cast(Any, record.msg)["event"] for record in caplog.records) == [
        *["an agent is skipped"] * 2,
        *["no folder of an agent, passed over"] * 2,
    ]
    with pytest.raises(ApiError, match="is a folder where a file belongs"):
        agents.find("folder-1")
    with pytest.raises(ApiError, match="is a symbolic link"):
        agents.find("linked")
    assert [agents.get(id) for id in ("folder-1", "linked-1", "new-1")] == [None, None, None]


def test_the_runs_of_an_agent_are_folders_of_its_own(home: Home, tmp_path: Path) -> None:
    agents, ada = AgentDirectory(home), home.agent("ada-1")
    agent = agents.find("ada-1")
    assert agents.runs_of(agent) == []
    make_folder(ada.run("r2").path)
    make_folder(ada.run("r1").path)
    (ada.runs / "r3").symlink_to(tmp_path)
    assert agents.runs_of(agent) == ["r1", "r2"]
    ada.runs.rename(tmp_path / "taken")
    ada.runs.symlink_to(tmp_path / "taken")
    assert agents.runs_of(agent) == []


def test_half_deleted_agent_is_removed_without_following_links(home: Home, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    left = home.agents / ".archive" / ".deleting-bob-1"
    make_folder(left / "runs" / "published")
    (left / "runs" / "link").symlink_to(tmp_path / "kept")
    (left / "runs").chmod(0o500)
    (left.parent / ".deleting-carol-1").symlink_to(tmp_path / "kept")
    remove_half_deleted(home)
    assert list(left.parent.iterdir()) == []
    assert (tmp_path / "kept" / "file").exists()
