"""Every type of event is seen on a real run, each with the fields that its table names."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from agiraph.core.event_types import BY_NAME
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject
from tests.scenarios.steps import WAIT, ask, finish, held, node, publish, spawn, tell, write

# An untroubled run of this size does not cause these; their own tests do.
SEEN_ELSEWHERE = """
    agent.cycle_started agent.cycle_ended agent.failed agent.reopened agent.stopped
    agent.quarantined agent.standstill
    entity.failed entity.suspect entity.recovered events.deleted
    child.failed child.exited child.stopped child.backing_off message.dead
    service.backing_off service.recovered channel.dead
    memory.compacted memory.insight memory.maintenance shared.written
    tool.loop tool.missing tool.refused model.retry model.failed model.fallback
    human.budget human.expired human.withdrawn
    node.blocked node.unblocked node.failed node.retried node.cancelled node.checked
    role.turn node.deadlock node.decided node.skipped node.expanded stage.met
    outside.started outside.ended outside.warning
    sandbox.missing sandbox.autorun sandbox.git_commands sandbox.input_read_only
    worktree.made worktree.merged worktree.conflict worktree.off
    agent.stepped worker.stepped node.moved node.released node.updated
    human.attached
    host.joined host.lost host.back child.moved knowledge.used knowledge.unavailable
"""
ONCE = """
    agent.created agent.started agent.completed agent.paused stage.reconvened worker.spawned
    node.created node.assigned node.started node.checkpoint node.suggested node.completed
    human.question human.response human.nudge
"""


STEPS = (
    call("memory_write", path="knowledge/a.md", content="A fact."),
    spawn("ada"),
    node("facts", task="Write facts.md", worker="ada"),
    WAIT,
    call("retire_worker", worker_id="ada"),
    call("reconvene", assessment="All is there."),
    finish("Done."),
)


def lead(seen: SeenRequest) -> Reply:
    """Play one step after the other, and wait until the node is completed, despite messages."""
    for step in STEPS:
        [one] = step.calls
        results = seen.results(one.name)
        if not results or (one.name == "wait" and not any("completed" in r for r in results)):
            return step
    return say("I have nothing to add.")


@pytest.fixture(scope="module")
def agent(live_home: LiveHome) -> Path:
    """Return the folder of an agent whose eventful run has ended well."""
    gate = threading.Event()
    live_home.plays(
        coordinator=lead,
        ada=[
            held(write("facts.md", "facts"), gate),
            calls(call("checkpoint", summary="half"), call("suggest_next", suggestion="more")),
            tell("coordinator", "nearly done"),
            ask("Now?"),
            publish("the facts"),
        ],
    )
    folder = live_home.begin("full")
    live_home.await_step("ada", 0)
    live_home.json("pause", "full")
    until(lambda: {"agent.paused", "worker.paused"} <= types(folder), "every entity is idle")
    live_home.json("resume", "full")
    with Client.for_home(live_home.home) as client:
        client.nudge(folder.name, "Be quick")
    live_home.json("send", "full", "Hello")
    gate.set()
    question = live_home.await_question("full")
    live_home.kill("agiraph: coordinator full")
    live_home.command("respond", question["id"], "yes")
    until(lambda: "agent.completed" in types(folder), "the end")
    live_home.await_end(folder)
    return folder


def log(folder: Path) -> list[JsonObject]:
    return whole_lines(folder / "events.jsonl")


def types(folder: Path) -> set[str]:
    return {event["type"] for event in log(folder)}


def of_type(folder: Path, kind: str) -> int:
    return [event["type"] for event in log(folder)].count(kind)


def test_every_event_type_of_the_table_occurs(agent: Path) -> None:
    triggers = {name for name in BY_NAME if name.startswith("trigger.")}
    assert set(BY_NAME) - types(agent) - {*SEEN_ELSEWHERE.split()} - triggers == set()
    assert types(agent) <= set(BY_NAME)


def test_event_has_only_the_fields_of_its_type(agent: Path) -> None:
    surprises = {
        (event["type"], field)
        for event in log(agent)
        for field in event["data"]
        if field not in BY_NAME[event["type"]].fields
    }
    assert surprises == set()


def test_killed_coordinator_neither_repeats_nor_omits_events(agent: Path) -> None:
    count = Counter(event["type"] for event in log(agent))
    once = ONCE.split()
    assert {kind: count[kind] for kind in once} == dict.fromkeys(once, 1)
    sent = [event["data"]["content"] for event in log(agent) if event["type"] == "message.sent"]
    assert Counter(sent).most_common(1)[0][1] == 1
    assert count["child.crashed"] == 1


def test_coordinator_woken_without_cause_reports_nothing_again(
    live_home: LiveHome, agent: Path
) -> None:
    ready = of_type(agent, "child.ready")
    live_home.kill("agiraph: coordinator full")
    until(lambda: of_type(agent, "child.ready") > ready, "the next incarnation")
    live_home.json("send", "full", "Anything new?")
    until(
        lambda: [e for e in log(agent) if e["data"].get("content") == "Anything new?"], "it is said"
    )
    sent = [
        (event["data"]["to"], event["data"]["content"], event["key"])
        for event in log(agent)
        if event["type"] == "message.sent" and event["entity"] == "coordinator"
    ]
    assert len(sent) == len(set(sent))
    assert of_type(agent, "agent.completed") == 1
