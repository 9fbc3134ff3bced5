"""A team that may write the input folder, killed in the middle of a command."""

import signal
from pathlib import Path

import pytest

from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import call, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import MakeLiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL, RUN_SECONDS
from tests.scenarios.steps import (
    DONE,
    FACT,
    WAIT,
    Plays,
    bash,
    finish,
    node,
    one_worker,
    spawn,
)

FOUND = probe()
pytestmark = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
COMMAND = "cd $AGIRAPH_INPUT && git init -q . ; git init -q sub && touch begun && sleep 600"


def test_killed_worker_leaves_no_git_folder_and_new_repositories_are_reported(
    make_live_home: MakeLiveHome, tmp_path: Path
) -> None:
    live_home = make_live_home({"sandbox": {"input": "write"}})
    live_home.plays(coordinator=one_worker("ada"), ada=[calls(bash(COMMAND)), calls(FACT), DONE])

    def meanwhile() -> None:
        until((tmp_path / "begun").exists, "the command has begun")
        assert (tmp_path / ".git").is_dir(), "an empty folder stands in for it"
        live_home.kill("worker ada")

    outcome = live_home.complete("Write", "--input", str(tmp_path), meanwhile=meanwhile)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "sub"]
    [reported] = outcome.data("sandbox.autorun")
    assert (reported["folder"], reported["paths"]) == (str(tmp_path), ["sub/.git"])
    assert "look at these before you use git" in outcome.progress


ENDS: dict[str, Plays] = {
    "cancelled": [call("cancel_node", node_id="facts", reason="enough"), finish("Done.")],
    "finished": [finish("Done.")],
    "interrupted": [
        call("send_message", to="ada", content="Stop.", mode="interrupt"),
        WAIT,
        finish("Done."),
    ],
}


@pytest.mark.parametrize("end", ENDS)
def test_a_command_that_the_model_has_ended_is_followed_by_a_report(
    make_live_home: MakeLiveHome, tmp_path: Path, end: str
) -> None:
    live_home = make_live_home({"sandbox": {"input": "write"}})
    begun = tmp_path / "begun"
    await_command = bash(f"until test -e {begun}; do read -t 0.02 < /dev/zero; done")
    live_home.plays(
        coordinator=[spawn("ada"), node("facts", "ada"), await_command, *ENDS[end]],
        ada=[bash(COMMAND), FACT, DONE],
    )
    outcome = live_home.complete("Write", "--name", end, "--input", str(tmp_path))
    assert "look at these before you use git" in outcome.progress
    assert "sub/.git" in outcome.progress


@pytest.mark.parametrize("act", ["stop", "kill"])
def test_a_command_that_a_person_has_ended_is_followed_by_a_report(
    make_live_home: MakeLiveHome, tmp_path: Path, act: str
) -> None:
    live_home = make_live_home({"sandbox": {"input": "write"}})
    live_home.plays(coordinator=[bash(COMMAND), finish("Done.")])
    folder = live_home.begin(act, "--input", str(tmp_path))
    until((tmp_path / "begun").exists, "the command has begun")
    live_home.command(act, folder.name)
    until(lambda: "sandbox.autorun" in (folder / "events.jsonl").read_text(), "the report")
    reported = [e for e in whole_lines(folder / "events.jsonl") if e["type"] == "sandbox.autorun"]
    assert [event["data"]["paths"] for event in reported] == [["sub/.git"]]


def test_interrupted_run_names_the_new_repositories_of_its_command(
    make_live_home: MakeLiveHome, tmp_path: Path
) -> None:
    live_home = make_live_home({"sandbox": {"input": "write"}})
    live_home.plays(coordinator=[bash(COMMAND), finish("Done.")])
    process = live_home.start("run", "Write", "--name", "cut", "--input", str(tmp_path), *MODEL)
    until((tmp_path / "begun").exists, "the command has begun")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=RUN_SECONDS)
    assert err.count("look at these before you use git") == 1, err
    assert "sub/.git" in err
