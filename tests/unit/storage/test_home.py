"""The home: the place of every file, and that no two files have the same place."""

import dataclasses
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.storage import home
from agiraph.storage.home import Home, default_home, expanded, home_at, plan_copy, user_home


def test_the_home_is_the_named_one_or_in_the_users_folder(tmp_path: Path) -> None:
    assert default_home({home.HOME_VARIABLE: str(tmp_path)}) == tmp_path
    assert default_home({home.HOME_VARIABLE: "~/x"}) == Path.home() / "x"
    assert default_home({home.HOME_VARIABLE: ""}) == Path.home() / ".agiraph"
    assert default_home({}) == Path.home() / ".agiraph"
    assert default_home({home.HOME_VARIABLE: "here"}).is_absolute()


def test_the_layout_is_the_documented_one() -> None:
    agent = Home(Path("/h")).agent("a")
    run = agent.run("r")
    node, worker = run.node("n-w-1"), run.worker("ada-1")
    found = {
        agent.soul: "SOUL.md",
        agent.memory_file: "MEMORY.md",
        agent.conversation: "conversation.jsonl",
        run.plan: "runs/r/_plan.md",
        run.messages: "runs/r/_messages",
        node.spec: "runs/r/nodes/n-w-1/_spec.md",
        node.refs: "runs/r/nodes/n-w-1/_refs.json",
        node.published: "runs/r/nodes/n-w-1/published",
        worker.notebook: "runs/r/workers/ada-1/notebook.md",
    }
    assert {path: str(path.relative_to("/h/agents/a")) for path in found} == found


def test_runtime_files_are_outside_the_runs_folder() -> None:
    agent = Home(Path("/h")).agent("a")
    run = agent.run("r").path
    for path in (agent.snapshot("r"), plan_copy(run)):
        assert path.is_relative_to(agent.path)
        assert not path.is_relative_to(agent.runs)
        assert not path.is_relative_to(agent.memory)


def test_every_part_of_a_home_has_its_own_path() -> None:
    whole = Home(Path("/h"))
    agent = whole.agent("a")
    run = agent.run("r")
    parts = (whole, whole.system, whole.human, agent, run, run.node("n"), run.worker("w"))
    for part in parts:
        kinds = (property, home.PathBelow)
        names = [name for name, value in vars(type(part)).items() if isinstance(value, kinds)]
        assert names
        places = [getattr(part, name) for name in names]
        paths = [place if isinstance(place, Path) else place.path for place in places]
        assert len(paths) == len(set(paths))
        assert all(path.is_relative_to(part.path) for path in paths)
        assert dataclasses.is_dataclass(part)


def test_home_is_resolved_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert home_at(tmp_path / "link") == tmp_path / "real"
    assert default_home({"AGIRAPH_HOME": str(tmp_path / "link")}) == tmp_path / "real"


def test_person_without_a_home_folder_names_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _no_such_user)
    with pytest.raises(InvalidInput, match="AGIRAPH_HOME"):
        default_home({})
    assert default_home({"AGIRAPH_HOME": str(tmp_path)}) == tmp_path
    assert user_home() == Path("/")
    assert expanded("~/models/x.gguf") == Path("~/models/x.gguf")


def _no_such_user(uid: int) -> None:
    raise KeyError(uid)
