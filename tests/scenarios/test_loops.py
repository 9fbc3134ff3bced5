"""Repeated calls: the model is warned; if it continues, its work ends with that reason."""

import threading

from tests.fakes.model_server import call, say
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.steps import DONE, FACT, bash, held, one_worker

AGAIN = bash("cat nowhere.md")


def test_worker_that_repeats_its_loop_after_the_warning_fails_its_node(live_home: LiveHome) -> None:
    live_home.plays(coordinator=one_worker("ada"), ada=[AGAIN] * 9)
    outcome = live_home.lead("Find a fact", "--name", "circle")
    reason = outcome.data("node.failed")[0]["reason"]
    assert "a loop: the same call with the same result 4 times in a row" in reason
    assert "cat nowhere.md" in reason
    records = whole_lines(outcome.run / "journal.jsonl")
    [failed] = [record for record in records if record["type"] == "node.failed"]
    assert "in check" in failed["details"], "the last lines of the traceback"
    assert reason in failed["details"]
    told = [seen.said for seen in live_home.server.seen_by("ada")]
    assert len(told) == 4
    assert "your node fails" in told[3]
    assert len(outcome.events("tool.loop")) == 1


def test_worker_that_ends_its_loop_continues_even_after_a_kill(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()
    live_home.plays(
        coordinator=one_worker("ada"), ada=[AGAIN, AGAIN, held(AGAIN, gate), FACT, DONE]
    )

    def meanwhile() -> None:
        live_home.await_step("ada", 2)
        live_home.kill("worker ada")
        gate.set()

    outcome = live_home.complete("Find a fact", "--name", "taken", meanwhile=meanwhile)
    assert len(outcome.events("tool.loop")) == 1
    assert outcome.completions()


def test_looping_coordinator_is_warned_and_its_run_fails_but_it_still_answers(
    live_home: LiveHome,
) -> None:
    again = call("read_file", path="nowhere.md")
    live_home.plays(coordinator=[*[again] * 6, say("I was going round in a circle.")])
    outcome = live_home.run("Find a fact", "--name", "lost")
    assert outcome.result["status"] == "failed"
    reason = outcome.data("agent.failed")[0]["reason"]
    assert "a loop: the same call with the same result 6 times in a row" in reason
    assert live_home.command("send", "lost", "What happened?").returncode == 0
    live_home.server.wait_for(lambda seen: "What happened?" in seen.said)
    assert len(outcome.events("tool.loop")) == 1
