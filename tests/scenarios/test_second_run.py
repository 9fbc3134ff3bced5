"""A second goal for the same agent: its own run and board, one conversation, nothing twice."""

import json
import signal
import threading
from pathlib import Path

from agiraph.agent.conversation import Conversation
from agiraph.agent.prompts import new_run_turn
from agiraph.agent.records import RunBegan
from agiraph.core.ids import RunId
from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import Outcome, ScenarioHome
from tests.scenarios.steps import FACT, WAIT, WORK, by_goal, finish, held, one_worker, workers

FIRST, SECOND = "Find the first fact", "Find the second fact"
END = [finish(), say("Done.")]


def lead_first(live_home: LiveHome, name: str, *, is_stopped: bool = True) -> Outcome:
    """Let both goals be played, and run the first one to its end."""
    steps = {
        FIRST: [*one_worker("ada"), say("The first is done.")],
        SECOND: [*one_worker("ada", "Write facts.md again"), say("The second is done.")],
    }
    live_home.plays(coordinator=by_goal(steps), ada=WORK)
    outcome = (live_home.lead if is_stopped else live_home.run)(FIRST, "--name", name)
    assert_complete(outcome, FIRST)
    return outcome


def assert_complete(outcome: Outcome, goal: str) -> None:
    """Assert one complete run: its own board with one node, reported once, its own files."""
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert len(outcome.completions()) == 1
    mine = [event for event in outcome.events() if event["run_id"] == outcome.result["run"]]
    types = [event["type"] for event in mine]
    assert types.count("agent.started") == types.count("agent.completed") == 1
    assert next(e for e in mine if e["type"] == "agent.started")["data"]["goal"] == goal
    assert outcome.published("ada-facts") == {"facts.md": "one fact"}
    assert (outcome.run / "_output.md").exists()
    told = [record for record in outcome.conversation() if goal in record.get("content", "")]
    assert len(told) == 1


def goals_of(outcome: Outcome) -> list[str]:
    """Return the goals of the further runs that its coordinator has begun."""
    return [record["goal"] for record in outcome.conversation() if record["kind"] == "run.began"]


def test_a_second_goal_begins_a_new_run_in_the_same_conversation(live_home: LiveHome) -> None:
    first = lead_first(live_home, "twice")
    second = live_home.run(SECOND, "--agent", "twice")
    assert_complete(second, SECOND)
    assert second.agent == first.agent
    assert second.run != first.run
    assert FIRST not in second.progress, "only the new run's events are shown"
    record = json.loads((second.agent / "agent.json").read_text())
    now = (SECOND, second.result["run"], "completed")
    assert (record["goal"], record["run"], record["status"]) == now
    assert SECOND in (second.agent / "GOAL.md").read_text()
    workers = [title for title in live_home.titles() if "worker ada" in title]
    assert not workers, "the workers of a run that has ended are let go"
    runs = live_home.json("show", "twice", "--runs")
    ended = [(FIRST, "completed"), (SECOND, "completed")]
    assert [(run["goal"], run["status"]) for run in runs] == ended
    older = first.result["run"]
    assert live_home.json("show", "twice", "--run", older)["goal"] == FIRST
    nodes = live_home.json("board", "twice", "--run", older) + live_home.json("board", "twice")
    assert [node["task"] for node in nodes] == ["Write facts.md", "Write facts.md again"]
    assert nodes[0]["id"] != nodes[1]["id"]
    assert live_home.command("files", "twice", "_output.md", "--run", older).stdout.startswith(
        "Done"
    )


def test_a_parked_coordinator_is_woken_for_another_goal(parking_home: LiveHome) -> None:
    live_home = parking_home
    live_home.plays(coordinator=by_goal({"Find": END}))
    first = live_home.run(FIRST, "--name", "sleeper")
    agent = first.agent.name
    until(lambda: [*live_home.states(agent).values()] == ["parked"], "the coordinator is parked")
    second = live_home.run(SECOND, "--agent", "sleeper")
    third = live_home.run("Find the third fact", "--agent", "sleeper")
    assert second.result["status"] == third.result["status"] == "completed"
    assert len({first.run, second.run, third.run}) == 3
    assert goals_of(third) == [SECOND, "Find the third fact"]


def test_oversized_memory_is_tidied_at_the_beginning_of_a_run(
    live_home: LiveHome,
) -> None:
    tidy = call("memory_write", path="2026-01-01.md", content="")
    live_home.plays(coordinator=by_goal({FIRST: END, SECOND: [tidy, *END]}))
    first = live_home.lead(FIRST, "--name", "tidy")
    assert "put your memory in order" not in json.dumps(first.conversation())
    for day in range(1, 20):
        (first.agent / f"memory/2026-01-{day:02}.md").write_text("# A day\n")
    second = live_home.lead(SECOND, "--agent", "tidy")
    contents = [record.get("content", "") for record in second.conversation()]
    [asked] = [text for text in contents if "put your memory in order" in text]
    assert "it has 20 daily logs, more than 14" in asked
    assert len(second.events("memory.maintenance")) == 1
    assert not (first.agent / "memory/2026-01-01.md").exists()


def test_a_goal_for_an_agent_at_work_is_refused(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=[held(finish("x"), gate)])

    def meanwhile() -> None:
        live_home.await_step("coordinator", 0)
        refused = live_home.command("run", SECOND, "--agent", "busy-runner")
        gate.set()
        assert refused.returncode == 1
        assert "agent 'busy-runner' is still at work in run" in refused.stderr

    live_home.lead(FIRST, "--name", "busy-runner", meanwhile=meanwhile)


def test_stopped_run_is_given_up_for_another_goal(live_home: LiveHome) -> None:
    """Its workers would repeat their requests; they do not."""
    gate, names = threading.Event(), ("ada", "bob", "cyd")
    busy = {name: [held(FACT, gate)] for name in names}
    live_home.plays(coordinator=by_goal({FIRST: workers(*names), SECOND: [finish()]}), **busy)
    live_home.begin("halted", goal=FIRST)
    for name in names:
        live_home.await_step(name, 0)
    live_home.command("stop", "halted")
    outcome = live_home.run(SECOND, "--agent", "halted")
    gate.set()
    assert outcome.result["status"] == "completed"
    assert [len(live_home.server.seen_by(name)) for name in names] == [1, 1, 1]
    statuses = [run["status"] for run in live_home.json("show", "halted", "--runs")]
    assert statuses == ["stopped", "completed"]


def test_coordinator_killed_in_its_second_run_continues_it(live_home: LiveHome) -> None:
    lead_first(live_home, "phoenix")
    gate = threading.Event()
    hire, assign, _, end = one_worker("ada", "Write facts.md again")
    steps = [hire, assign, held(WAIT, gate), end, say("Done.")]
    live_home.plays(coordinator=by_goal({SECOND: steps}), ada=WORK)

    def meanwhile() -> None:
        waited = live_home.server.wait_for(lambda seen: "work_node" in str(seen.turns[-2:]))
        assert SECOND in waited.said
        live_home.kill("coordinator phoenix")
        gate.set()

    assert_complete(live_home.run(SECOND, "--agent", "phoenix", meanwhile=meanwhile), SECOND)


def test_coordinator_killed_between_record_and_board_begins_the_run(
    live_home: LiveHome,
) -> None:
    first = lead_first(live_home, "between")
    until(lambda: "coordinator between" not in " ".join(live_home.titles()), "it has ended")
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
    live_home.command("resume", "between")
    live_home.begun.append("between")
    ended = until(
        lambda: [e for e in first.events("agent.completed") if e["run_id"] == run], "its end"
    )
    assert len(ended) == 1
    kinds = [record["type"] for record in whole_lines(first.agent / f"runs/{run}/journal.jsonl")]
    assert kinds.count("run.started") == kinds.count("node.completed") == 1


def test_coordinator_killed_before_reading_its_order_begins_the_run_once(
    live_home: LiveHome,
) -> None:
    first = lead_first(live_home, "unread", is_stopped=False)
    title, address = f"coordinator {first.agent.name}", f"{first.agent.name}/coordinator"

    def mailbox() -> int:
        return next(
            int(row["mailbox"]) for row in live_home.json("ps") if row["address"] == address
        )

    def meanwhile() -> None:
        until(lambda: mailbox() > 0, "the order is in its mailbox")
        live_home.kill(title)

    live_home.kill(title, signal.SIGSTOP)
    second = live_home.run(SECOND, "--agent", "unread", meanwhile=meanwhile)
    assert_complete(second, SECOND)
    assert goals_of(second) == [SECOND]


def test_each_run_may_have_its_own_supervisor_and_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"id": "ada-facts", "task": "Write facts.md"}]}))
    leads = by_goal({"Find": [WAIT, *END]})

    def responder(seen: SeenRequest) -> Reply:
        return leads(seen) if seen.is_for("coordinator") else WORK[min(seen.step, 1)]

    scenario_home = ScenarioHome(tmp_path, responder)
    try:
        for goal, agent in ((FIRST, "--name"), (SECOND, "--agent")):
            options = ("--plan", str(plan), "--model", "openai/fake", agent, "planner")
            assert_complete(scenario_home.run(goal, *options), goal)
    finally:
        scenario_home.close()
