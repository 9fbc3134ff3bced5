"""Going round in a circle: the model is told, and if it continues its work ends with
that reason."""

import threading

from tests.fakes.model_server import Reply, call, say
from tests.scenarios.place import Place, one_worker, whole_lines


def test_a_worker_that_goes_on_after_the_warning_fails_its_node(place: Place) -> None:
    again = call("bash", command="cat nowhere.md")
    place.plays(coordinator=one_worker("ada"), ada=[again] * 9)
    outcome = place.lead("Find a fact", "--name", "circle")
    reason = outcome.events("node.failed")[0]["data"]["reason"]
    assert "a loop: the same call with the same result 4 times in a row" in reason
    assert "cat nowhere.md" in reason
    agent = outcome.result["agent"]
    [journal] = place.home.glob(f"agents/{agent}/runs/*/journal.jsonl")
    [failed] = [line for line in whole_lines(journal) if line["type"] == "node.failed"]
    assert "in check" in failed["details"], "the last lines of the traceback"
    assert reason in failed["details"]
    told = [seen.said for seen in place.server.seen_by("ada")]
    assert len(told) == 4
    assert "your node fails" in told[3]
    assert len(outcome.events("tool.loop")) == 1


def test_a_worker_that_takes_the_warning_goes_on_also_when_it_was_killed(place: Place) -> None:
    again, gate = call("bash", command="cat nowhere.md"), threading.Event()
    held = Reply(calls=again.calls, gate=gate)
    mend = call("write_file", path="facts.md", content="there is none")
    publish = call("publish", summary="there is none")
    place.plays(coordinator=one_worker("ada"), ada=[again, again, held, mend, publish])

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 2)
        place.kill("worker ada")
        gate.set()

    outcome = place.lead("Find a fact", "--name", "taken", meanwhile=meanwhile)
    assert outcome.result["status"] == "completed"
    assert len(outcome.events("tool.loop")) == 1
    assert outcome.completions()


def test_a_coordinator_is_told_and_then_its_run_fails_and_it_still_talks(place: Place) -> None:
    again = call("read_file", path="nowhere.md")
    place.plays(coordinator=[*[again] * 6, say("I was going round in a circle.")])
    outcome = place.run("Find a fact", "--name", "lost", "--model", "openai/fake")
    assert outcome.result["status"] == "failed"
    reason = outcome.events("agent.failed")[0]["data"]["reason"]
    assert "a loop: the same call with the same result 6 times in a row" in reason
    agent = outcome.result["agent"]
    assert place.command("send", agent, "What happened?").returncode == 0
    place.server.wait_for(lambda seen: "What happened?" in seen.said)
    place.command("stop", agent)
    assert len(outcome.events("tool.loop")) == 1
