"""`result` and `run --output`: the results of a run, printed or written to a given place."""

import os
import threading

import pytest

from tests.fakes.model_server import calls, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, bash, finish, held, node, publish, spawn, write

ANSWER = "The fact is in facts.md."


def delivering(live_home: LiveHome) -> None:
    """Let a worker publish two files, one of them empty, and its coordinator write one."""
    made = calls(
        write("facts.md", "one fact"),
        bash("mkdir -p data/.Git x/.git/hooks; : > data/empty.csv; : > data/.Git/config"),
        bash("echo exit > x/.git/hooks/pre-commit; echo exit > x/.envrc"),
        bash(r"printf odd > $'caf\xe9.txt'; printf odd > $'a\nb.txt'"),
    )
    steps = [spawn("ada"), node("facts", "ada"), WAIT]
    live_home.plays(
        coordinator=[*steps, calls(write("notes/n.txt", "a note"), finish(ANSWER))],
        ada=[made, publish()],
    )


def test_the_answer_is_printed_and_everything_written_into_a_folder(live_home: LiveHome) -> None:
    delivering(live_home)
    agent = live_home.begin("delivers")
    live_home.await_end(agent)
    printed = live_home.command("result", "delivers")
    assert (printed.returncode, printed.stdout) == (0, f"{ANSWER}\n")
    told = live_home.json("result", agent.name)
    assert (told["status"], told["result"].strip(), told["written"]) == ("completed", ANSWER, [])
    assert {path.rpartition("/")[2] for path in told["files"]} >= {"empty.csv", "facts.md", "n.txt"}
    written = live_home.command("result", "delivers", "-o", "results/")
    assert written.returncode == 0
    assert written.stdout == ""
    assert "result: 7 files in results/" in written.stderr
    left_out = "not written, because git runs programs from it: facts/data/.Git, facts/x/.git"
    assert left_out in written.stderr
    assert "look at these, because of which programs run: facts/x/.envrc" in written.stderr
    folder = live_home.home / "results"
    found = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert found == {
        "_output.md": f"{ANSWER}\n",
        "facts/facts.md": "one fact",
        "facts/data/empty.csv": "",
        "facts/x/.envrc": "exit\n",
        "facts/a\nb.txt": "odd",
        os.fsdecode(b"facts/caf\xe9.txt"): "odd",
        "notes/n.txt": "a note",
    }
    [lost] = agent.glob("runs/*/nodes/*/published/facts.md")
    lost.unlink()
    again = live_home.command("result", "delivers", "-o", "less/")
    assert again.returncode == 1
    assert "not written, for it cannot be read: nodes/facts/" in again.stderr
    assert "/published/facts.md" in again.stderr


def test_existing_files_are_not_replaced_without_force(live_home: LiveHome) -> None:
    delivering(live_home)
    live_home.await_end(live_home.begin("unasked"))
    report, folder = live_home.home / "mine.md", live_home.home / "full"
    report.write_text("mine")
    folder.mkdir()
    (folder / "mine.md").write_text("mine")
    refused = live_home.command("result", "unasked", "-o", "mine.md")
    assert (refused.returncode, report.read_text()) == (2, "mine")
    assert "mine.md exists (possible: another name, or --force" in refused.stderr
    into = live_home.command("result", "unasked", "-o", "full")
    assert (into.returncode, "full/ is not empty" in into.stderr) == (2, True)
    assert live_home.command("result", "unasked", "-o", "mine.md", "--force").returncode == 0
    assert report.read_text() == f"{ANSWER}\n"
    assert live_home.command("result", "unasked", "-o", "full", "--force").returncode == 0
    assert (folder / "mine.md").read_text() == "mine"
    assert (folder / "facts" / "facts.md").read_text() == "one fact"


def test_run_writes_its_result_to_the_requested_file(live_home: LiveHome) -> None:
    delivering(live_home)
    outcome = live_home.run("Find a fact", "--name", "writes", "-o", "of-the-run.md")
    assert (outcome.code, outcome.result["written"]) == (0, ["of-the-run.md"])
    assert (live_home.home / "of-the-run.md").read_text() == f"{ANSWER}\n"


@pytest.mark.parametrize(
    ("named", "words"),
    [("no/such.md", "cannot be written"), ("there.md", "there.md exists"), ("there.md/", "not a")],
)
def test_output_file_of_a_run_is_checked_before_its_start(
    live_home: LiveHome, named: str, words: str
) -> None:
    (live_home.home / "there.md").write_text("mine")
    before = len(live_home.json("agents"))
    refused = live_home.command("run", "x", "--model", "openai/fake", "-o", named)
    assert (refused.returncode, words in refused.stderr) == (2, True), refused.stderr
    assert len(live_home.json("agents")) == before
    assert (live_home.home / "there.md").read_text() == "mine"


def test_file_created_during_a_run_is_kept_and_the_answer_is_printed(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[bash(f"echo mine > {live_home.home}/late.md"), finish(ANSWER)])

    def appears() -> None:
        live_home.await_step("coordinator", 0)
        (live_home.home / "late.md").write_text("mine")

    run = live_home.start(
        "run", "x", "--model", "openai/fake", "--name", "written", "-o", "late.md"
    )
    appears()
    out, err = run.communicate(60)
    live_home.begun.append("written")
    assert (run.wait(), out) == (2, f"{ANSWER}\n")
    assert "late.md exists" in err
    assert "agiraph result written-" in err


def test_run_without_an_answer_reports_it_and_delivers_its_files(live_home: LiveHome) -> None:
    steps = [spawn("ada"), node("facts", "ada"), WAIT, say("Hm."), say("Hm.")]
    live_home.plays(coordinator=steps, ada=[write("facts.md", "one fact"), publish()])
    agent = live_home.begin("without-answer")
    live_home.await_end(agent, "failed")
    failed = live_home.command("result", "without-answer")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "without-answer has no answer, it is failed: the coordinator stopped" in failed.stderr
    partly = live_home.command("result", "without-answer", "-o", "partly/")
    assert partly.returncode == 1
    assert (live_home.home / "partly/facts/facts.md").read_text() == "one fact"
    assert not (live_home.home / "partly/_output.md").exists()


def test_unfinished_run_has_no_result_yet(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[spawn("ada"), held(WAIT, threading.Event())])
    agent = live_home.begin("goes-on")
    unfinished = live_home.command("result", "goes-on")
    assert unfinished.returncode == 1
    assert f"`agiraph wait {agent.name}` waits for its end" in unfinished.stderr
    assert live_home.command("result", "goes-on", "--run", "nope").returncode == 2
