"""kill -9 of every kind of process, at a named point: the run completes, and nothing twice."""

import json
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from tests.fakes.model_server import calls
from tests.integration.house import until
from tests.scenarios.house import Outcome
from tests.scenarios.place import Place
from tests.scenarios.steps import DONE, FACT, WORK, Steps, finish, held, one_worker, tell

TELL = tell("human", "I have begun.")


def assert_once(outcome: Outcome, *nodes: str) -> None:
    """The run is complete; every node was completed and told once, every message stands once."""
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert len(outcome.completions()) == len(set(outcome.completions())) == len(nodes)
    assert sorted(told["name"] for told in outcome.data("node.completed")) == sorted(nodes)
    assert Counter(outcome.types())["agent.completed"] == 1
    numbers = [event["seq"] for event in outcome.events()]
    assert numbers == list(range(1, len(numbers) + 1))
    texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
    assert len([text for text in texts if "I have begun." in text]) == 1
    for node in nodes:
        assert outcome.published(node) == {"facts.md": "one fact"}


def plays(place: Place, worker: str) -> threading.Event:
    """Let a worker find a fact; return what lets its model answer its second request."""
    gate = threading.Event()
    place.plays(coordinator=one_worker(worker), **{worker: [calls(TELL, FACT), held(DONE, gate)]})
    return gate


def lead(place: Place, worker: str, kill: Callable[[], object], *args: str) -> Outcome:
    """Run it, and kill something while the worker's model thinks; nothing is lost or doubled."""
    gate = plays(place, worker)

    def meanwhile() -> None:
        place.await_step(worker, 1)
        kill()
        gate.set()

    outcome = place.lead("Find a fact", *args, meanwhile=meanwhile)
    assert_once(outcome, f"{worker}-facts")
    return outcome


def test_a_worker_dies_while_its_model_thinks(place: Place) -> None:
    lead(place, "ada", lambda: place.kill("worker ada"))
    assert len(place.server.seen_by("ada")) == 2, "the answer was kept for the next incarnation"


def test_a_coordinator_dies_while_it_waits(place: Place) -> None:
    def kill() -> None:
        place.await_call(place.agent("waiting"), "wait")
        place.kill("coordinator waiting")

    lead(place, "cleo", kill, "--name", "waiting")


def test_a_coordinator_dies_while_it_thinks(place: Place) -> None:
    gate = threading.Event()
    hire, assign, *rest = one_worker("dan")
    assert not callable(assign)
    place.plays(coordinator=[hire, held(assign, gate), *rest], dan=[calls(TELL, FACT), DONE])

    def meanwhile() -> None:
        place.await_step("coordinator", 1)
        place.kill("coordinator thinking")
        gate.set()

    outcome = place.lead("Find a fact", "--name", "thinking", meanwhile=meanwhile)
    assert_once(outcome, "dan-facts")
    assert len(outcome.events("worker.spawned")) == 1
    assert len(place.server.seen_by("coordinator")) == 4


def test_the_broker_dies_while_calls_are_in_flight(place: Place) -> None:
    def kill() -> None:
        place.kill("agiraph: broker")
        until(lambda: len(place.server.seen_by("eve")) > 2, "eve's call is asked again")

    lead(place, "eve", kill)


@pytest.mark.parametrize("service", ["recorder", "router", "spawner"])
def test_a_service_dies_under_a_run(place: Place, service: str) -> None:
    gate = threading.Event()
    name, second = f"fay-{service}", f"late-{service}"
    parts: dict[str, Steps] = {name: [calls(TELL, FACT), held(DONE, gate)], second: WORK}
    leads = [*one_worker(name)[:3], *one_worker(second)[:3], finish("Both done")]
    place.plays(coordinator=leads, **parts)

    def meanwhile() -> None:
        place.await_step(name, 1)
        place.kill(f"agiraph: {service}")
        gate.set()

    outcome = place.lead("Find two facts", meanwhile=meanwhile)
    assert_once(outcome, f"{name}-facts", f"{second}-facts")


def test_the_gateway_dies_under_a_run_that_is_watched(place: Place) -> None:
    lead(place, "gus", lambda: place.kill("agiraph: human"))


def test_the_gateway_dies_under_a_detached_run_and_comes_back(place: Place) -> None:
    gate = plays(place, "hal")
    agent = place.begin("detached")
    place.await_step("hal", 1)
    place.kill("agiraph: human")
    gate.set()
    place.await_end(agent)
    until(lambda: place.command("agents").returncode == 0, "the API is back")
    shown = place.json("show", agent.name)
    run = agent / "runs" / json.loads((agent / "agent.json").read_text())["run"]
    outcome = Outcome(0, shown, "", agent, run)
    until(lambda: "agent.completed" in outcome.types(), "the last event is on its way no more")
    assert_once(outcome, "hal-facts")


def test_the_gateway_dies_before_a_run_has_reached_it(place: Place) -> None:
    gate = plays(place, "jo")
    gate.set()
    outcome = place.lead("Find a fact", meanwhile=lambda: place.kill("agiraph: human"))
    assert_once(outcome, "jo-facts")


def test_the_supervisor_dies_and_the_next_one_goes_on(place: Place) -> None:
    lead(place, "ian", place.restart_supervisor)
