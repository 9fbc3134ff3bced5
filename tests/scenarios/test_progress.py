"""A standstill of a run is detected: its coordinator is notified, and then the run fails."""

import json
import threading
from pathlib import Path

from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from agiraph.http.client import Client
from agiraph.roles.decisions import RoleDecision
from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL, JsonObject
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


def hires_and_answers(text: str) -> Responder:
    """Return a coordinator that creates two nodes, and then only speaks."""
    return lambda seen: TEAM if seen.step == 0 else say(text)


def events_of(agent: Path, kind: str) -> list[JsonObject]:
    return [event for event in whole_lines(agent / "events.jsonl") if event["type"] == kind]


def notices(live_home: LiveHome) -> list[str]:
    """Return the notices that the coordinator has received so far."""
    said = live_home.server.seen_by("coordinator")[-1].said
    return [line for line in said.split("\n") if "This is notice" in line]


def test_a_coordinator_that_only_waits_is_notified_twice_and_then_its_run_fails(
    parking_home: LiveHome,
) -> None:
    live_home, gate = parking_home, threading.Event()

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        return Reply(text="Waiting.", gate=gate if STANDS in seen.said else None)

    live_home.plays(coordinator=coordinator, **ALL_WAIT)
    agent = live_home.begin("all-wait")
    live_home.server.wait_for(lambda seen: seen.is_for("coordinator") and STANDS in seen.said)
    shown = until(lambda: _standing(live_home, agent.name), "the standstill is shown")
    assert [one["entity"] for one in shown["standstill"]["waiting"]] == [
        "ada",
        "bob",
        "coordinator",
    ]
    rows = {
        row["name"]: row for row in live_home.json("ps") if row["address"].startswith(agent.name)
    }
    assert rows["all-wait"]["state"] == "standing_still"
    assert "ada (node 'a') waits for a message" in rows["all-wait"]["doing"]
    assert rows["ada"]["doing"] == "waits for a message"
    assert [one["name"] for one in live_home.json("agents", "--status", "standing_still")] == [
        "all-wait"
    ]
    gate.set()
    record = live_home.await_end(agent, "failed")
    assert "bob (node 'b') waits for a message since" in record["reason"]
    assert record["standstill"] is None
    assert len(notices(live_home)) == 2
    events = events_of(agent, "agent.standstill")
    assert [event["data"]["notices"] for event in events] == [1, 2]
    assert "the run stands still" in live_home.command("events", agent.name).stdout


def _standing(live_home: LiveHome, agent: str) -> JsonObject | None:
    shown: JsonObject = live_home.json("show", agent)
    return shown if shown["status"] == "standing_still" else None


def test_run_continues_when_its_coordinator_messages_the_waiting_workers(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        if STANDS in seen.said and not seen.results("send_message"):
            return calls(tell("ada", "Go on."), tell("bob", "Go on."), WAIT)
        return finish() if seen.results("wait") else say("Waiting.")

    live_home.plays(coordinator=coordinator, ada=[WAIT, DONE], bob=[WAIT, DONE])
    live_home.await_end(live_home.begin("acts"))
    assert len(notices(live_home)) == 1


def test_a_wait_of_the_coordinator_ends_with_a_notice(parking_home: LiveHome) -> None:
    live_home = parking_home

    def coordinator(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return TEAM
        return WAIT if STANDS not in seen.said else finish()

    live_home.plays(coordinator=coordinator, **ALL_WAIT)
    live_home.await_end(live_home.begin("notified-in-wait"))


def test_standstill_that_waits_for_the_human_is_reported_and_wakes_no_entity(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    live_home.plays(coordinator=[TEAM, ask("Which colour?"), finish()], **ALL_WAIT)
    agent = live_home.begin("asks")

    def told() -> list[str]:
        said = [row["content"] for row in live_home.json("messages", agent.name)]
        return [text for text in said if "stands still until you answer" in text]

    until(told, "a message to the human")
    until(lambda: len(_parked(live_home, agent.name)) == 2, "both workers have parked")
    before = _parked(live_home, agent.name)
    assert live_home.json("show", agent.name)["status"] == "waiting_for_human"
    live_home.json("respond", str(live_home.await_question(agent.name)["id"]), "blue")
    live_home.await_end(agent)
    assert len(told()) == 1
    assert _starts(agent.name, live_home) == dict.fromkeys(before, 1), (
        "nobody was woken for nothing"
    )


def test_a_worker_that_waits_for_its_sub_node_is_woken_by_its_end_alone(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    nodes: dict[str, Plays] = {
        "whole": [node("part", wait=True), DONE],
        "part": [ask("Which colour?"), DONE],
    }
    live_home.plays(by_node([node("whole"), WAIT, finish()], nodes))
    agent = live_home.begin("nested")
    question = str(live_home.await_question(agent.name)["id"])
    until(lambda: len(_without_process(live_home, agent.name)) == 2, "both have parked")
    live_home.json("respond", question, "blue")
    live_home.await_end(agent)
    assert set(_starts(agent.name, live_home).values()) == {2}


def _without_process(live_home: LiveHome, agent: str) -> list[str]:
    rows = [row for row in live_home.json("ps") if row["address"].startswith(f"{agent}/")]
    return [r["address"] for r in rows if r["pid"] is None and r["kind"] == "worker"]


def _parked(live_home: LiveHome, agent: str) -> list[str]:
    rows = [row for row in live_home.json("ps") if row["address"].startswith(f"{agent}/")]
    return [row["address"] for row in rows if row["state"] == "parked"]


def _starts(agent: str, live_home: LiveHome) -> dict[str, int]:
    """Return how often the process of each worker was started."""
    ready = [e["entity"] for e in events_of(live_home.home / "agents" / agent, "child.ready")]
    return {one: ready.count(one) for one in ready if not one.endswith("/coordinator")}


def test_wait_for_a_message_times_out_and_reports_it(parking_home: LiveHome) -> None:
    live_home = parking_home

    def ada(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("wait", timeout_seconds=1)
        outcome = json.loads(seen.result("wait"))
        assert outcome["nodes"] == []
        assert not outcome["interrupted_by_message"]
        return publish(outcome["note"])

    live_home.plays(
        coordinator=[calls(spawn("ada"), node("a", "ada")), WAIT, finish()],
        ada=ada,
    )
    agent = live_home.begin("in-time")
    live_home.await_end(agent)
    [done] = events_of(agent, "node.completed")
    expected = "There is no node to wait for, and no message has come in 1 s."
    assert done["data"]["summary"] == expected
    assert not events_of(agent, "agent.standstill")


def test_waiting_role_of_a_team_is_notified_that_no_message_will_come(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    done = RoleDecision(action="finalize", final_response="Ready")

    def lead(seen: SeenRequest) -> Reply:
        if not seen.results("wait"):
            return WAIT
        assert "no message will come by itself" in seen.result("wait")
        return publish(result=done.model_dump())

    live_home.plays(project_manager=lead)
    with Client.for_home(live_home.home) as client:
        asked = CreateAgentRequest(goal="Ship it", model=MODEL[1], roles=RoleTeamRequest())
        agent = client.create_agent(asked)
    live_home.begun.append(agent.id)
    live_home.await_end(live_home.home / "agents" / agent.id)


def test_waiting_worker_of_an_unled_plan_is_notified_that_no_message_will_come(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home

    def work(seen: SeenRequest) -> Reply:
        told = seen.results("wait")
        assert not told or "no message will come by itself" in told[-1]
        return publish("the facts") if told else WAIT

    live_home.plays(work)
    plan = "nodes: [{id: facts, task: Collect the facts}]"
    with Client.for_home(live_home.home) as client:
        asked = CreateAgentRequest(goal="Facts", model=MODEL[1], plan=plan, leader="plan")
        agent = client.create_agent(asked)
    live_home.begun.append(agent.id)
    live_home.await_end(live_home.home / "agents" / agent.id)
    assert not live_home.server.seen_by("coordinator")


def test_interrupted_wait_resumes_the_worker_without_a_standstill(
    parking_home: LiveHome,
) -> None:
    live_home, gate = parking_home, threading.Event()

    def ada(seen: SeenRequest) -> Reply:
        return WAIT if seen.step == 0 else Reply(calls=DONE.calls, gate=gate)

    held = threading.Event()
    live_home.plays(
        coordinator=[
            calls(spawn("ada"), node("a", "ada")),
            Reply(calls=WAIT.calls, gate=held),
            finish(),
        ],
        ada=ada,
    )
    agent = live_home.begin("interrupted")
    until(lambda: _status_of(live_home, agent.name, "a") == "blocked", "it waits")
    live_home.json("send", agent.name, "Stop waiting!", "--to", "ada", "--mode", "interrupt")
    held.set()
    live_home.server.wait_for(lambda seen: seen.is_for("ada") and "Stop waiting!" in seen.said)
    until(lambda: _status_of(live_home, agent.name, "a") == "running", "its node runs")
    gate.set()
    live_home.await_end(agent)
    assert not events_of(agent, "agent.standstill")


def _status_of(live_home: LiveHome, agent: str, node: str) -> str:
    rows = live_home.json("board", agent)
    return next((str(row["status"]) for row in rows if row["name"] == node), "")


def test_standstill_in_a_cycle_fails_the_infinite_run(parking_home: LiveHome) -> None:
    live_home = parking_home
    live_home.plays(coordinator=hires_and_answers("Waiting."), **ALL_WAIT)
    agent = live_home.begin("endless", "--mode", "infinite")
    assert "the run stood still" in live_home.await_end(agent, "failed")["reason"]
