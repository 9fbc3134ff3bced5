"""Every type of event is seen on a real run, each with the fields that its table names."""

import json
import signal
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from agiraph.core.event_types import BY_NAME
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.integration.house import until
from tests.scenarios.house import JsonObject
from tests.scenarios.place import Place, whole_lines

SEEN_ELSEWHERE = {
    *(
        "agent.cycle_started",
        "agent.cycle_ended",
        "agent.failed",
        "agent.stopped",
        "entity.failed",
        "agent.set_aside",
        "events.deleted",
        "entity.suspect",
        "entity.recovered",
    ),
    *("child.failed", "child.exited", "child.stopped", "child.backing_off", "message.dead"),
    *("service.backing_off", "service.recovered"),
    *(
        "memory.compacted",
        "memory.insight",
        "memory.upkeep",
        "context.written",
        "tool.loop",
        "human.budget",
        "model.retry",
        "model.failed",
    ),
    *(
        "node.blocked",
        "node.unblocked",
        "node.failed",
        "node.cancelled",
        "stage.met",
        "node.deadlock",
    ),
    *("human.expired", "human.withdrawn", "tool.refused", "channel.dead"),
    *("model.fallback", "node.checked", "sandbox.missing"),
    *("outside.started", "outside.ended", "outside.warning"),
    *("worktree.made", "worktree.merged", "worktree.conflict", "worktree.off"),
}
"""What an untroubled run of this size does not come to; the tests of each come to it."""


STEPS = (
    call("memory_write", path="knowledge/a.md", content="A fact."),
    call("spawn_worker", name="ada"),
    call("create_work_node", name="facts", task="Write facts.md", worker="ada"),
    call("wait"),
    call("retire_worker", worker_id="ada"),
    call("reconvene", assessment="All is there."),
    call("finish", summary="Done."),
)


def lead(seen: SeenRequest) -> Reply:
    """Do one step after the other, and wait until the node is completed, whoever speaks."""
    for step in STEPS:
        [one] = step.calls
        results = seen.results(one.name)
        if not results or (one.name == "wait" and not any("completed" in r for r in results)):
            return step
    return say("I have nothing to add.")


@pytest.fixture(scope="module")
def agent(place: Place) -> Path:
    """Return the folder of an agent whose eventful run has ended well."""
    gate = threading.Event()
    place.plays(
        coordinator=lead,
        ada=[
            replace(call("write_file", path="facts.md", content="facts"), gate=gate),
            calls(call("checkpoint", summary="half"), call("suggest_next", suggestion="more")),
            call("send_message", to="coordinator", content="nearly done"),
            call("ask_human", question="Now?"),
            call("publish", summary="the facts"),
        ],
    )
    started = place.json("run", "x", "--name", "full", "--model", "openai/fake", "--detach")
    folder = place.home / "agents" / str(started["agent"])
    place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 0)
    place.json("pause", "full")
    until(lambda: {"agent.paused", "worker.paused"} <= types(folder), "everybody stands still")
    place.json("resume", "full")
    with Client.for_home(place.home) as client:
        client.nudge(folder.name, "Be quick")
    place.json("send", "full", "Hello")
    gate.set()
    [question] = until(lambda: place.json("questions", "full"), "the question")
    place.kill("agiraph: coordinator full")
    place.command("respond", question["id"], "yes")
    until(lambda: "agent.completed" in types(folder), "the end")
    until(lambda: record(folder)["status"] == "completed", "the record of it")
    return folder


def record(folder: Path) -> JsonObject:
    found: JsonObject = json.loads((folder / "agent.json").read_text())
    return found


def log(folder: Path) -> list[JsonObject]:
    return whole_lines(folder / "events.jsonl")


def types(folder: Path) -> set[str]:
    return {event["type"] for event in log(folder)}


def test_every_type_happens_and_is_of_the_table(agent: Path) -> None:
    triggers = {name for name in BY_NAME if name.startswith("trigger.")}
    assert set(BY_NAME) - types(agent) - SEEN_ELSEWHERE - triggers == set()
    assert types(agent) <= set(BY_NAME)


def test_an_event_tells_what_its_type_says(agent: Path) -> None:
    surprises = {
        (event["type"], field)
        for event in log(agent)
        for field in event["data"]
        if field not in BY_NAME[event["type"]].fields
    }
    assert surprises == set()


def test_a_kill_of_the_coordinator_tells_nothing_twice_and_hides_nothing(agent: Path) -> None:
    count = Counter(event["type"] for event in log(agent))
    once = (
        *("agent.created", "agent.started", "agent.completed", "node.created", "node.assigned"),
        *("node.started", "node.checkpoint", "node.suggested", "node.completed", "worker.spawned"),
        *("stage.reconvened", "human.question", "human.response", "human.nudge", "agent.paused"),
    )
    assert {kind: count[kind] for kind in once} == dict.fromkeys(once, 1)
    sent = [event["data"]["content"] for event in log(agent) if event["type"] == "message.sent"]
    assert Counter(sent).most_common(1)[0][1] == 1
    assert count["child.crashed"] == 1


def test_a_coordinator_that_is_woken_for_nothing_says_nothing_again(
    place: Place, agent: Path
) -> None:
    place.kill("agiraph: coordinator full")
    ready = [e for e in log(agent) if e["type"] == "child.ready"]
    until(
        lambda: len([e for e in log(agent) if e["type"] == "child.ready"]) > len(ready),
        "the next incarnation",
    )
    place.json("send", "full", "Anything new?")
    until(
        lambda: [e for e in log(agent) if e["data"].get("content") == "Anything new?"], "it is said"
    )
    sent = [
        (event["data"]["to"], event["data"]["content"], event["key"])
        for event in log(agent)
        if event["type"] == "message.sent" and event["entity"] == "coordinator"
    ]
    assert len(sent) == len(set(sent))
    assert Counter(e["type"] for e in log(agent))["agent.completed"] == 1


def test_a_person_narrows_what_is_shown(place: Place, agent: Path) -> None:
    def shown(*more: str) -> list[JsonObject]:
        found: list[JsonObject] = place.json("events", "full", *more)
        return found

    nodes = shown("--type", "node.*")
    assert {event["type"].split(".")[0] for event in nodes} == {"node"}
    mine = shown("--entity", "ada", "--type", "tool.called")
    assert mine[0]["data"]["tool"] == "write_file"
    assert {event["entity"] for event in mine} == {"ada"}
    of_node = shown("--node", "facts")
    assert len({event["node_id"] for event in of_node}) == 1
    assert {"node.created", "tool.called", "node.completed"} <= {e["type"] for e in of_node}
    following = place.start("events", "full", "-f", "--json", "--type", "node.completed")
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["type"] == "node.completed"
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=30)
    wrong = place.command("events", "full", "--type", "nodes.*")
    assert wrong.returncode == 2
    assert "unknown event type 'nodes.*' (possible: agent.*, " in wrong.stderr
