"""Thirty shell steps, a worker killed at the two worst moments: each step once, none missing."""

import threading

from agiraph.agent.loop import UNKNOWN_OUTCOME
from agiraph.storage.journal import read_journal
from tests.fakes.model_server import Reply, call, calls
from tests.integration.house import until
from tests.scenarios.place import Place, one_worker

STEPS = 30
# Behind its wall a command reaches no process of ours: the test kills the worker, and says so.
UNTIL_KILLED = "touch dying; until test -e killed; do sleep 0.02; done; rm dying killed"


def step(number: int, then: str = ":") -> Reply:
    """Return the call that appends the line of one step."""
    return call("bash", command=f"echo {number} >> lines.txt; {then}")


def kill_while_its_command_runs(place: Place, agent: str, worker: str) -> None:
    """Kill a worker in the middle of its command, and let that know."""
    folder = place.agent(agent)
    dying = until(
        lambda: next(folder.glob(f"runs/*/nodes/{worker}-*/scratch/dying"), None), "dying"
    )
    place.kill(f"worker {worker}")
    (dying.parent / "killed").touch()


def test_thirty_steps_are_done_once_each_though_the_worker_is_killed_twice(place: Place) -> None:
    gate = threading.Event()
    steps = [step(number) for number in range(1, STEPS + 1)]
    steps[11] = step(12, then=UNTIL_KILLED)
    steps[19] = Reply(calls=steps[19].calls, gate=gate)
    steps[29] = calls(steps[29], call("publish", summary="thirty lines"))
    place.plays(coordinator=one_worker("ada"), ada=steps)

    def meanwhile() -> None:
        kill_while_its_command_runs(place, "thirty", "ada")
        place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 19)
        place.kill("worker ada")
        gate.set()

    outcome = place.lead("Write thirty lines", "--name", "thirty", meanwhile=meanwhile)
    assert outcome.code == 0, outcome.progress
    lines = outcome.published("ada-facts")["lines.txt"].split()
    assert lines == [str(number) for number in range(1, STEPS + 1)]
    home = place.worker(place.agent("thirty"), "ada")
    records = read_journal(home / "conversation.jsonl")
    results = [r["content"] for r in records if r["kind"] == "tool.finished"]
    assert results[:STEPS] == ["[exit code 0]"] * STEPS
    assert len([r for r in records if r["kind"] == "tool.started"]) == STEPS + 1
    assert not [*(home / ".calls").iterdir()], "what a call leaves goes once it is recorded"


def test_a_step_that_was_truly_cut_off_is_not_run_again_but_told(place: Place) -> None:
    cut_off = step(1, then=f"{UNTIL_KILLED}; sleep 300.018; echo never >> lines.txt")
    place.plays(
        coordinator=one_worker("bob"), bob=[cut_off, step(2), call("publish", summary="cut")]
    )

    def meanwhile() -> None:
        kill_while_its_command_runs(place, "truncated", "bob")

    outcome = place.lead("Write two lines", "--name", "truncated", meanwhile=meanwhile)
    assert outcome.code == 0, outcome.progress
    assert outcome.published("bob-facts")["lines.txt"].split() == ["1", "2"]
    told = place.server.wait_for(lambda seen: seen.is_for("bob") and seen.step == 1)
    assert told.result("bash") == UNKNOWN_OUTCOME
    assert not [title for title in place.titles() if "300.018" in title]
