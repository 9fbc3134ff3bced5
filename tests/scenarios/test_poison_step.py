"""A step that crashes its worker each time: the node fails with that reason, nothing loops."""

import signal
import threading

from tests.fakes.model_server import say
from tests.integration.house import until
from tests.scenarios.house import Outcome
from tests.scenarios.place import Place, whole_lines
from tests.scenarios.steps import DONE, finish, held, one_worker

REASON = "the same step has ended its process 3 times: killed by SIGSEGV"


def lead(place: Place, name: str, kind: str, actor: str, gate: threading.Event) -> Outcome:
    """Run a goal; kill each process of this kind in the step that the gate delays."""

    def meanwhile() -> None:
        agent = place.agent(name)

        def ready() -> int:
            events = whole_lines(agent / "events.jsonl")
            children = [one["data"] for one in events if one["type"] == "child.ready"]
            return [child["kind"] for child in children].count(kind)

        place.await_step(actor, 0)
        for births in (1, 2, 3):
            until(lambda: ready() >= births, f"{births} births of a {kind}")  # noqa: B023
            place.kill(f"{kind} {name if kind == 'coordinator' else actor}", signal.SIGSEGV)

    try:
        return place.run("Find a fact", "--name", name, meanwhile=meanwhile)
    finally:
        gate.set()


def test_a_step_that_ends_its_worker_three_times_fails_the_node(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("ada"), ada=[held(DONE, gate)])
    outcome = lead(place, "poisoned", "worker", "ada", gate)
    assert REASON in outcome.data("node.failed")[0]["reason"]
    assert [crash["why"]["signal"] for crash in outcome.data("child.crashed")] == [11, 11, 11]
    assert place.json("dead") == []
    unknown = place.command("dead", "retry", "d-unknown")
    assert (unknown.returncode, "unknown dead letter" in unknown.stderr) == (2, True)


def test_a_step_that_ends_its_coordinator_three_times_fails_the_run_and_it_still_talks(
    place: Place,
) -> None:
    gate, said = threading.Event(), say("I died three times in the same step.")
    place.plays(coordinator=[held(finish("never"), gate), said])
    outcome = lead(place, "fatal", "coordinator", "coordinator", gate)
    assert outcome.result["status"] == "failed"
    assert REASON in outcome.data("agent.failed")[0]["reason"]
    place.plays(coordinator=lambda seen: said)
    assert place.command("send", "fatal", "What happened?").returncode == 0
    place.server.wait_for(lambda seen: "What happened?" in seen.said)
    until(lambda: "I died three times" in place.command("messages", "fatal").stdout, "its answer")


def test_a_model_call_in_flight_at_two_ends_of_the_broker_fails_with_their_cause(
    place: Place,
) -> None:
    gate = threading.Event()
    place.plays(coordinator=[held(finish("never"), gate)])

    def meanwhile() -> None:
        for number in (1, 2):
            until(lambda: len(place.server.requests) >= number, f"request {number}")  # noqa: B023
            place.kill("agiraph: broker", signal.SIGSEGV)

    try:
        outcome = place.run("Find a fact", "--name", "poisoned-call", meanwhile=meanwhile)
    finally:
        gate.set()
    assert outcome.result["status"] == "failed"
    reason = outcome.data("agent.failed")[0]["reason"]
    assert "in flight when the broker ended 2 times" in reason
    assert "killed by SIGSEGV" in reason
    assert len(place.server.requests) == 2
