"""Triggers on real processes, with a clock that the test turns: their actions and costs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import Reply, Script, call, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home, whole_lines
from tests.scenarios.scenario_home import JsonObject
from tests.scenarios.steps import WORK, ask, finish, one_worker
from tests.scenarios.turned_clock import turn

DAY = 86400.0


class AdjustedClockHome(LiveHome):
    """A running home with a clock that the test sets."""

    program = ("tests.scenarios.turned_clock:supervise",)

    def turn(self, seconds: float) -> None:
        """Turn the clock forward; return when the scheduler has reacted."""
        shown = repr(turn(self.home, seconds))
        seen = self.home / "seen"
        until(lambda: seen.exists() and seen.read_text() == shown, "the clock has seen the time")

    def add(self, agent: str, *args: str) -> JsonObject:
        """Add a trigger."""
        found: JsonObject = self.json("triggers", agent, "add", *args)
        return found

    def trigger(self, agent: str, id: str) -> JsonObject:
        """Return the current state of a trigger."""
        rows = self.json("triggers", agent, "list", "--all")
        return next(row for row in rows if row["id"] == id)

    def is_parked(self) -> bool:
        """Whether no entity of an agent has a process."""
        rows = [row for row in self.json("ps") if row["kind"] in ("coordinator", "worker")]
        return bool(rows) and not any(row["pid"] for row in rows)

    def asked(self) -> int:
        """Return how many model calls there were."""
        return len(self.server.requests)


@pytest.fixture(scope="module")
def live_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    home = tmp_path_factory.mktemp("home")
    note = "echo $AGIRAPH_TRIGGER_NAME >> noted.txt"
    slow = "echo begun >> slow.txt; sleep 300.061; echo done >> slow.txt"
    settings = {"run": {"park_after_seconds": 0.3}, "callbacks": {"note": note, "slow": slow}}
    turn(home, 0)
    with running_home(home, AdjustedClockHome, settings) as made:
        yield made


def finished(live_home: AdjustedClockHome, name: str) -> Path:
    """Run an agent to the end of its first run, and wait until it sleeps; return its folder."""
    live_home.plays(coordinator=[*one_worker("ada"), say("That was all.")], ada=WORK)
    agent = live_home.begin(name)
    live_home.await_end(agent)
    until(live_home.is_parked, "everybody sleeps")
    return agent


def test_idle_agent_with_triggers_costs_nothing_for_ten_days(
    live_home: AdjustedClockHome,
) -> None:
    finished(live_home, "quiet")
    beat = live_home.add("quiet", "Anything new?", "--every", "30m")
    live_home.add("quiet", "See why", "--on", "node.failed")
    live_home.add("quiet", "Happy new year", "--at", "2099-01-01T00:00", "--zone", "Europe/Berlin")
    until(live_home.is_parked, "everybody sleeps")
    asked = live_home.asked()
    for _ in range(40):
        live_home.turn(DAY / 4)
    assert live_home.asked() == asked
    assert live_home.is_parked()
    assert not [title for title in live_home.titles() if "quiet" in title]
    state = live_home.trigger("quiet", beat["id"])
    assert (state["fired"], state["status"]) == (0, "active")
    assert state["skipped"] >= 40


SAID = 5
"""Answers of the coordinator in the first run that `finished` plays."""


def next_run(*replies: Reply) -> Script:
    """Return a responder whose coordinator continues with these replies after its first run."""
    return Script({"coordinator": [*[say("(said before)")] * SAID, *replies]})


def test_trigger_begins_the_next_run_once_despite_a_clock_kill(
    live_home: AdjustedClockHome,
) -> None:
    agent = finished(live_home, "weekly")
    live_home.server.responder = next_run(finish("The report."), say("It is written."))
    trigger = live_home.add("weekly", "Write the weekly report", "--cron", "0 9 * * MON")
    asked = live_home.asked()
    turn(live_home.home, 8 * DAY)
    live_home.kill("agiraph: clock")
    until(lambda: len(list(agent.glob("runs/*/_output.md"))) == 2, "a second run has ended")
    until(live_home.is_parked, "everybody sleeps")
    live_home.turn(3600)
    assert live_home.asked() == asked + 2
    assert len(list(agent.glob("runs/*"))) == 2
    assert json.loads((agent / "agent.json").read_text())["goal"] == "Write the weekly report"
    state = live_home.trigger("weekly", trigger["id"])
    assert (state["fired"], state["status"]) == (1, "active")
    fired = [e for e in whole_lines(agent / "events.jsonl") if e["type"] == "trigger.fired"]
    assert [event["data"]["trigger_id"] for event in fired] == [trigger["id"]]
    assert not live_home.server.problems


def test_refused_key_pauses_the_trigger_and_notifies_the_human(
    live_home: AdjustedClockHome,
) -> None:
    agent = finished(live_home, "poor")
    refused = Reply(status=401, error=("authentication_error", "invalid x-api-key"))
    live_home.server.responder = next_run(refused)
    trigger = live_home.add("poor", "Look at the news", "--every", "1h")
    assert live_home.command("send", "poor", "Any news?").returncode == 0
    live_home.await_end(agent)
    until(live_home.is_parked, "everybody sleeps")
    asked = live_home.asked()
    live_home.turn(3600)
    until(lambda: live_home.trigger("poor", trigger["id"])["status"] == "paused", "it is paused")
    until(lambda: live_home.json("show", "poor")["status"] == "failed", "the run has failed")
    assert "invalid x-api-key" in live_home.trigger("poor", trigger["id"])["reason"]
    until(live_home.is_parked, "everybody sleeps")
    tried = live_home.asked()
    assert tried > asked
    live_home.turn(DAY)
    assert live_home.asked() == tried
    said = [path.read_text() for path in agent.glob("runs/*/_messages/*.md")]
    assert any(f"agiraph triggers {agent.name} resume {trigger['id']}" in text for text in said)


def test_trigger_messages_nodes_and_callbacks_need_no_model_call(
    live_home: AdjustedClockHome,
) -> None:
    leads = [*one_worker("eve")[:3], ask("Enough?")]
    live_home.plays(coordinator=leads, eve=[*WORK, *WORK])
    agent = live_home.begin("busy")
    until(lambda: len(live_home.json("questions", "busy")) == 1, "it asks")
    until(live_home.is_parked, "everybody sleeps")
    asked = live_home.asked()
    live_home.add("busy", "The build is due", "--in", "60s", "--say", "human")
    again = live_home.add("busy", "--in", "60s", "--node", "eve-facts")
    live_home.add("busy", "--in", "60s", "--callback", "note", "--name", "a note")
    refused = live_home.command("triggers", "busy", "add", "--in", "60s", "--callback", "rm")
    assert refused.returncode == 2
    assert "unknown callback 'rm' (known: note, slow)" in refused.stderr
    live_home.turn(60)
    published = "runs/*/nodes/eve-facts*/published/facts.md"
    until(lambda: len(list(agent.glob(published))) == 2, "the node was run again")
    until(lambda: (live_home.home / "noted.txt").exists(), "the callback has run")
    assert (live_home.home / "noted.txt").read_text() == "a note\n"

    def is_reported() -> bool:
        said = [path.read_text() for path in agent.glob("runs/*/_messages/*.md")]
        return any("(trigger 'The build is due') The build is due" in text for text in said)

    until(is_reported, "a message to the human")
    assert live_home.asked() == asked + 2, "only the worker thought"
    spent = {row["key"]: row["calls"] for row in live_home.json("usage", "busy", "--by", "trigger")}
    assert spent == {"": spent[""], again["id"]: 2}, "what the worker spent is the trigger's"


def test_callback_interrupted_by_a_clock_kill_is_reported_and_not_repeated(
    live_home: AdjustedClockHome,
) -> None:
    agent = finished(live_home, "cut-short")
    live_home.add("cut-short", "--in", "60s", "--callback", "slow", "--name", "slow")
    live_home.turn(60)
    begun = live_home.home / "slow.txt"
    until(begun.exists, "the callback runs")
    live_home.kill("agiraph: clock")

    def told() -> list[JsonObject]:
        events = whole_lines(agent / "events.jsonl")
        return [event["data"] for event in events if event["type"] == "trigger.callback"]

    until(told, "the report of its end")
    assert [one["ended"] for one in told()] == ["it was interrupted; its outcome is unknown"]
    assert begun.read_text() == "begun\n"
    assert not [title for title in live_home.titles() if "300.061" in title]
    book = json.loads((agent / "triggers.json").read_text())
    assert [trigger["fired"] for trigger in book["triggers"]] == [1]


LATER_RULES = """
rules:
- {name: silence, action: deny, tool: send_message, pattern: "human"}
- {name: repeats, action: ask, tool: create_work_node}
- {name: commands, action: deny, tool: schedule, pattern: "*run_callback*"}
"""


def scheduled(kind: str, **payload: str) -> Reply:
    """Return a call that creates a trigger of the team for this action in a minute."""
    action = {"type": kind, "payload": payload}
    return call("schedule", type="delayed", config={"delay_seconds": 60}, action=action)


def test_later_rule_applies_to_the_action_of_a_trigger(
    live_home: AdjustedClockHome,
) -> None:
    later = [
        scheduled("send_message", to="human", content="The build is due"),
        scheduled("run_node", node_id="eve-facts"),
        scheduled("run_callback", callback="note"),
        ask("Enough?"),
        say("I have seen it."),
    ]
    live_home.plays(coordinator=[*one_worker("eve")[:3], *later], eve=WORK)
    agent = live_home.begin("ruled")
    until(lambda: len(live_home.json("questions", "ruled")) == 1, "it asks")
    until(live_home.is_parked, "everybody sleeps")
    live_home.add("ruled", "A word of the person", "--in", "60s", "--say", "human")
    rules = live_home.home / "approvals.yaml"
    rules.write_text(LATER_RULES)
    try:
        live_home.turn(60)

        def of_type(kind: str) -> list[JsonObject]:
            events = whole_lines(agent / "events.jsonl")
            return [event["data"] for event in events if event["type"] == kind]

        until(lambda: len(of_type("trigger.refused")) == 3, "all are refused")
        until(lambda: of_type("trigger.done"), "the person's own trigger is carried out")
    finally:
        rules.unlink()
    reasons = {one["reason"] for one in of_type("trigger.refused")}
    assert reasons == {
        "a rule denies it: silence",
        "a rule requires approval: repeats",
        "a rule denies it: commands",
    }
    assert of_type("trigger.callback") == []
    said = "".join(path.read_text() for path in agent.glob("runs/*/_messages/*.md"))
    assert "A word of the person" in said
    assert "The build is due" not in said
    assert len(list(agent.glob("runs/*/nodes/eve-facts*"))) == 1
    live_home.stop(agent.name)
