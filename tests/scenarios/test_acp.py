"""An agent that speaks the Agent Client Protocol as a worker: a real process, scripted."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agiraph.external.acp import LOST
from tests.fakes import acp_agent
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject, Outcome
from tests.scenarios.steps import Reaction, after_message, led, tell

Steps = list[JsonObject]


Lead = Callable[..., Outcome]
BEGUN = [{"say": "I begin."}, {"die": 9, "unless": "died.txt"}]
DONE_AFTER_ALL = [*BEGUN, {"local": "_result.md", "content": "Done after all.\n"}]


@pytest.fixture
def lead(live_home: LiveHome, tmp_path: Path) -> Lead:
    """Return a function that has the scripted agent play these turns on the node of worker NAME."""
    known: dict[str, Any] = {"driver": "acp", "command": ["python3", acp_agent.__file__]}
    shown = [str(Path(acp_agent.__file__).parent), str(tmp_path)]
    script = tmp_path / "script.json"
    known["command"].append(str(script))
    known |= {"resume": ["{options}"], "readable": shown, "rule_exempt": True}
    ways = ("modes", "resumes", "forgets")
    known |= {"parameters": {way: {"yes": [way]} for way in ways}}
    presets = {"scripted": known, "moded": {**known, "rules": "asked", "mode": "default"}}
    (live_home.home / "agents.yaml").write_text(json.dumps(presets))

    def run(
        name: str, *turns: Steps, between: Sequence[Reaction] = (), command: str = "scripted"
    ) -> Outcome:
        script.write_text(json.dumps(turns))
        live_home.plays(coordinator=led(name, command, *between))
        return live_home.complete("Have it made")

    return run


def texts_of(outcome: Outcome) -> list[str]:
    """Return the agent's texts, in order."""
    [worker] = (outcome.run / "workers").iterdir()
    records = whole_lines(worker / "conversation.jsonl")
    return [record["text"] for record in records if record["kind"] == "said"]


def test_acp_agent_writes_asks_is_interrupted_and_continues_in_one_session(lead: Lead) -> None:
    holding = {"local": "_outbox.md", "content": "@coordinator: I hold\n\n"}
    stop = tell("ann", "that is enough", mode="interrupt")
    outcome = lead(
        "ann",
        [
            {"say": "I look \ud83d."},
            {"plan": ["look", "write"]},
            {"tool": "ls", "kind": "execute", "input": {"command": "ls"}, "gives": "nothing yet"},
            {"write": "made.txt", "content": "made through the worker\n"},
            {"read": "made.txt"},
            {"read": "/etc/passwd"},
            {"ask": "make it", "kind": "execute", "input": {"command": "make"}},
            {"cost": 0.25},
            holding,
            {"hold": True},
        ],
        [{"local": "_result.md", "content": "Made made.txt.\n"}, {"say": "All done."}],
        between=[after_message("I hold", stop)],
    )
    assert outcome.published("ann-tool") == {
        "made.txt": "made through the worker\n",
        "_result.md": "Made made.txt.\n",
    }
    said = texts_of(outcome)
    assert said[:2] == ["I look \ufffd.", "Plan:\n- [ ] look\n- [ ] write"]
    assert any("{'content': 'made through the worker\\n'}" in text for text in said)
    assert any("is outside of" in text for text in said)
    assert "outcome once" in "".join(said)
    assert said[-1] == "All done."
    [called] = [e["data"] for e in outcome.events("tool.called") if e["entity"] == "ann"][:1]
    assert (called["tool"], called["arguments"]) == ("bash", {"command": "ls"})
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.data("outside.ended")
    assert (ended["cost_usd"], ended["input_tokens"]) == (0.25, 20)


def test_a_killed_agent_is_resumed_and_nothing_is_reported_twice(lead: Lead) -> None:
    outcome = lead("bea", DONE_AFTER_ALL)
    assert outcome.published("bea-tool")["_result.md"] == "Done after all.\n"
    sessions = [e["session"] for e in outcome.data("outside.started")]
    assert sessions == ["", "s1"]
    assert "REPLAYED" not in "".join(texts_of(outcome))


@pytest.fixture
def denying(live_home: LiveHome) -> Iterator[None]:
    """Keep a rule that denies commands with `date` while the test runs."""
    rules = live_home.home / "approvals.yaml"
    rules.write_text("rules:\n  - {name: no-date, tool: bash, pattern: '*date*', action: deny}\n")
    yield
    rules.unlink()


def spawned(outcome: Outcome) -> JsonObject:
    """Return the result of `spawn_worker` for the coordinator."""
    [told] = [
        record["content"]
        for record in outcome.conversation()
        if record["kind"] == "tool.finished" and record["name"] == "spawn_worker"
    ]
    found: JsonObject = json.loads(told)
    return found


@pytest.mark.usefixtures("denying")
def test_agent_with_its_own_mode_obeys_the_rules_and_fails_when_it_changes_the_mode(
    lead: Lead,
) -> None:
    date = {"ask": "date", "kind": "execute", "input": {"command": "date"}}
    outcome = lead(
        "cal",
        [
            *BEGUN,
            {**date, "input": {"command": "echo hi"}},
            {"local": "greeted.txt", "content": ""},
            date,
            {"local": "dated.txt", "content": ""},
        ],
        [{"local": "_result.md", "content": "Done."}, {"mode": "auto"}, {"hold": True}],
        command="moded modes=yes",
    )
    [failed] = outcome.data("node.failed")
    reason = "moded was ended: it is in its mode 'auto', and is to work in 'default' only"
    assert failed["reason"] == reason
    assert [e["session"] for e in outcome.data("outside.started")] == ["", "s1"]
    assert outcome.data("outside.ended")[-1]["problem"] in reason
    [refused] = outcome.data("tool.refused")
    assert (refused["rule"], refused["subject"]) == ("no-date", "date")
    [folder] = (outcome.run / "nodes").glob("cal-tool*/scratch")
    assert (folder / "greeted.txt").exists()
    assert not (folder / "dated.txt").exists()
    assert "warnings" not in spawned(outcome)
    assert outcome.events("outside.warning") == []


def test_agent_that_repeats_one_permission_request_is_ended(lead: Lead) -> None:
    make = {"ask": "make it", "kind": "execute", "input": {"command": "make"}}
    outcome = lead("eve", [make] * 60)
    [failed] = outcome.data("node.failed")
    reason = "scripted was ended: it asked more than 40 times for the same action, bash: make"
    assert failed["reason"] == reason
    assert len(outcome.events("outside.started")) == 1, "another start would ask on"


@pytest.mark.usefixtures("denying")
def test_agent_without_its_conversation_reports_that_and_restarts_its_task(lead: Lead) -> None:
    outcome = lead("dot", DONE_AFTER_ALL, command="scripted resumes=yes forgets=yes")
    [completed] = outcome.data("node.completed")
    summary = "Done after all.\n\n(Its conversation was lost at start 2, and begun again.)"
    assert completed["summary"] == summary
    heard = [e["content"] for e in outcome.data("message.sent")]
    [lost] = [text for text in heard if "was lost when it was started again" in text]
    assert any(lost[:60] in str(r) for r in outcome.conversation()), "the coordinator is told"
    [home] = (outcome.run / "workers").glob("dot-*/outside")
    prompts = [path.read_text() for path in home.glob("prompt-0-*.txt")]
    [again] = [text for text in prompts if text.startswith(LOST)]
    assert "# Task: dot-tool" in again
    [told] = spawned(outcome)["warnings"]
    assert "scripted does not ask before it acts: the rule 'no-date'" in told
    [warned] = outcome.data("outside.warning")
    assert (warned["text"], warned["rules"]) == (told, "sandbox")
    before = outcome.types()
    assert before.index("outside.warning") < before.index("outside.started")
