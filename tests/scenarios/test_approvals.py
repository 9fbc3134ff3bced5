"""Actions that need the human's approval, with real processes: allowed, refused, through kills."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.agent.loop import INTERRUPTED_CALL, UNKNOWN_OUTCOME
from agiraph.http.client import Client
from tests.fakes.model_server import call
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
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
def live_home(killable_home: LiveHome) -> Iterator[LiveHome]:
    """Return a running home with the rules of this module, which are removed afterwards."""
    rules = killable_home.home / "approvals.yaml"
    rules.write_text(RULES)
    yield killable_home
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


def test_call_is_denied_by_a_rule_or_the_human_or_allowed_once(live_home: LiveHome) -> None:
    steps = [bash("rm -rf /data"), MARK, MARK, bash("ls"), DONE]
    live_home.plays(coordinator=one_worker("ada"), ada=steps)
    agent = live_home.begin("words")
    denied = "A rule of this house 'never' does not allow it: nothing is removed"
    assert denied in live_home.await_step("ada", 1).said
    first = live_home.await_question("words")
    assert first["options"] == ["allow once", "allow always", "deny"]
    assert (first["kind"], first["about"]["rule"]) == ("approval", "marks")
    assert "echo x >> marks.txt (it leaves a mark)" in first["question"]
    wrong = live_home.command("respond", first["id"], "perhaps")
    assert (wrong.returncode, "allow once, allow always, deny" in wrong.stderr) == (2, True)
    live_home.json("respond", first["id"], "deny: not yet")
    result = live_home.await_step("ada", 2).result("bash")
    assert "[denied] The human does not allow it: not yet." in result
    assert marks(agent) == ""
    live_home.json("respond", live_home.await_question("words")["id"], "1")
    live_home.await_end(agent)
    assert marks(agent) == "x\n"


def test_approval_question_has_its_command_diff_and_choices(live_home: LiveHome) -> None:
    writes = [write("guarded.md", "one\ntwo\n"), write("guarded.md", "one\n2 < 3\n")]
    live_home.plays(coordinator=one_worker("gil"), gil=[*writes, MARK, DONE])
    agent = live_home.begin("shows")
    first = live_home.await_question("shows")
    assert first["choices"][:2] == [
        {"key": "1", "answer": "allow once"},
        {"key": "2", "answer": "allow always"},
    ]
    assert first["command"] is None
    assert "+one\n+two" in first["diff"]
    live_home.json("respond", first["id"], "1")
    second = until(
        lambda: [q for q in live_home.json("questions", "shows") if q["id"] != first["id"]],
        "another",
    )[0]
    assert second["diff"].splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2 < 3"]
    live_home.json("respond", second["id"], "1")
    seen = (first["id"], second["id"])
    third = until(
        lambda: [q for q in live_home.json("questions", "shows") if q["id"] not in seen], "a third"
    )[0]
    assert (third["command"], third["diff"]) == ("echo x >> marks.txt", None)
    live_home.json("respond", third["id"], "1")
    live_home.await_end(agent)


def test_standing_approval_applies_until_it_is_revoked(live_home: LiveHome) -> None:
    live_home.plays(coordinator=one_worker("bob"), bob=[MARK, MARK, MARK, DONE])
    agent = live_home.begin("always")
    live_home.json("respond", live_home.await_question("always")["id"], "allow always")
    live_home.await_end(agent)
    assert marks(agent) == "x\nx\nx\n"
    [standing] = live_home.json("approvals", "always")
    assert (standing["tool"], standing["pattern"]) == ("bash", "echo x >> marks.txt")
    live_home.kill("human")
    assert "revoked" in live_home.retried("approvals", "--revoke", standing["id"])
    assert live_home.json("approvals", "always") == []


@pytest.mark.parametrize(
    ("name", "title"),
    [("first", "worker cleo"), ("second", "coordinator second"), ("third", "human")],
)
def test_open_approval_survives_a_kill_and_the_action_happens_once(
    live_home: LiveHome, name: str, title: str
) -> None:
    live_home.plays(coordinator=one_worker("cleo"), cleo=[MARK, DONE])
    agent = live_home.begin(name)
    asked = live_home.await_question(name)
    live_home.kill(title)
    live_home.retried("respond", asked["id"], "allow once")
    live_home.kill(title)
    live_home.await_end(agent)
    # The second kill may hit the command itself; its worker is informed, and it is not repeated.
    assert marks(agent) in (("", "x\n") if UNKNOWN_OUTCOME in results(agent) else ("x\n",))
    assert "answered" in live_home.retried("questions", name, "--all")
    assert len(live_home.json("questions", name, "--all")) == 1


def test_interruption_withdraws_the_question(live_home: LiveHome) -> None:
    live_home.plays(coordinator=one_worker("dan"), dan=[MARK, DONE])
    agent = live_home.begin("taken-back")
    asked = live_home.await_question("taken-back")
    live_home.json("send", "taken-back", "Leave it", "--to", "dan", "--mode", "interrupt")
    assert live_home.await_step("dan", 1).result("bash") == INTERRUPTED_CALL
    late = live_home.command("respond", asked["id"], "allow once")
    assert (late.returncode, "was withdrawn" in late.stderr) == (1, True)
    live_home.await_end(agent)
    assert marks(agent) == ""


def test_stage_waits_for_the_approval_of_the_human(live_home: LiveHome) -> None:
    stage = {"name": "Guarded", "roles": [{"name": "eve", "prompt": "Write facts.md"}]}
    leads: Plays = [call("launch_roles", stage=stage), WAIT, finish_with("wait")]
    live_home.plays(coordinator=leads, eve=[DONE])
    agent = live_home.begin("guarded")
    asked = live_home.await_question("guarded")
    assert asked["question"] == (
        "May I start the stage 'Guarded'? ['allow always': every stage of *]"
    )
    assert live_home.json("show", "guarded")["status"] == "waiting_for_human"
    assert live_home.json("board", "guarded") == []
    live_home.json("respond", asked["id"], "yes")
    live_home.await_end(agent)


def test_a_limit_on_spending_may_be_lifted_for_always(live_home: LiveHome) -> None:
    (live_home.home / "approvals.yaml").write_text(LIMIT)
    live_home.plays(coordinator=one_worker("fay"), fay=[FACT, DONE])
    agent = live_home.begin("lifted", *PRICED)
    asked = live_home.await_question("lifted")
    assert asked["about"]["tool"] == "spend"
    live_home.json("respond", asked["id"], "2")
    live_home.await_end(agent)
    [standing] = live_home.json("approvals", "lifted")
    assert (standing["tool"], standing["pattern"]) == ("spend", "limit")


def test_spending_over_a_limit_needs_approval_and_a_refusal_ends_the_run(
    live_home: LiveHome,
) -> None:
    (live_home.home / "approvals.yaml").write_text(LIMIT)
    live_home.plays(coordinator=[call("check_board"), finish("x")])
    agent = live_home.begin("costly", *PRICED)
    asked = live_home.await_question("costly")
    assert "May I continue spending?" in asked["question"]
    with Client.for_home(live_home.home) as client:
        client.answer(asked["id"], "deny: enough", via="console")
    assert "enough" in live_home.await_end(agent, "failed")["reason"]
