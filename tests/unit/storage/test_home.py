"""The home: where everything stands, and that no two things stand in one place."""

import dataclasses
from pathlib import Path

from agiraph.storage import home
from agiraph.storage.home import Home, default_home, plan_copy


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
    assert str(agent.soul) == "/h/agents/a/SOUL.md"
    assert str(agent.memory_file) == "/h/agents/a/MEMORY.md"
    assert str(agent.conversation) == "/h/agents/a/conversation.jsonl"
    assert str(run.plan) == "/h/agents/a/runs/r/_plan.md"
    assert str(run.messages) == "/h/agents/a/runs/r/_messages"
    assert str(node.spec) == "/h/agents/a/runs/r/nodes/n-w-1/_spec.md"
    assert str(node.refs) == "/h/agents/a/runs/r/nodes/n-w-1/_refs.json"
    assert str(node.published) == "/h/agents/a/runs/r/nodes/n-w-1/published"
    assert str(worker.notebook) == "/h/agents/a/runs/r/workers/ada-1/notebook.md"


def test_what_only_the_runtime_may_write_stands_outside_the_runs_folder() -> None:
    agent = Home(Path("/h")).agent("a")
    run = agent.run("r").path
    for path in (agent.snapshot("r"), plan_copy(run)):
        assert path.is_relative_to(agent.path)
        assert not path.is_relative_to(agent.runs)
        assert not path.is_relative_to(agent.memory)


def test_no_two_things_stand_in_one_place() -> None:
    whole = Home(Path("/h"))
    agent = whole.agent("a")
    run = agent.run("r")
    parts = (whole, whole.system, whole.human, agent, run, run.node("n"), run.worker("w"))
    for part in parts:
        names = [name for name, value in vars(type(part)).items() if isinstance(value, property)]
        places = [getattr(part, name) for name in names]
        paths = [place if isinstance(place, Path) else place.path for place in places]
        assert len(paths) == len(set(paths))
        assert all(path.is_relative_to(part.path) for path in paths)
        assert dataclasses.is_dataclass(part)
