"""Thirty shell steps, a worker killed at the two worst moments: each step once, none missing."""

import threading

from agiraph.agent.loop import UNKNOWN_OUTCOME
from agiraph.storage.journal import read_journal
from tests.fakes.model_server import Reply, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import UNTIL_KILLED, bash, held, one_worker, publish

STEPS = 30


def step(number: int, then: str = ":") -> Reply:
    """Return the call that appends the line of one step."""
    return bash(f"echo {number} >> lines.txt; {then}")


def test_thirty_steps_run_once_each_although_the_worker_is_killed_twice(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()
    steps = [step(number) for number in range(1, STEPS + 1)]
    steps[11] = step(12, then=UNTIL_KILLED)
    steps[19] = held(steps[19], gate)
    steps[29] = calls(steps[29], publish("thirty lines"))
    live_home.plays(coordinator=one_worker("ada"), ada=steps)

    def meanwhile() -> None:
        live_home.kill_in_command(live_home.agent("thirty"), "ada", "ada")
        live_home.await_step("ada", 19)
        live_home.kill("worker ada")
        gate.set()

    outcome = live_home.complete("Write thirty lines", "--name", "thirty", meanwhile=meanwhile)
    lines = outcome.published("ada-facts")["lines.txt"].split()
    assert lines == [str(number) for number in range(1, STEPS + 1)]
    home = live_home.worker(live_home.agent("thirty"), "ada")
    records = read_journal(home / "conversation.jsonl")
    results = [r["content"] for r in records if r["kind"] == "tool.finished"]
    assert results[:STEPS] == ["[exit code 0]"] * STEPS
    assert len([r for r in records if r["kind"] == "tool.started"]) == STEPS + 1
    assert not [*(home / ".calls").iterdir()], "what a call leaves goes once it is recorded"


def test_interrupted_step_is_reported_and_not_repeated(live_home: LiveHome) -> None:
    cut_off = step(1, then=f"{UNTIL_KILLED}; sleep 300.018; echo never >> lines.txt")
    live_home.plays(coordinator=one_worker("bob"), bob=[cut_off, step(2), publish("cut")])

    outcome = live_home.complete(
        "Write two lines",
        *("--name", "truncated"),
        meanwhile=lambda: live_home.kill_in_command(live_home.agent("truncated"), "bob", "bob"),
    )
    assert outcome.published("bob-facts")["lines.txt"].split() == ["1", "2"]
    assert live_home.await_step("bob", 1).result("bash") == UNKNOWN_OUTCOME
    assert not [title for title in live_home.titles() if "300.018" in title]
