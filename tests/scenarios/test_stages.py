"""Stages end to end: single calls, contracts, launched teams; each with kill -9 in its middle."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agiraph.core.turns import AssistantTurn
from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject, Outcome
from tests.scenarios.steps import WAIT, finish, held, node, publish, spawn, write

NVIDIA, AMD, VERDICT = "H100 has 80 GB", "MI300X has 192 GB", "AMD has more."


def lead(*steps: tuple[Reply | Responder, set[str]]) -> Responder:
    """Return a coordinator that plays each step, then waits for all of the step's texts."""

    def think(seen: SeenRequest) -> Reply:
        said = [turn for turn in seen.turns if isinstance(turn, AssistantTurn)]
        taken = sum(any(made.name != "wait" for made in turn.tool_calls) for turn in said)
        if taken and any(text not in seen.said for text in steps[taken - 1][1]):
            return WAIT
        step = steps[taken][0]
        return step(seen) if callable(step) else step

    return think


def single(name: str, **more: Any) -> Reply:
    """Create a node of one model call."""
    return node(name, mode="single_inference", **more)


def test_a_micro_managed_run_makes_one_call_a_node_through_kills(live_home: LiveHome) -> None:
    gate = threading.Event()

    def hand(seen: SeenRequest) -> Reply:
        assert seen.tools == ()
        assert len(seen.turns) == 1
        if "Do both" in seen.said:
            assert NVIDIA in seen.said
            assert AMD in seen.said
            return say(VERDICT)
        return say(NVIDIA) if "NVIDIA" in seen.said else held(say(AMD), gate)

    both = single("both", refs={"one": "nvidia", "two": "amd"})
    micro = lead(
        (calls(single("NVIDIA"), single("AMD")), {NVIDIA, AMD}),
        (both, {VERDICT}),
        (finish(VERDICT), set()),
    )
    live_home.plays(coordinator=micro, **{"*": hand})

    def meanwhile() -> None:
        agent = live_home.agent("micro")
        live_home.server.wait_for(lambda seen: "Do AMD" in seen.said)
        live_home.await_call(agent, "wait")
        live_home.kill("coordinator micro")
        with frozen(live_home, "coordinator micro"):
            gate.set()
            live_home.kill(until(lambda: answered(agent, "MI300X"), "the answer stands"))
        until(lambda: "node.completed" in types_of(agent), "it is processed")

    outcome = live_home.lead("Compare two chips", "--name", "micro", meanwhile=meanwhile)
    assert_done(outcome, "nvidia", "amd", "both")
    assert VERDICT in outcome.result["result"]
    assert outcome.published("amd") == {"answer.md": f"{AMD}\n"}
    assert len([seen for seen in live_home.server.requests if not seen.is_for("coordinator")]) == 3


def worker_of(name: str, gate: threading.Event | None = None) -> list[Reply]:
    """Return the steps of a worker that publishes its findings, at the gate."""
    done = publish(f"{name} is done")
    return [write(f"{name}.md", f"what {name} found"), held(done, gate) if gate else done]


def roles(*names: str) -> list[JsonObject]:
    return [{"name": name, "title": "searcher", "prompt": f"Find {name}"} for name in names]


def over_a_stage(contract: JsonObject, *names: str) -> Responder:
    """Return a coordinator that closes a stage that ended without all of its nodes."""
    stage = {"name": "Search", "roles": roles(*names), "contract": contract}
    closing = call(
        "reconvene",
        assessment="Two were enough",
        decided="Go on without the rest, because two agree",
    )
    return lead(
        (call("launch_roles", stage=stage), {"stage 'Search' is over"}),
        (closing, set()),
        (lambda seen: finish(f"Closed: {seen.result('reconvene')}"), set()),
    )


def test_majority_stage_ends_without_its_straggler_and_reports_it(live_home: LiveHome) -> None:
    never, slow = threading.Event(), threading.Event()
    live_home.plays(
        coordinator=over_a_stage({"checkpoint_policy": "majority"}, "ada", "bob", "cyd"),
        ada=worker_of("ada"),
        bob=worker_of("bob", slow),
        cyd=worker_of("cyd", never),
    )

    def meanwhile() -> None:
        agent = live_home.agent("majority")
        until(lambda: "node.completed" in types_of(agent), "the first has ended")
        live_home.await_step("cyd", 1)
        live_home.kill("coordinator majority")
        slow.set()

    outcome = live_home.lead("Search", "--name", "majority", meanwhile=meanwhile)
    never.set()
    assert_done(outcome, "ada-search", "bob-search")
    assert stragglers_of(outcome, why="majority", completed=2, of=3) == ["cyd-search"]
    assert '"went_on_without": ["cyd-search"]' in outcome.result["result"]


def test_timed_out_stage_ends_and_a_restart_does_not_extend_it(
    live_home: LiveHome,
) -> None:
    never = threading.Event()
    leads = over_a_stage({"timeout_seconds": 4}, "eva", "fay")
    live_home.plays(coordinator=leads, eva=worker_of("eva"), fay=worker_of("fay", never))

    def meanwhile() -> None:
        agent = live_home.agent("late")
        until(lambda: "node.completed" in types_of(agent), "the first has ended")
        live_home.kill("coordinator late")

    outcome = live_home.lead("Search", "--name", "late", meanwhile=meanwhile)
    never.set()
    assert_done(outcome, "eva-search")
    assert stragglers_of(outcome, why="timeout", completed=1, of=2) == ["fay-search"]


def test_launched_stage_keeps_repeated_workers_and_the_outputs_of_others(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()
    first = {"name": "Search", "brief": "Prices in euros.", "roles": roles("Gus", "Hal")}
    second: list[JsonObject] = [
        {"name": "Gus", "prompt": "Cross-reference", "refs": {"sums": "hal-search"}},
        {"name": "Ida", "title": "Report Writer", "prompt": "Write", "dependencies": ["Gus"]},
    ]
    then: JsonObject = {"name": "Write", "roles": second, "retire": ["Hal"]}
    live_home.plays(
        coordinator=lead(
            (call("launch_roles", stage=first), {"gus is done", "hal is done"}),
            (call("reconvene", assessment="solid", decided="keep Gus, let Hal go"), set()),
            (call("launch_roles", stage=then), {"ida is done"}),
            (finish("Done"), set()),
        ),
        Gus=[*worker_of("gus"), *worker_of("cross", gate)],
        Hal=worker_of("hal"),
        Ida=worker_of("ida"),
    )

    def meanwhile() -> None:
        live_home.await_step("Gus", 3)
        live_home.kill("coordinator launched")
        gate.set()

    outcome = live_home.lead("Report", "--name", "launched", meanwhile=meanwhile)
    assert_done(outcome, "gus-search", "hal-search", "gus-write", "ida-write")
    assert len(outcome.events("worker.spawned")) == 3
    assert outcome.data("worker.stopped")[0]["name"] == "Hal"
    assert outcome.published("hal-search") == {"hal.md": "what hal found"}
    for name in ("Gus", "Hal"):
        brief = live_home.await_step(name, 0).said
        assert "## Brief of the stage, for all its workers\n\nPrices in euros.\n" in brief
    assert "Prices in euros." not in live_home.await_step("Ida", 0).said
    last = live_home.server.seen_by("Gus")[-1]
    assert "Find Gus" in last.said
    assert "Cross-reference" in last.said
    plan = (outcome.run / "_plan.md").read_text()
    assert "Decided:\n\nkeep Gus, let Hal go" in plan
    assert "## Write (completed)" in plan


def test_end_of_a_node_and_the_goal_are_told_in_full_once(live_home: LiveHome) -> None:
    waits = [call("wait", nodes=["jo-facts"]), call("wait", nodes=["jo-facts"])]
    closing = call("reconvene", assessment="good", decided="stop")
    begins = [spawn("jo"), node("jo-facts", "jo")]
    live_home.plays(coordinator=[*begins, *waits, closing, finish()], jo=worker_of("jo"))
    agent = live_home.begin("once", goal="Compare all sellers")
    live_home.await_end(agent)
    last = live_home.await_step("coordinator", 5)
    first, again = (json.loads(result)["nodes"][0] for result in last.results("wait"))
    closed = json.loads(last.result("reconvene"))["nodes"][0]
    assert first["summary"] == "jo is done"
    assert again == closed == {key: again[key] for key in ("id", "name", "status", "told_before")}
    assert again["told_before"].endswith("/_status.md")
    assert "Compare all sellers" not in last.system
    assert last.said.count("Compare all sellers") == 1


# --- results -------------------------------------------------------------------------------------


def assert_done(outcome: Outcome, *nodes: str) -> None:
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert sorted(told["name"] for told in outcome.data("node.completed")) == sorted(nodes)
    assert len(outcome.completions()) == len(nodes)


def stragglers_of(outcome: Outcome, **facts: object) -> list[str]:
    """Return the names that the first stage continued without, in event, notice and plan."""
    (met,) = outcome.data("stage.met")
    names: list[str] = met["without"]
    assert met == {"stage": "Search", "without": names, **facts}
    told = [r["content"] for r in outcome.conversation() if r["kind"] == "heard"]
    [notice] = [text for text in told if "stage 'Search' is over" in text]
    assert f"their files stay in scratch/: {', '.join(names)}" in notice
    plan = (outcome.run / "_plan.md").read_text()
    assert f"Went on without: {', '.join(names)}." in plan
    assert "Decided:\n\nGo on without the rest, because two agree" in plan
    assert [one["name"] for one in outcome.data("node.cancelled")] == names
    return names


def types_of(agent: Path) -> list[str]:
    return [event["type"] for event in whole_lines(agent / "events.jsonl")]


def answered(agent: Path, text: str) -> str | None:
    """Return the id of the worker whose journal has this answer."""
    for journal in agent.glob("runs/*/workers/*/conversation.jsonl"):
        said = [r for r in whole_lines(journal) if r["kind"] == "said"]
        if any(text in (record["text"] or "") for record in said):
            return journal.parent.name
    return None


@contextlib.contextmanager
def frozen(live_home: LiveHome, title: str) -> Iterator[None]:
    """Keep the process with this title, once it is there, from running inside the block."""
    pid = live_home.kill(title, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
