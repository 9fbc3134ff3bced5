"""A run that stands still is noticed: its coordinator is notified, and then the run fails."""

import json
import threading
from pathlib import Path

from agiraph.agentic_team.decisions import TeamDecision
from agiraph.http.api import CreateAgentRequest, TeamRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Brain, Reply, SeenRequest, call, calls, say
from tests.integration.house import until
from tests.scenarios.house import MODEL, JsonObject
from tests.scenarios.place import Place, whole_lines
from tests.scenarios.steps import (
    DONE,
    WAIT,
    Plays,
    Steps,
    ask,
    by_node,
    finish,
    node,
    publish,
    spawn,
    tell,
)

STANDS = "[Board]: the run stands still"
TEAM = calls(spawn("ada"), spawn("bob"), node("a", "ada"), node("b", "bob"))
ALL_WAIT: dict[str, Steps] = {"ada": lambda _: WAIT, "bob": lambda _: WAIT}


def begins_and_says(text: str) -> Brain:
    """Return a coordinator that creates two nodes, and then only speaks."""
    return lambda seen: TEAM if seen.step == 0 else say(text)


def events_of(agent: Path, kind: str) -> list[JsonObject]:
    return [event for event in whole_lines(agent / "events.jsonl") if event["type"] == kind]


def notices(place: Place) -> list[str]:
    """Return the notices that the coordinator has received so far."""
    said = place.server.seen_by("coordinator")[-1].said
    return [line for line in said.split("\n") if "This is notice" in line]


def test_a_coordinator_that_only_waits_is_notified_twice_and_then_its_run_fails(
    drowsy_place: Place,
) -> None:
    place, gate = drowsy_place, threading.Event()

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        return Reply(text="Waiting.", gate=gate if STANDS in seen.said else None)

    place.plays(coordinator=coordinator, **ALL_WAIT)
    agent = place.begin("all-wait")
    place.server.wait_for(lambda seen: seen.is_for("coordinator") and STANDS in seen.said)
    shown = until(lambda: _standing(place, agent.name), "the standstill is shown")
    assert [one["entity"] for one in shown["standstill"]["waiting"]] == [
        "ada",
        "bob",
        "coordinator",
    ]
    rows = {row["name"]: row for row in place.json("ps") if row["address"].startswith(agent.name)}
    assert rows["all-wait"]["state"] == "standing_still"
    assert "ada (node 'a') waits for a message" in rows["all-wait"]["doing"]
    assert rows["ada"]["doing"] == "waits for a message"
    assert [one["name"] for one in place.json("agents", "--status", "standing_still")] == [
        "all-wait"
    ]
    gate.set()
    record = place.await_end(agent, "failed")
    assert "bob (node 'b') waits for a message since" in record["reason"]
    assert record["standstill"] is None
    assert len(notices(place)) == 2
    events = events_of(agent, "agent.standstill")
    assert [event["data"]["notices"] for event in events] == [1, 2]
    assert "the run stands still" in place.command("events", agent.name).stdout


def _standing(place: Place, agent: str) -> JsonObject | None:
    shown: JsonObject = place.json("show", agent)
    return shown if shown["status"] == "standing_still" else None


def test_a_coordinator_that_writes_to_those_who_wait_has_its_run_continue(
    drowsy_place: Place,
) -> None:
    place = drowsy_place

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        if STANDS in seen.said and not seen.results("send_message"):
            return calls(tell("ada", "Go on."), tell("bob", "Go on."), WAIT)
        return finish() if seen.results("wait") else say("Waiting.")

    place.plays(coordinator=coordinator, ada=[WAIT, DONE], bob=[WAIT, DONE])
    place.await_end(place.begin("acts"))
    assert len(notices(place)) == 1


def test_a_wait_of_the_coordinator_ends_with_a_notice(drowsy_place: Place) -> None:
    place = drowsy_place

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        return WAIT if STANDS not in seen.said else finish()

    place.plays(coordinator=coordinator, **ALL_WAIT)
    place.await_end(place.begin("notified-in-wait"))


def test_a_coordinator_that_waits_for_the_human_has_them_told_and_nobody_is_woken(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    place.plays(coordinator=[TEAM, ask("Which colour?"), finish()], **ALL_WAIT)
    agent = place.begin("asks")

    def told() -> list[str]:
        said = [row["content"] for row in place.json("messages", agent.name)]
        return [text for text in said if "stands still until you answer" in text]

    until(told, "the person is told")
    until(lambda: len(_parked(place, agent.name)) == 2, "both workers have parked")
    before = _parked(place, agent.name)
    assert place.json("show", agent.name)["status"] == "waiting_for_human"
    place.json("respond", str(place.await_question(agent.name)["id"]), "blue")
    place.await_end(agent)
    assert len(told()) == 1
    assert _starts(agent.name, place) == dict.fromkeys(before, 1), "nobody was woken for nothing"


def test_a_worker_that_waits_for_its_sub_node_is_woken_by_its_end_alone(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    nodes: dict[str, Plays] = {
        "whole": [node("part", wait=True), DONE],
        "part": [ask("Which colour?"), DONE],
    }
    place.plays(by_node([node("whole"), WAIT, finish()], nodes))
    agent = place.begin("nested")
    question = str(place.await_question(agent.name)["id"])
    until(lambda: len(_without_process(place, agent.name)) == 2, "both have parked")
    place.json("respond", question, "blue")
    place.await_end(agent)
    assert set(_starts(agent.name, place).values()) == {2}


def _without_process(place: Place, agent: str) -> list[str]:
    rows = [row for row in place.json("ps") if row["address"].startswith(f"{agent}/")]
    return [r["address"] for r in rows if r["pid"] is None and r["kind"] == "worker"]


def _parked(place: Place, agent: str) -> list[str]:
    rows = [row for row in place.json("ps") if row["address"].startswith(f"{agent}/")]
    return [row["address"] for row in rows if row["state"] == "parked"]


def _starts(agent: str, place: Place) -> dict[str, int]:
    """Return how often the process of each worker was started."""
    ready = [e["entity"] for e in events_of(place.home / "agents" / agent, "child.ready")]
    return {one: ready.count(one) for one in ready if not one.endswith("/coordinator")}


def test_a_wait_for_a_message_ends_by_itself_and_says_so(drowsy_place: Place) -> None:
    place = drowsy_place

    def ada(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("wait", timeout_seconds=1)
        outcome = json.loads(seen.result("wait"))
        assert outcome["nodes"] == []
        assert not outcome["interrupted_by_message"]
        return publish(outcome["note"])

    place.plays(
        coordinator=[calls(spawn("ada"), node("a", "ada")), WAIT, finish()],
        ada=ada,
    )
    agent = place.begin("in-time")
    place.await_end(agent)
    [done] = events_of(agent, "node.completed")
    expected = "There is no node to wait for, and no message has come in 1 s."
    assert done["data"]["summary"] == expected
    assert not events_of(agent, "agent.standstill")


def test_a_role_of_a_team_that_waits_is_told_that_nothing_will_come(drowsy_place: Place) -> None:
    place = drowsy_place
    done = TeamDecision(action="finalize", final_response="Ready")

    def lead(seen: SeenRequest) -> Reply:
        if not seen.results("wait"):
            return WAIT
        assert "no message will come by itself" in seen.result("wait")
        return publish(result=done.model_dump())

    place.plays(project_manager=lead)
    with Client.for_home(place.home) as client:
        asked = CreateAgentRequest(goal="Ship it", model=MODEL[1], team=TeamRequest())
        agent = client.create_agent(asked)
    place.begun.append(agent.id)
    place.await_end(place.home / "agents" / agent.id)


def test_a_worker_of_a_plan_that_leads_itself_is_told_that_nothing_will_come(
    drowsy_place: Place,
) -> None:
    place = drowsy_place

    def work(seen: SeenRequest) -> Reply:
        told = seen.results("wait")
        assert not told or "no message will come by itself" in told[-1]
        return publish("the facts") if told else WAIT

    place.plays(work)
    plan = "nodes: [{id: facts, task: Collect the facts}]"
    with Client.for_home(place.home) as client:
        asked = CreateAgentRequest(goal="Facts", model=MODEL[1], plan=plan, leader="plan")
        agent = client.create_agent(asked)
    place.begun.append(agent.id)
    place.await_end(place.home / "agents" / agent.id)
    assert not place.server.seen_by("coordinator")


def test_a_worker_that_is_interrupted_in_a_wait_works_and_its_run_does_not_stand_still(
    drowsy_place: Place,
) -> None:
    place, gate = drowsy_place, threading.Event()

    def ada(seen: SeenRequest) -> Reply:
        return WAIT if seen.step == 0 else Reply(calls=DONE.calls, gate=gate)

    held = threading.Event()
    place.plays(
        coordinator=[
            calls(spawn("ada"), node("a", "ada")),
            Reply(calls=WAIT.calls, gate=held),
            finish(),
        ],
        ada=ada,
    )
    agent = place.begin("interrupted")
    until(lambda: _status_of(place, agent.name, "a") == "blocked", "it waits")
    place.json("send", agent.name, "Stop waiting!", "--to", "ada", "--mode", "interrupt")
    held.set()
    place.server.wait_for(lambda seen: seen.is_for("ada") and "Stop waiting!" in seen.said)
    until(lambda: _status_of(place, agent.name, "a") == "running", "its node runs")
    gate.set()
    place.await_end(agent)
    assert not events_of(agent, "agent.standstill")


def _status_of(place: Place, agent: str, node: str) -> str:
    rows = place.json("board", agent)
    return next((str(row["status"]) for row in rows if row["name"] == node), "")


def test_a_cycle_of_an_infinite_run_that_stands_still_fails_the_run(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(coordinator=begins_and_says("Waiting."), **ALL_WAIT)
    agent = place.begin("endless", "--mode", "infinite")
    assert "the run stood still" in place.await_end(agent, "failed")["reason"]
