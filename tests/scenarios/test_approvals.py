"""Actions that need the human's word, with real processes: allowed, refused, and through kills."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.agent.loop import INTERRUPTED_CALL, UNKNOWN_OUTCOME
from agiraph.http.client import Client
from tests.fakes.model_server import Brain, Reply, call
from tests.integration.house import until
from tests.scenarios.house import JsonObject
from tests.scenarios.place import Place, one_worker, whole_lines
from tests.scenarios.test_steering import await_end, begin, of

RULES = """
rules:
  - {name: look, tool: bash, pattern: "ls*", action: allow}
  - {name: marks, tool: bash, pattern: "echo*", action: ask, reason: it leaves a mark}
  - {name: never, tool: bash, pattern: "rm*", action: deny, reason: nothing is removed here}
  - {name: stages, tool: stage, worker: coordinator, pattern: Guarded, action: ask}
"""
MARK = call("bash", command="echo x >> marks.txt")
FACT = call("write_file", path="fact.md", content="a fact")
PUBLISH = call("publish", summary="done")


@pytest.fixture(scope="module")
def place(rough_place: Place) -> Iterator[Place]:
    """Return a place whose rules are ours as long as we are here."""
    rules = rough_place.home / "approvals.yaml"
    rules.write_text(RULES)
    yield rough_place
    rules.unlink()


def open_approval(place: Place, agent: str) -> JsonObject:
    """Wait for the one open question of an agent."""
    [question] = until(lambda: place.json("questions", agent), "an approval is asked for")
    return dict(question)


def patiently(place: Place, *args: str) -> str:
    """Run a command, again while the gateway is being restarted; return what it printed."""
    done = until(
        lambda: d if (d := place.command(*args)).returncode == 0 else None, f"agiraph {args}"
    )
    return done.stdout


def marks(agent: Path) -> str:
    """Return what the command has left, wherever it stands by now."""
    found = [*agent.glob("runs/*/nodes/*/*/marks.txt")]
    return found[0].read_text() if found else ""


def results(agent: Path) -> str:
    """Return what the workers' calls came to."""
    files = agent.glob("runs/*/workers/*/conversation.jsonl")
    records = [record for file in files for record in whole_lines(file)]
    return "\n".join(r["content"] for r in records if r["kind"] == "tool.finished")


def test_denied_by_a_rule_by_the_human_and_allowed_once(place: Place) -> None:
    remove = call("bash", command="rm -rf /data")
    steps = [remove, MARK, MARK, call("bash", command="ls"), PUBLISH]
    place.plays(coordinator=one_worker("ada"), ada=steps)
    agent = begin(place, "words")
    seen = place.server.wait_for(of("ada", 1))
    assert "A rule of this house 'never' does not allow it: nothing is removed" in seen.said
    first = open_approval(place, "words")
    assert first["options"] == ["allow once", "allow always", "deny"]
    assert (first["kind"], first["about"]["rule"]) == ("approval", "marks")
    assert "echo x >> marks.txt (it leaves a mark)" in first["question"]
    wrong = place.command("respond", first["id"], "perhaps")
    assert (wrong.returncode, "allow once, allow always, deny" in wrong.stderr) == (2, True)
    place.json("respond", first["id"], "deny: not yet")
    seen = place.server.wait_for(of("ada", 2))
    assert "[denied] The human does not allow it: not yet." in seen.result("bash")
    assert marks(agent) == ""
    second = open_approval(place, "words")
    place.json("respond", second["id"], "1")
    await_end(agent)
    assert marks(agent) == "x\n"
    place.command("stop", "words")


def test_allowed_for_always_until_it_is_taken_back(place: Place) -> None:
    place.plays(coordinator=one_worker("bob"), bob=[MARK, MARK, MARK, PUBLISH])
    agent = begin(place, "always")
    place.json("respond", open_approval(place, "always")["id"], "allow always")
    await_end(agent)
    assert marks(agent) == "x\nx\nx\n"
    [standing] = place.json("approvals", "always")
    assert (standing["tool"], standing["pattern"]) == ("bash", "echo x >> marks.txt")
    place.kill("human")
    assert "revoked" in patiently(place, "approvals", "--revoke", standing["id"])
    assert place.json("approvals", "always") == []
    place.command("stop", "always")


@pytest.mark.parametrize("victim", ["worker cleo", "coordinator", "human"])
def test_an_open_approval_outlives_a_kill_and_the_action_happens_once(
    place: Place, victim: str
) -> None:
    name = f"killed-{victim.split()[0]}"
    place.plays(coordinator=one_worker("cleo"), cleo=[MARK, PUBLISH])
    agent = begin(place, name)
    asked = open_approval(place, name)
    place.kill(f"coordinator {name}" if victim == "coordinator" else victim)
    patiently(place, "respond", asked["id"], "allow once")
    place.kill(f"coordinator {name}" if victim == "coordinator" else victim)
    await_end(agent)
    # The second kill may meet the command itself; then its worker is told so, and it is not redone.
    assert marks(agent) in (("", "x\n") if UNKNOWN_OUTCOME in results(agent) else ("x\n",))
    assert "answered" in patiently(place, "questions", name, "--all")
    assert len(place.json("questions", name, "--all")) == 1
    place.command("stop", name)


def test_an_interruption_takes_the_question_back(place: Place) -> None:
    place.plays(coordinator=one_worker("dan"), dan=[MARK, PUBLISH])
    agent = begin(place, "taken-back")
    asked = open_approval(place, "taken-back")
    place.json("send", "taken-back", "Leave it", "--to", "dan", "--mode", "interrupt")
    seen = place.server.wait_for(of("dan", 1))
    assert seen.result("bash") == INTERRUPTED_CALL
    late = place.command("respond", asked["id"], "allow once")
    assert (late.returncode, "was withdrawn" in late.stderr) == (1, True)
    await_end(agent)
    assert marks(agent) == ""
    place.command("stop", "taken-back")


def test_a_stage_waits_for_the_humans_word(place: Place) -> None:
    role = {"name": "eve", "prompt": "Write facts.md"}
    stage = {"name": "Guarded", "roles": [role]}
    leads: list[Reply | Brain] = [
        call("launch_roles", stage=stage),
        call("wait"),
        lambda seen: call("finish", summary=f"Done: {seen.result('wait')}"),
    ]
    place.plays(coordinator=leads, eve=[PUBLISH])
    agent = begin(place, "guarded")
    asked = open_approval(place, "guarded")
    assert asked["question"] == "May I start the stage 'Guarded'?"
    assert place.json("show", "guarded")["status"] == "waiting_for_human"
    assert place.json("board", "guarded") == []
    place.json("respond", asked["id"], "yes")
    await_end(agent)
    place.command("stop", "guarded")


def test_a_limit_on_spending_may_be_lifted_for_always(place: Place) -> None:
    limit = "rules: [{name: limit, tool: spend, over_usd: 0.000001, action: ask}]"
    (place.home / "approvals.yaml").write_text(limit)
    try:
        place.plays(coordinator=one_worker("fay"), fay=[FACT, PUBLISH])
        agent = begin(place, "lifted", "anthropic/claude-sonnet-4-5")
        asked = open_approval(place, "lifted")
        assert asked["about"]["tool"] == "spend"
        place.json("respond", asked["id"], "2")
        await_end(agent)
        [standing] = place.json("approvals", "lifted")
        assert (standing["tool"], standing["pattern"]) == ("spend", "limit")
    finally:
        (place.home / "approvals.yaml").write_text(RULES)
        place.command("stop", "lifted")


def test_spending_over_a_limit_is_asked_for_and_its_refusal_ends_the_run(place: Place) -> None:
    limit = "rules: [{name: limit, tool: spend, over_usd: 0, action: ask, worker: coordinator}]\n"
    (place.home / "approvals.yaml").write_text(limit)
    try:
        place.plays(coordinator=[call("check_board"), call("finish", summary="x")])
        started = place.json(
            "run", "x", "--name", "costly", "--model", "anthropic/claude-sonnet-4-5", "--detach"
        )
        agent = place.home / "agents" / str(started["agent"])
        asked = open_approval(place, "costly")
        assert "May I continue spending?" in asked["question"]
        with Client.for_home(place.home) as client:
            client.answer(asked["id"], "deny: enough", via="console")
        record = until(lambda: _ended(place), "the run has ended")
        assert record["status"] == "failed"
        assert "enough" in record["reason"]
        assert agent.is_dir()
    finally:
        (place.home / "approvals.yaml").write_text(RULES)
        place.command("stop", "costly")


def _ended(place: Place) -> JsonObject | None:
    record: JsonObject = place.json("show", "costly")
    return record if record["status"] in ("completed", "failed") else None
