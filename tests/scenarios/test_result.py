"""`result` and `run --output`: the results of a run, printed or written to a given place."""

import os
import threading

import pytest

from tests.fakes.model_server import calls, say
from tests.scenarios.place import Place
from tests.scenarios.steps import WAIT, bash, finish, held, node, publish, spawn, write

ANSWER = "The fact is in facts.md."


def delivering(place: Place) -> None:
    """Let a worker publish two files, one of them empty, and its coordinator write one."""
    made = calls(
        write("facts.md", "one fact"),
        bash("mkdir -p data/.Git x/.git/hooks; : > data/empty.csv; : > data/.Git/config"),
        bash("echo exit > x/.git/hooks/pre-commit; echo exit > x/.envrc"),
        bash(r"printf odd > $'caf\xe9.txt'; printf odd > $'a\nb.txt'"),
    )
    steps = [spawn("ada"), node("facts", "ada"), WAIT]
    place.plays(
        coordinator=[*steps, calls(write("notes/n.txt", "a note"), finish(ANSWER))],
        ada=[made, publish()],
    )


def test_the_answer_is_printed_and_everything_written_into_a_folder(place: Place) -> None:
    delivering(place)
    agent = place.begin("delivers")
    place.await_end(agent)
    printed = place.command("result", "delivers")
    assert (printed.returncode, printed.stdout) == (0, f"{ANSWER}\n")
    told = place.json("result", agent.name)
    assert (told["status"], told["result"].strip(), told["written"]) == ("completed", ANSWER, [])
    assert {path.rpartition("/")[2] for path in told["files"]} >= {"empty.csv", "facts.md", "n.txt"}
    written = place.command("result", "delivers", "-o", "results/")
    assert written.returncode == 0
    assert written.stdout == ""
    assert "result: 7 files in results/" in written.stderr
    left_out = "not written, because git runs programs from it: facts/data/.Git, facts/x/.git"
    assert left_out in written.stderr
    assert "look at these, because of which programs run: facts/x/.envrc" in written.stderr
    folder = place.home / "results"
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
    again = place.command("result", "delivers", "-o", "less/")
    assert again.returncode == 1
    assert "not written, for it cannot be read: nodes/facts-" in again.stderr
    assert "/published/facts.md" in again.stderr


def test_nothing_is_replaced_unasked(place: Place) -> None:
    delivering(place)
    place.await_end(place.begin("unasked"))
    report, folder = place.home / "mine.md", place.home / "full"
    report.write_text("mine")
    folder.mkdir()
    (folder / "mine.md").write_text("mine")
    refused = place.command("result", "unasked", "-o", "mine.md")
    assert (refused.returncode, report.read_text()) == (2, "mine")
    assert "mine.md exists (possible: another name, or --force" in refused.stderr
    into = place.command("result", "unasked", "-o", "full")
    assert (into.returncode, "full/ is not empty" in into.stderr) == (2, True)
    assert place.command("result", "unasked", "-o", "mine.md", "--force").returncode == 0
    assert report.read_text() == f"{ANSWER}\n"
    assert place.command("result", "unasked", "-o", "full", "--force").returncode == 0
    assert (folder / "mine.md").read_text() == "mine"
    assert (folder / "facts" / "facts.md").read_text() == "one fact"


def test_a_run_writes_its_result_where_it_was_told(place: Place) -> None:
    delivering(place)
    outcome = place.run("Find a fact", "--name", "writes", "-o", "of-the-run.md")
    assert (outcome.code, outcome.result["written"]) == (0, ["of-the-run.md"])
    assert (place.home / "of-the-run.md").read_text() == f"{ANSWER}\n"


@pytest.mark.parametrize(
    ("named", "words"),
    [("no/such.md", "cannot be written"), ("there.md", "there.md exists"), ("there.md/", "not a")],
)
def test_where_a_run_is_to_write_is_checked_before_it_begins(
    place: Place, named: str, words: str
) -> None:
    (place.home / "there.md").write_text("mine")
    before = len(place.json("agents"))
    refused = place.command("run", "x", "--model", "openai/fake", "-o", named)
    assert (refused.returncode, words in refused.stderr) == (2, True), refused.stderr
    assert len(place.json("agents")) == before
    assert (place.home / "there.md").read_text() == "mine"


def test_what_appears_meanwhile_is_kept_and_the_answer_is_printed(place: Place) -> None:
    place.plays(coordinator=[bash(f"echo mine > {place.home}/late.md"), finish(ANSWER)])

    def appears() -> None:
        place.await_step("coordinator", 0)
        (place.home / "late.md").write_text("mine")

    run = place.start("run", "x", "--model", "openai/fake", "--name", "written", "-o", "late.md")
    appears()
    out, err = run.communicate(60)
    place.begun.append("written")
    assert (run.wait(), out) == (2, f"{ANSWER}\n")
    assert "late.md exists" in err
    assert "agiraph result written-" in err


def test_a_run_without_an_answer_says_so_and_hands_over_what_there_is(place: Place) -> None:
    steps = [spawn("ada"), node("facts", "ada"), WAIT, say("Hm."), say("Hm.")]
    place.plays(coordinator=steps, ada=[write("facts.md", "one fact"), publish()])
    agent = place.begin("without-answer")
    place.await_end(agent, "failed")
    failed = place.command("result", "without-answer")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "without-answer has no answer, it is failed: the coordinator stopped" in failed.stderr
    partly = place.command("result", "without-answer", "-o", "partly/")
    assert partly.returncode == 1
    assert (place.home / "partly/facts/facts.md").read_text() == "one fact"
    assert not (place.home / "partly/_output.md").exists()


def test_a_run_that_goes_on_has_no_result_yet(place: Place) -> None:
    place.plays(coordinator=[spawn("ada"), held(WAIT, threading.Event())])
    agent = place.begin("goes-on")
    unfinished = place.command("result", "goes-on")
    assert unfinished.returncode == 1
    assert f"`agiraph wait {agent.name}` waits for its end" in unfinished.stderr
    assert place.command("result", "goes-on", "--run", "nope").returncode == 2
