"""A second goal for the same agent: its own run and board, one conversation, nothing twice."""

import json
import os
import signal
import threading

import pytest

from agiraph.agent.conversation import Conversation
from agiraph.agent.prompts import new_run_turn
from agiraph.agent.records import RunBegan
from agiraph.core.ids import RunId
from tests.fakes.model_server import Brain, Reply, SeenRequest, call, say
from tests.integration.house import until
from tests.scenarios.goals import by_goal
from tests.scenarios.house import House, Outcome
from tests.scenarios.place import Place, one_worker, whole_lines

FIRST, SECOND = "Find the first fact", "Find the second fact"
WORK = [call("write_file", path="facts.md", content="one fact"), call("publish", summary="done")]


def plays(place: Place) -> None:
    place.plays(
        coordinator=by_goal(
            {
                FIRST: [*one_worker("ada"), say("The first is done.")],
                SECOND: [*one_worker("ada", "Write facts.md again"), say("The second is done.")],
            }
        ),
        ada=WORK,
    )


def assert_complete(outcome: Outcome, goal: str) -> None:
    """One run, whole: its own board with one node, told once, its own result and files."""
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert len(outcome.completions()) == 1
    run = outcome.result["run"]
    mine = [event for event in outcome.events() if event["run_id"] == run]
    types = [event["type"] for event in mine]
    assert types.count("agent.started") == types.count("agent.completed") == 1
    assert next(e for e in mine if e["type"] == "agent.started")["data"]["goal"] == goal
    assert outcome.published("ada-facts") == {"facts.md": "one fact"}
    assert (outcome.run / "_output.md").exists()
    told = [record for record in outcome.conversation() if goal in record.get("content", "")]
    assert len(told) == 1


def test_a_second_goal_begins_a_new_run_in_the_same_conversation(place: Place) -> None:
    plays(place)
    first = place.lead(FIRST, "--name", "twice")
    assert_complete(first, FIRST)
    second = place.run(SECOND, "--agent", "twice")
    assert_complete(second, SECOND)
    assert second.agent == first.agent
    assert second.run != first.run
    assert FIRST not in second.progress, "only the new run's events are shown"
    record = json.loads((second.agent / "agent.json").read_text())
    assert (record["goal"], record["run"], record["status"]) == (
        SECOND,
        second.result["run"],
        "completed",
    )
    assert SECOND in (second.agent / "GOAL.md").read_text()
    workers = [title for title in place.titles() if "worker ada" in title]
    assert not workers, "the workers of a run that has ended are let go"
    runs = place.json("show", "twice", "--runs")
    assert [(run["goal"], run["status"]) for run in runs] == [
        (FIRST, "completed"),
        (SECOND, "completed"),
    ]
    older = first.result["run"]
    assert place.json("show", "twice", "--run", older)["goal"] == FIRST
    nodes = place.json("board", "twice", "--run", older) + place.json("board", "twice")
    assert [node["task"] for node in nodes] == ["Write facts.md", "Write facts.md again"]
    assert nodes[0]["id"] != nodes[1]["id"]
    assert place.command("files", "twice", "_output.md", "--run", older).stdout.startswith("Done")
    place.command("stop", "twice")


def test_a_parked_coordinator_is_woken_for_another_goal(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(coordinator=by_goal({"Find": [call("finish", summary="Done."), say("Done.")]}))
    first = place.run(FIRST, "--name", "sleeper", "--model", "openai/fake")

    def state() -> str:
        rows = place.json("ps")
        return str(next(r["state"] for r in rows if r["address"].startswith(first.agent.name)))

    until(lambda: state() == "parked", "the coordinator is parked")
    second = place.run(SECOND, "--agent", "sleeper")
    assert second.result["status"] == "completed"
    third = place.run("Find the third fact", "--agent", "sleeper")
    assert third.result["status"] == "completed"
    assert len({first.run, second.run, third.run}) == 3
    began = [r["goal"] for r in third.conversation() if r["kind"] == "run.began"]
    assert began == [SECOND, "Find the third fact"]
    place.command("stop", "sleeper")


def test_a_memory_that_has_outgrown_its_bounds_is_put_in_order_at_a_runs_beginning(
    place: Place,
) -> None:
    tidy = call("memory_write", path="2026-01-01.md", content="")
    finish = call("finish", summary="Done.")
    steps = {FIRST: [finish, say("Done.")], SECOND: [tidy, finish, say("Done.")]}
    place.plays(coordinator=by_goal(steps))
    first = place.lead(FIRST, "--name", "tidy")
    assert "put your memory in order" not in json.dumps(first.conversation())
    for day in range(1, 20):
        (first.agent / f"memory/2026-01-{day:02}.md").write_text("# A day\n")
    second = place.lead(SECOND, "--agent", "tidy")
    asked = [r for r in second.conversation() if "put your memory in order" in r.get("content", "")]
    assert len(asked) == 1
    assert "it has 20 daily logs, more than 14" in asked[0]["content"]
    assert len(second.events("memory.upkeep")) == 1
    assert not (first.agent / "memory/2026-01-01.md").exists()


def test_what_cannot_be_is_told(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=[Reply(calls=call("finish", summary="x").calls, gate=gate)])
    unknown = place.command("run", SECOND, "--agent", "nobody")
    assert unknown.returncode == 1
    assert "unknown agent 'nobody' (known: " in unknown.stderr

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("coordinator"))
        refused = place.command("run", SECOND, "--agent", "busy")
        assert refused.returncode == 1
        assert "agent 'busy' is still at work in run" in refused.stderr
        gate.set()

    place.lead(FIRST, "--name", "busy", meanwhile=meanwhile)
    wrong = place.command("run", SECOND, "--agent", "busy", "--model", "nope/x")
    assert wrong.returncode == 2
    assert "nope" in wrong.stderr
    no_run = place.command("board", "busy", "--run", "20200101-000000-aaaaaa")
    assert no_run.returncode == 1
    assert "has no run '20200101-000000-aaaaaa' (known: " in no_run.stderr


def test_a_run_that_was_stopped_is_given_up_for_another_goal(place: Place) -> None:
    gate = threading.Event()
    finish = call("finish", summary="The second is done.")
    place.plays(
        coordinator=by_goal({FIRST: [Reply(calls=finish.calls, gate=gate)], SECOND: [finish]})
    )
    started = place.command("run", FIRST, "--name", "halted", "--detach", "--model", "openai/fake")
    assert started.returncode == 0, started.stderr
    place.server.wait_for(lambda seen: FIRST in seen.said)
    place.command("stop", "halted")
    outcome = place.run(SECOND, "--agent", "halted")
    gate.set()
    assert outcome.result["status"] == "completed"
    statuses = [run["status"] for run in place.json("show", "halted", "--runs")]
    assert statuses == ["stopped", "completed"]
    place.command("stop", "halted")


def test_a_coordinator_that_dies_in_its_second_run_comes_back_to_it(place: Place) -> None:
    plays(place)
    place.lead(FIRST, "--name", "phoenix")
    gate = threading.Event()
    steps = [*one_worker("ada", "Write facts.md again")]
    steps[2] = Reply(calls=call("wait").calls, gate=gate)
    place.plays(coordinator=by_goal({SECOND: [*steps, say("Done.")]}), ada=WORK)

    def meanwhile() -> None:
        waited = place.server.wait_for(lambda seen: "work_node" in str(seen.turns[-2:]))
        assert SECOND in waited.said
        place.kill("coordinator phoenix")
        gate.set()

    outcome = place.run(SECOND, "--agent", "phoenix", meanwhile=meanwhile)
    assert_complete(outcome, SECOND)
    place.command("stop", "phoenix")


def test_a_coordinator_that_dies_between_the_record_and_the_board_begins_the_run(
    place: Place,
) -> None:
    plays(place)
    first = place.lead(FIRST, "--name", "between")
    until(lambda: "coordinator between" not in " ".join(place.titles()), "it has ended")
    run = RunId("20990101-000000-abcdef")
    conversation = Conversation(first.agent / "conversation.jsonl")
    conversation.append(
        RunBegan(
            content=new_run_turn(SECOND, None, cause=""),
            run=run,
            goal=SECOND,
            model="openai/fake",
            worker_model="openai/fake",
            message="ab" * 16,
            ts=first.events()[-1]["ts"],
        )
    )
    conversation.close()
    place.command("resume", "between")
    ended = until(
        lambda: [e for e in first.events("agent.completed") if e["run_id"] == run], "its end"
    )
    assert len(ended) == 1
    kinds = [record["type"] for record in whole_lines(first.agent / f"runs/{run}/journal.jsonl")]
    assert kinds.count("run.started") == kinds.count("node.completed") == 1
    place.command("stop", "between")


def test_a_coordinator_that_dies_before_it_has_read_the_order_begins_the_run_once(
    place: Place,
) -> None:
    plays(place)
    first = place.run(FIRST, "--name", "unread", "--model", "openai/fake")
    title = f"coordinator {first.agent.name}"

    def mailbox() -> int:
        rows = {row["address"]: row for row in place.json("ps")}
        return int(rows[f"{first.agent.name}/coordinator"]["mailbox"])

    def meanwhile() -> None:
        until(lambda: mailbox() > 0, "the order is in its mailbox")
        place.kill(title)

    os.kill(place.process_of(title).pid, signal.SIGSTOP)
    second = place.run(SECOND, "--agent", "unread", meanwhile=meanwhile)
    assert_complete(second, SECOND)
    began = [r["goal"] for r in second.conversation() if r["kind"] == "run.began"]
    assert began == [SECOND]
    place.command("stop", "unread")


def test_each_run_may_bring_its_own_supervisor_and_plan(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = tmp_path_factory.mktemp("own")
    plan = home / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"id": "ada-facts", "task": "Write facts.md"}]}))
    finish = call("finish", summary="Done.")
    house = House(home, lambda seen: Reply())
    try:
        for goal in (FIRST, SECOND):
            house.server.brain = _with_a_plan(finish)
            agent = ("--name", "planner") if goal == FIRST else ("--agent", "planner")
            outcome = house.run(goal, "--plan", str(plan), "--model", "openai/fake", *agent)
            assert_complete(outcome, goal)
    finally:
        house.close()


def _with_a_plan(finish: Reply) -> Brain:
    lead = by_goal({"Find": [call("wait"), finish, say("Done.")]})

    def brain(seen: SeenRequest) -> Reply:
        return lead(seen) if seen.is_for("coordinator") else WORK[min(seen.step, 1)]

    return brain
