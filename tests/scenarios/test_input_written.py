"""A team that may write the input folder, killed in the middle of a command."""

from pathlib import Path

import pytest

from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import calls
from tests.integration.house import until
from tests.scenarios.place import MakePlace
from tests.scenarios.steps import DONE, FACT, bash, one_worker

FOUND = probe()
pytestmark = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
COMMAND = "cd $AGIRAPH_INPUT && git init -q . ; git init -q sub && touch begun && sleep 600"


def test_a_killed_worker_leaves_no_git_and_new_repositories_are_reported(
    make_place: MakePlace, tmp_path: Path
) -> None:
    place = make_place({"sandbox": {"input": "write"}})
    place.plays(coordinator=one_worker("ada"), ada=[calls(bash(COMMAND)), calls(FACT), DONE])

    def meanwhile() -> None:
        until((tmp_path / "begun").exists, "the command has begun")
        assert (tmp_path / ".git").is_dir(), "an empty folder stands in for it"
        place.kill("worker ada")

    outcome = place.complete("Write", "--input", str(tmp_path), meanwhile=meanwhile)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "sub"]
    [reported] = outcome.data("sandbox.autorun")
    assert (reported["folder"], reported["paths"]) == (str(tmp_path), ["sub/.git"])
    assert "look at these before you use git" in outcome.progress
