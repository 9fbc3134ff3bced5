"""Skills: named up front, read on demand, from the home and from the input folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import one_worker, publish, write

BREWING = "---\nname: brewing\ndescription: How tea is made here\n---\n\nThree minutes, no more.\n"


@pytest.fixture
def skilled(live_home: LiveHome, tmp_path: Path) -> Iterator[Path]:
    """Return an input folder with a guide; the home has a skill with a file of its own."""
    (tmp_path / "AGENTS.md").write_text("# Rules\n\nWrite in British English.\n")
    folder = live_home.home / "skills" / "brewing"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(BREWING)
    (folder / "table.csv").write_text("green,2\nblack,3\n")
    yield tmp_path
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_worker_is_shown_skills_and_reads_the_needed_ones(
    live_home: LiveHome, skilled: Path
) -> None:
    live_home.plays(
        coordinator=one_worker("ada", task="Make tea"),
        ada=[
            calls(
                call("read_skill", name="brewing"),
                call("read_skill", name="brewing", path="table.csv"),
                call("read_skill", name="AGENTS.md"),
                call("read_skill", name="baking"),
                call("read_skill", name="brewing", path="../../system/token"),
            ),
            lambda seen: write("facts.md", seen.results("read_skill")[0]),
            publish("tea"),
        ],
    )
    outcome = live_home.lead("Make tea", "--input", str(skilled))
    first, second = live_home.server.seen_by("ada")[:2]
    assert "How tea is made here" in first.system
    assert "Three minutes" not in first.system, "bodies are read on demand"
    skill, table, guide, unknown, outside = second.results("read_skill")
    assert "Three minutes, no more." in skill
    assert "black,3" in table
    assert "British English" in guide
    assert "brewing" in unknown, "the known ones are named"
    token = (live_home.home / "system" / "token").read_text().strip()
    assert token not in outside
    assert "Three minutes" in outcome.published("ada-facts")["facts.md"]
