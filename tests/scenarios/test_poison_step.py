"""A step that ends its worker each time: the node fails with that reason, nothing loops."""

import json
import os
import signal
import threading
from pathlib import Path

from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.integration.house import until
from tests.scenarios.house import processes_of, title_of
from tests.scenarios.place import Place, one_worker


def await_births(agent: Path, kind: str, count: int) -> None:
    """Wait until so many processes of this kind have become ready in an agent."""

    def is_so() -> bool:
        file = agent / "events.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        ready = [e for e in events if e["type"] == "child.ready" and e["data"]["kind"] == kind]
        return len(ready) >= count

    until(is_so, f"{count} births of a {kind}")


def test_a_step_that_ends_its_worker_three_times_fails_the_node(place: Place) -> None:
    gate = threading.Event()
    publish = call("publish", summary="never")
    place.plays(
        coordinator=one_worker("ada"),
        ada=[Reply(text=publish.text, calls=publish.calls, gate=gate)],
    )

    def meanwhile() -> None:
        agent = place.agent("poisoned")
        place.server.wait_for(lambda seen: seen.is_for("ada"))
        for births in (1, 2, 3):
            await_births(agent, "worker", births)
            ada = next(p for p in processes_of(place.home) if "worker ada" in title_of(p))
            os.kill(ada.pid, signal.SIGSEGV)

    try:
        outcome = place.lead("Find a fact", "--name", "poisoned", meanwhile=meanwhile)
    finally:
        gate.set()
    reason = outcome.events("node.failed")[0]["data"]["reason"]
    assert "the same step has ended its process 3 times: killed by SIGSEGV" in reason
    crashes = outcome.events("child.crashed")
    assert [crash["data"]["why"]["signal"] for crash in crashes] == [11, 11, 11]
    assert place.json("dead") == []
    unknown = place.command("dead", "retry", "d-unknown")
    assert (unknown.returncode, "unknown dead letter" in unknown.stderr) == (1, True)


def test_a_step_that_ends_its_coordinator_three_times_fails_the_run_and_it_still_talks(
    place: Place,
) -> None:
    gate = threading.Event()
    finish = call("finish", summary="never")
    place.plays(
        coordinator=[
            Reply(text=finish.text, calls=finish.calls, gate=gate),
            say("I died three times in the same step."),
        ]
    )

    def meanwhile() -> None:
        agent = place.agent("fatal")
        place.server.wait_for(lambda seen: seen.is_for("coordinator"))
        for births in (1, 2, 3):
            await_births(agent, "coordinator", births)
            lead = next(p for p in processes_of(place.home) if "coordinator fatal" in title_of(p))
            os.kill(lead.pid, signal.SIGSEGV)

    try:
        outcome = place.run(
            "Find a fact", "--name", "fatal", "--model", "openai/fake", meanwhile=meanwhile
        )
    finally:
        gate.set()
    assert outcome.result["status"] == "failed"
    reason = outcome.events("agent.failed")[0]["data"]["reason"]
    assert "the same step has ended its process 3 times: killed by SIGSEGV" in reason
    agent = outcome.result["agent"]

    def answers(seen: SeenRequest) -> Reply:
        return say("I died three times in the same step.")

    place.plays(coordinator=answers)
    assert place.command("send", agent, "What happened?").returncode == 0
    place.server.wait_for(lambda seen: "What happened?" in seen.said)
    until(
        lambda: "I died three times" in place.command("messages", agent).stdout, "it has answered"
    )
    place.command("stop", agent)
