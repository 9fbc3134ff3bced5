"""kill -9 where no process has just written (see test_every_write.py): no step is done twice."""

import threading
from collections import Counter
from collections.abc import Callable

from tests.fakes.model_server import calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import Outcome
from tests.scenarios.steps import DONE, FACT, WORK, Steps, finish, held, one_worker, tell

TELL = tell("human", "I have begun.")


def assert_once(outcome: Outcome, *nodes: str) -> None:
    """Assert that the run is complete, with every node, event and message exactly once."""
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


def plays(live_home: LiveHome, worker: str) -> threading.Event:
    """Let a worker find a fact; return the gate of its model's second answer."""
    gate = threading.Event()
    live_home.plays(
        coordinator=one_worker(worker), **{worker: [calls(TELL, FACT), held(DONE, gate)]}
    )
    return gate


def lead(live_home: LiveHome, worker: str, kill: Callable[[], object], *args: str) -> Outcome:
    """Run a goal, and call `kill` while the worker's model thinks; no work is lost or doubled."""
    gate = plays(live_home, worker)

    def meanwhile() -> None:
        live_home.await_step(worker, 1)
        kill()
        gate.set()

    outcome = live_home.lead("Find a fact", *args, meanwhile=meanwhile)
    assert_once(outcome, f"{worker}-facts")
    return outcome


def test_worker_killed_during_a_model_call_continues(live_home: LiveHome) -> None:
    lead(live_home, "ada", lambda: live_home.kill("worker ada"))
    assert len(live_home.server.seen_by("ada")) == 2, "the answer was kept for the next incarnation"


def test_broker_killed_during_calls_repeats_them(live_home: LiveHome) -> None:
    def kill() -> None:
        live_home.kill("agiraph: broker")
        until(lambda: len(live_home.server.seen_by("eve")) > 2, "eve's call is asked again")

    lead(live_home, "eve", kill)


def test_killed_spawner_does_not_affect_a_run(live_home: LiveHome) -> None:
    gate = threading.Event()
    parts: dict[str, Steps] = {"fay": [calls(TELL, FACT), held(DONE, gate)], "late": WORK}
    leads = [*one_worker("fay")[:3], *one_worker("late")[:3], finish("Both done")]
    live_home.plays(coordinator=leads, **parts)

    def meanwhile() -> None:
        live_home.await_step("fay", 1)
        live_home.kill("agiraph: spawner")
        gate.set()

    outcome = live_home.lead("Find two facts", meanwhile=meanwhile)
    assert_once(outcome, "fay-facts", "late-facts")


def test_killed_gateway_does_not_affect_a_watched_run(live_home: LiveHome) -> None:
    lead(live_home, "gus", lambda: live_home.kill("agiraph: human"))


def test_gateway_killed_before_a_run_reached_it_loses_nothing(live_home: LiveHome) -> None:
    gate = plays(live_home, "jo")
    gate.set()
    outcome = live_home.lead("Find a fact", meanwhile=lambda: live_home.kill("agiraph: human"))
    assert_once(outcome, "jo-facts")


def test_next_supervisor_continues_after_a_kill(live_home: LiveHome) -> None:
    lead(live_home, "ian", live_home.restart_supervisor)
