"""A step that crashes its worker each time: the node fails with that reason, nothing loops."""

import signal
import threading

from tests.fakes.model_server import say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import Outcome
from tests.scenarios.steps import DONE, finish, held, one_worker

REASON = "the same step has ended its process 3 times: killed by SIGSEGV"


def lead(live_home: LiveHome, name: str, kind: str, actor: str, gate: threading.Event) -> Outcome:
    """Run a goal; kill each process of this kind in the step that the gate delays."""

    def meanwhile() -> None:
        agent = live_home.agent(name)

        def ready() -> int:
            events = whole_lines(agent / "events.jsonl")
            children = [one["data"] for one in events if one["type"] == "child.ready"]
            return [child["kind"] for child in children].count(kind)

        live_home.await_step(actor, 0)
        for births in (1, 2, 3):
            until(lambda: ready() >= births, f"{births} births of a {kind}")  # noqa: B023
            live_home.kill(f"{kind} {name if kind == 'coordinator' else actor}", signal.SIGSEGV)

    try:
        return live_home.run("Find a fact", "--name", name, meanwhile=meanwhile)
    finally:
        gate.set()


def test_step_that_kills_its_worker_three_times_fails_the_node(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("ada"), ada=[held(DONE, gate)])
    outcome = lead(live_home, "poisoned", "worker", "ada", gate)
    assert REASON in outcome.data("node.failed")[0]["reason"]
    assert [crash["why"]["signal"] for crash in outcome.data("child.crashed")] == [11, 11, 11]
    assert live_home.json("dead") == []
    unknown = live_home.command("dead", "retry", "d-unknown")
    assert (unknown.returncode, "unknown dead letter" in unknown.stderr) == (2, True)


def test_step_that_kills_its_coordinator_three_times_fails_the_run_but_it_still_answers(
    live_home: LiveHome,
) -> None:
    gate, said = threading.Event(), say("I died three times in the same step.")
    live_home.plays(coordinator=[held(finish("never"), gate), said])
    outcome = lead(live_home, "fatal", "coordinator", "coordinator", gate)
    assert outcome.result["status"] == "failed"
    assert REASON in outcome.data("agent.failed")[0]["reason"]
    live_home.plays(coordinator=lambda seen: said)
    assert live_home.command("send", "fatal", "What happened?").returncode == 0
    live_home.server.wait_for(lambda seen: "What happened?" in seen.said)
    until(
        lambda: "I died three times" in live_home.command("messages", "fatal").stdout, "its answer"
    )


def test_model_call_in_flight_at_two_broker_exits_fails_with_the_cause(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=[held(finish("never"), gate)])

    def meanwhile() -> None:
        for number in (1, 2):
            until(lambda: len(live_home.server.requests) >= number, f"request {number}")  # noqa: B023
            live_home.kill("agiraph: broker", signal.SIGSEGV)

    try:
        outcome = live_home.run("Find a fact", "--name", "poisoned-call", meanwhile=meanwhile)
    finally:
        gate.set()
    assert outcome.result["status"] == "failed"
    reason = outcome.data("agent.failed")[0]["reason"]
    assert "in flight when the broker ended 2 times" in reason
    assert "killed by SIGSEGV" in reason
    assert len(live_home.server.requests) == 2
