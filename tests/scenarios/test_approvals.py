"""Actions that need the human's approval, with real processes: allowed, refused, through kills."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.agent.loop import INTERRUPTED_CALL, UNKNOWN_OUTCOME
from agiraph.http.client import Client
from tests.fakes.model_server import call
from tests.integration.house import until
from tests.scenarios.place import Place, whole_lines
from tests.scenarios.steps import (
    DONE,
    FACT,
    WAIT,
    Plays,
    bash,
    finish,
    finish_with,
    one_worker,
    write,
)

RULES = """
rules:
  - {name: look, tool: bash, pattern: "ls*", action: allow}
  - {name: marks, tool: bash, pattern: "echo*", action: ask, reason: it leaves a mark}
  - {name: never, tool: bash, pattern: "rm*", action: deny, reason: nothing is removed here}
  - {name: guarded, tool: write_file, pattern: "*guarded*", action: ask}
  - {name: stages, tool: stage, worker: coordinator, pattern: Guarded, action: ask}
"""
LIMIT = "rules: [{name: limit, tool: spend, over_usd: 0.000001, action: ask}]"
MARK = bash("echo x >> marks.txt")
PRICED = ("--model", "anthropic/claude-sonnet-4-5")


@pytest.fixture
def place(rough_place: Place) -> Iterator[Place]:
    """Return a place with the rules of this module, which are removed afterwards."""
    rules = rough_place.home / "approvals.yaml"
    rules.write_text(RULES)
    yield rough_place
    rules.unlink()


def marks(agent: Path) -> str:
    """Return the output of the command, in whichever folder it is by now."""
    found = [*agent.glob("runs/*/nodes/*/*/marks.txt")]
    return found[0].read_text() if found else ""


def results(agent: Path) -> str:
    """Return the results of the workers' calls."""
    files = agent.glob("runs/*/workers/*/conversation.jsonl")
    records = [record for file in files for record in whole_lines(file)]
    return "\n".join(r["content"] for r in records if r["kind"] == "tool.finished")


def test_denied_by_a_rule_by_the_human_and_allowed_once(place: Place) -> None:
    steps = [bash("rm -rf /data"), MARK, MARK, bash("ls"), DONE]
    place.plays(coordinator=one_worker("ada"), ada=steps)
    agent = place.begin("words")
    denied = "A rule of this house 'never' does not allow it: nothing is removed"
    assert denied in place.await_step("ada", 1).said
    first = place.await_question("words")
    assert first["options"] == ["allow once", "allow always", "deny"]
    assert (first["kind"], first["about"]["rule"]) == ("approval", "marks")
    assert "echo x >> marks.txt (it leaves a mark)" in first["question"]
    wrong = place.command("respond", first["id"], "perhaps")
    assert (wrong.returncode, "allow once, allow always, deny" in wrong.stderr) == (2, True)
    place.json("respond", first["id"], "deny: not yet")
    result = place.await_step("ada", 2).result("bash")
    assert "[denied] The human does not allow it: not yet." in result
    assert marks(agent) == ""
    place.json("respond", place.await_question("words")["id"], "1")
    place.await_end(agent)
    assert marks(agent) == "x\n"


def test_what_is_asked_about_is_there_for_programs(place: Place) -> None:
    writes = [write("guarded.md", "one\ntwo\n"), write("guarded.md", "one\n2 < 3\n")]
    place.plays(coordinator=one_worker("gil"), gil=[*writes, MARK, DONE])
    agent = place.begin("shows")
    first = place.await_question("shows")
    assert first["choices"][:2] == [
        {"key": "1", "answer": "allow once"},
        {"key": "2", "answer": "allow always"},
    ]
    assert first["command"] is None
    assert "+one\n+two" in first["diff"]
    place.json("respond", first["id"], "1")
    second = until(
        lambda: [q for q in place.json("questions", "shows") if q["id"] != first["id"]], "another"
    )[0]
    assert second["diff"].splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2 < 3"]
    place.json("respond", second["id"], "1")
    seen = (first["id"], second["id"])
    third = until(
        lambda: [q for q in place.json("questions", "shows") if q["id"] not in seen], "a third"
    )[0]
    assert (third["command"], third["diff"]) == ("echo x >> marks.txt", None)
    place.json("respond", third["id"], "1")
    place.await_end(agent)


def test_allowed_for_always_until_it_is_taken_back(place: Place) -> None:
    place.plays(coordinator=one_worker("bob"), bob=[MARK, MARK, MARK, DONE])
    agent = place.begin("always")
    place.json("respond", place.await_question("always")["id"], "allow always")
    place.await_end(agent)
    assert marks(agent) == "x\nx\nx\n"
    [standing] = place.json("approvals", "always")
    assert (standing["tool"], standing["pattern"]) == ("bash", "echo x >> marks.txt")
    place.kill("human")
    assert "revoked" in place.retried("approvals", "--revoke", standing["id"])
    assert place.json("approvals", "always") == []


@pytest.mark.parametrize(
    ("name", "title"),
    [("first", "worker cleo"), ("second", "coordinator second"), ("third", "human")],
)
def test_an_open_approval_outlives_a_kill_and_the_action_happens_once(
    place: Place, name: str, title: str
) -> None:
    place.plays(coordinator=one_worker("cleo"), cleo=[MARK, DONE])
    agent = place.begin(name)
    asked = place.await_question(name)
    place.kill(title)
    place.retried("respond", asked["id"], "allow once")
    place.kill(title)
    place.await_end(agent)
    # The second kill may hit the command itself; its worker is informed, and it is not repeated.
    assert marks(agent) in (("", "x\n") if UNKNOWN_OUTCOME in results(agent) else ("x\n",))
    assert "answered" in place.retried("questions", name, "--all")
    assert len(place.json("questions", name, "--all")) == 1


def test_an_interruption_takes_the_question_back(place: Place) -> None:
    place.plays(coordinator=one_worker("dan"), dan=[MARK, DONE])
    agent = place.begin("taken-back")
    asked = place.await_question("taken-back")
    place.json("send", "taken-back", "Leave it", "--to", "dan", "--mode", "interrupt")
    assert place.await_step("dan", 1).result("bash") == INTERRUPTED_CALL
    late = place.command("respond", asked["id"], "allow once")
    assert (late.returncode, "was withdrawn" in late.stderr) == (1, True)
    place.await_end(agent)
    assert marks(agent) == ""


def test_a_stage_waits_for_the_humans_word(place: Place) -> None:
    stage = {"name": "Guarded", "roles": [{"name": "eve", "prompt": "Write facts.md"}]}
    leads: Plays = [call("launch_roles", stage=stage), WAIT, finish_with("wait")]
    place.plays(coordinator=leads, eve=[DONE])
    agent = place.begin("guarded")
    asked = place.await_question("guarded")
    assert asked["question"] == (
        "May I start the stage 'Guarded'? ['allow always': every stage of *]"
    )
    assert place.json("show", "guarded")["status"] == "waiting_for_human"
    assert place.json("board", "guarded") == []
    place.json("respond", asked["id"], "yes")
    place.await_end(agent)


def test_a_limit_on_spending_may_be_lifted_for_always(place: Place) -> None:
    (place.home / "approvals.yaml").write_text(LIMIT)
    place.plays(coordinator=one_worker("fay"), fay=[FACT, DONE])
    agent = place.begin("lifted", *PRICED)
    asked = place.await_question("lifted")
    assert asked["about"]["tool"] == "spend"
    place.json("respond", asked["id"], "2")
    place.await_end(agent)
    [standing] = place.json("approvals", "lifted")
    assert (standing["tool"], standing["pattern"]) == ("spend", "limit")


def test_spending_over_a_limit_is_asked_for_and_its_refusal_ends_the_run(place: Place) -> None:
    (place.home / "approvals.yaml").write_text(LIMIT)
    place.plays(coordinator=[call("check_board"), finish("x")])
    agent = place.begin("costly", *PRICED)
    asked = place.await_question("costly")
    assert "May I continue spending?" in asked["question"]
    with Client.for_home(place.home) as client:
        client.answer(asked["id"], "deny: enough", via="console")
    assert "enough" in place.await_end(agent, "failed")["reason"]
