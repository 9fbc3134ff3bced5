"""What the coordinator may touch."""

from pathlib import Path

import pytest

from agiraph.core.errors import OutOfScope
from tests.unit.tools.scopes.house import OTHER, House, build


@pytest.fixture
def house(tmp_path: Path) -> House:
    return build(tmp_path)


@pytest.mark.parametrize(
    "path",
    [
        "_plan.md",
        "journal.jsonl",
        f"nodes/{OTHER}/scratch/draft.md",
        "nodes/other/published/sub/result.md",
        "workers/ben-222222/notebook.md",
        "_messages/0001_a_to_b.md",
        "SOUL.md",
        "GOAL.md",
        "MEMORY.md",
        "memory/index.md",
        "input/table.csv",
    ],
)
def test_it_reads_the_run_and_its_own_memory(house: House, path: str) -> None:
    assert house.coordinator().to_read(path).is_file()


@pytest.mark.parametrize(
    "path",
    [
        "../r0/_plan.md",
        "../../conversation.jsonl",
        "../../agent.json",
        "../../../../system/token",
        "memory/../conversation.jsonl",
        "/etc/passwd",
        "input/../system/token",
    ],
)
def test_it_reads_nothing_else(house: House, path: str) -> None:
    with pytest.raises(OutOfScope):
        house.coordinator().to_read(path)


@pytest.mark.parametrize("path", ["_plan.md", "_output.md", "brief.md", "notes/day-1.md"])
def test_a_bare_path_is_the_runs_root(house: House, path: str) -> None:
    scope = house.coordinator()
    assert scope.to_write(path) == house.run.path.resolve() / path
    assert scope.cwd == house.run.path.resolve()


def test_it_writes_its_memory(house: House) -> None:
    scope = house.coordinator()
    assert scope.to_write("MEMORY.md") == house.agent.memory_file.resolve()
    assert scope.to_write("memory/x/y.md") == house.agent.memory.resolve() / "x" / "y.md"


@pytest.mark.parametrize(
    "path",
    [
        ".",
        "journal.jsonl",
        "journal.jsonl.snapshot",
        "Journal.JSONL",
        "nodes/x/scratch/y.md",
        f"nodes/{OTHER}/published/x.md",
        "nodes",
        "workers/ada-111111/memory.md",
        "_messages/0002_x.md",
        "notes/../journal.jsonl",
        "SOUL.md",
        "GOAL.md",
        "memory",
        "../../agent.json",
        "../../events.jsonl",
        "../r0/_plan.md",
        "input/table.csv",
        "/tmp/x",
    ],
)
def test_what_others_write_it_does_not(house: House, path: str) -> None:
    with pytest.raises(OutOfScope):
        house.coordinator().to_write(path)


def test_places_are_shown_from_the_runs_root(house: House) -> None:
    scope = house.coordinator()
    assert scope.shown(house.run.plan) == "_plan.md"
    assert scope.shown(house.agent.memory / "index.md") == "memory/index.md"
    assert scope.to_list(".") == house.run.path.resolve()
