"""kill -9 of every kind of process, at a named point: the run completes, and nothing twice."""

import json
import threading
from collections import Counter

import psutil
import pytest

from agiraph.agent.loop import UNKNOWN_OUTCOME
from tests.fakes.model_server import Reply, call, calls
from tests.integration.house import until
from tests.scenarios.house import Outcome
from tests.scenarios.place import Place, Steps, one_worker

FACTS = call("write_file", path="facts.md", content="one fact")
PUBLISH = call("publish", summary="one fact found")
TELL = call("send_message", to="human", content="I have begun.")


def held(reply: Reply, gate: threading.Event) -> Reply:
    """Return the reply, held back until the gate is open."""
    return Reply(text=reply.text, calls=reply.calls, gate=gate)


def assert_once(outcome: Outcome, *nodes: str) -> None:
    """The run is complete; every node was completed and told once, every message stands once."""
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert len(outcome.completions()) == len(set(outcome.completions())) == len(nodes)
    told = [event["data"]["name"] for event in outcome.events("node.completed")]
    assert sorted(told) == sorted(nodes)
    assert Counter(outcome.types())["agent.completed"] == 1
    numbers = [event["seq"] for event in outcome.events()]
    assert numbers == list(range(1, len(numbers) + 1))
    texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
    assert len([text for text in texts if "I have begun." in text]) == 1
    for node in nodes:
        assert outcome.published(node) == {"facts.md": "one fact"}


def test_a_worker_dies_while_its_model_thinks(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("ada"), ada=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 1)
        place.kill("worker ada")
        gate.set()

    assert_once(place.lead("Find a fact", meanwhile=meanwhile), "ada-facts")
    assert len(place.server.seen_by("ada")) == 2, "the answer was kept for the next incarnation"


def test_a_worker_dies_while_its_command_runs(place: Place) -> None:
    sleeper = call("bash", command="echo begun > begun.txt; sleep 300.017")
    done = call("bash", command="rm begun.txt")
    place.plays(coordinator=one_worker("bob"), bob=[calls(TELL, FACTS), sleeper, done, PUBLISH])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("bob") and seen.step == 1)
        run = place.worker(place.agent("sleepy"), "bob").parents[1]
        until(lambda: [*run.glob("nodes/*/scratch/begun.txt")], "the command has begun")
        place.kill("worker bob")

    outcome = place.lead("Find a fact", "--name", "sleepy", meanwhile=meanwhile)
    assert_once(outcome, "bob-facts")
    told = place.server.wait_for(lambda seen: seen.is_for("bob") and seen.step == 2)
    assert told.result("bash") == UNKNOWN_OUTCOME
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if "300.017" in (p.info["cmdline"] or ())
    ]


def test_a_coordinator_dies_while_it_waits(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("cleo"), cleo=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("cleo") and seen.step == 1)
        place.await_call(place.agent("waiting"), "wait")
        place.kill("coordinator waiting")
        gate.set()

    assert_once(place.lead("Find a fact", "--name", "waiting", meanwhile=meanwhile), "cleo-facts")


def test_a_coordinator_dies_while_it_thinks(place: Place) -> None:
    gate = threading.Event()
    steps = one_worker("dan")
    steps[1] = held(steps[1], gate)  # type: ignore[arg-type]
    place.plays(coordinator=steps, dan=[calls(TELL, FACTS), PUBLISH])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("coordinator") and seen.step == 1)
        place.kill("coordinator thinking")
        gate.set()

    outcome = place.lead("Find a fact", "--name", "thinking", meanwhile=meanwhile)
    assert_once(outcome, "dan-facts")
    assert len(outcome.events("worker.spawned")) == 1
    assert len(place.server.seen_by("coordinator")) == 4


def test_the_broker_dies_while_calls_are_in_flight(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("eve"), eve=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("eve") and seen.step == 1)
        place.kill("agiraph: broker")
        until(lambda: len(place.server.seen_by("eve")) > 2, "eve's call is asked again")
        gate.set()

    assert_once(place.lead("Find a fact", meanwhile=meanwhile), "eve-facts")


@pytest.mark.parametrize("service", ["recorder", "router", "spawner"])
def test_a_service_dies_under_a_run(place: Place, service: str) -> None:
    gate = threading.Event()
    name = f"fay-{service}"
    steps = one_worker(name)
    late = one_worker(f"late-{service}")
    steps[3:] = [*late[:2], late[2], call("finish", summary="Both done")]
    parts: dict[str, Steps] = {
        name: [calls(TELL, FACTS), held(PUBLISH, gate)],
        f"late-{service}": [FACTS, PUBLISH],
    }
    place.plays(coordinator=steps, **parts)

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for(name) and seen.step == 1)
        place.kill(f"agiraph: {service}")
        gate.set()

    outcome = place.lead("Find two facts", meanwhile=meanwhile)
    assert_once(outcome, f"{name}-facts", f"late-{service}-facts")


def test_the_gateway_dies_under_a_run_that_is_watched(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("gus"), gus=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("gus") and seen.step == 1)
        place.kill("agiraph: human")
        gate.set()

    assert_once(place.lead("Find a fact", meanwhile=meanwhile), "gus-facts")


def test_the_gateway_dies_under_a_detached_run_and_comes_back(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("hal"), hal=[calls(TELL, FACTS), held(PUBLISH, gate)])
    started = place.json("run", "Find a fact", "--model", "openai/fake", "--detach")
    place.server.wait_for(lambda seen: seen.is_for("hal") and seen.step == 1)
    place.kill("agiraph: human")
    gate.set()
    agent = place.home / "agents" / started["agent"]
    until(
        lambda: json.loads((agent / "agent.json").read_text())["status"] == "completed", "the end"
    )
    until(lambda: place.command("agents").returncode == 0, "the API is back")
    shown = place.json("show", started["agent"])
    run = agent / "runs" / started["run"]
    assert_once(Outcome(0, shown, "", agent, run), "hal-facts")
    place.command("stop", started["agent"])


def test_the_gateway_dies_before_a_run_has_reached_it(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("jo"), jo=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.kill("agiraph: human")
        place.server.wait_for(lambda seen: seen.is_for("jo") and seen.step == 1)
        gate.set()

    assert_once(place.lead("Find a fact", meanwhile=meanwhile), "jo-facts")


def test_the_supervisor_dies_and_the_next_one_goes_on(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("ian"), ian=[calls(TELL, FACTS), held(PUBLISH, gate)])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("ian") and seen.step == 1)
        place.restart_supervisor()
        gate.set()

    assert_once(place.lead("Find a fact", meanwhile=meanwhile), "ian-facts")
