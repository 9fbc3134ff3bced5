"""Stages end to end: single calls, contracts, launched teams; each with kill -9 in its middle."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agiraph.core.turns import AssistantTurn
from tests.fakes.model_server import Brain, Reply, SeenRequest, call, calls, say
from tests.integration.house import until
from tests.scenarios.house import Outcome, processes_of, title_of
from tests.scenarios.place import Place, whole_lines

JsonObject = dict[str, Any]
SINGLE = {"mode": "single_inference"}


def hand(gate: threading.Event) -> Callable[[SeenRequest], Reply]:
    """Return a brain for every hand: one answer each, that of AMD held until the gate is open."""

    def answer(seen: SeenRequest) -> Reply:
        assert seen.tools == ()
        assert len(seen.turns) == 1
        if "Compare the two" in seen.said:
            assert "H100 has 80 GB" in seen.said
            assert "MI300X has 192 GB" in seen.said
            return say("AMD has more.")
        if "NVIDIA" in seen.said:
            return say("H100 has 80 GB")
        return Reply(text="MI300X has 192 GB", gate=gate)

    return answer


def lead(*steps: tuple[Reply | Brain, set[str]]) -> Brain:
    """Return a coordinator that takes each step, then waits until it was told all of its texts."""

    def think(seen: SeenRequest) -> Reply:
        said = [turn for turn in seen.turns if isinstance(turn, AssistantTurn)]
        taken = sum(any(made.name != "wait" for made in turn.tool_calls) for turn in said)
        if taken and any(text not in seen.said for text in steps[taken - 1][1]):
            return call("wait")
        step = steps[taken][0]
        return step(seen) if callable(step) else step

    return think


MICRO = lead(
    (
        calls(
            *(
                call("create_work_node", name=name, task=f"Specs of {name}", **SINGLE)
                for name in ("NVIDIA", "AMD")
            )
        ),
        {"H100 has 80 GB", "MI300X has 192 GB"},
    ),
    (
        call(
            "create_work_node",
            name="both",
            task="Compare the two",
            refs={"one": "nvidia", "two": "amd"},
            **SINGLE,
        ),
        {"AMD has more."},
    ),
    (call("finish", summary="AMD has more."), set()),
)


def test_a_micro_managed_run_makes_one_call_a_node_through_kills(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=MICRO, **{"*": hand(gate)})

    def meanwhile() -> None:
        agent = place.agent("micro")
        place.server.wait_for(lambda seen: "Specs of AMD" in seen.said)
        place.await_call(agent, "wait")
        place.kill("coordinator")
        with frozen(place, "coordinator"):
            gate.set()
            worker = until(lambda: answered(agent, "MI300X"), "the answer stands")
            place.kill(worker)
        until(lambda: "node.completed" in types_of(agent), "it is taken in")

    outcome = place.lead("Compare two chips", "--name", "micro", meanwhile=meanwhile)
    assert_done(outcome, "nvidia", "amd", "both")
    assert "AMD has more." in outcome.result["result"]
    assert outcome.published("amd") == {"answer.md": "MI300X has 192 GB\n"}
    hands = [seen for seen in place.server.requests if not seen.is_for("coordinator")]
    assert len(hands) == 3


def worker_of(name: str, *, gate: threading.Event | None = None) -> list[Reply]:
    publish = call("publish", summary=f"{name} is done")
    return [
        call("write_file", path=f"{name}.md", content=f"what {name} found"),
        Reply(calls=publish.calls, gate=gate),
    ]


def roles(*names: str) -> list[JsonObject]:
    return [{"name": name, "title": "searcher", "prompt": f"Find {name}"} for name in names]


def over_a_stage(contract: JsonObject, *names: str) -> Brain:
    """Return a coordinator that closes a stage that went on without somebody."""
    stage = {"name": "Search", "roles": roles(*names), "contract": contract}
    closing = call(
        "reconvene",
        assessment="Two were enough",
        decided="Go on without the rest, because two agree",
        next_stage={"name": "Report", "goal": "write it down"},
    )
    return lead(
        (call("launch_roles", stage=stage), {"stage 'Search' is over"}),
        (closing, set()),
        (lambda seen: call("finish", summary=f"Closed: {seen.result('reconvene')}"), set()),
    )


def test_a_majority_goes_on_without_its_straggler_and_says_so(place: Place) -> None:
    never, slow = threading.Event(), threading.Event()
    place.plays(
        coordinator=over_a_stage({"checkpoint_policy": "majority"}, "ada", "bob", "cyd"),
        ada=worker_of("ada"),
        bob=worker_of("bob", gate=slow),
        cyd=worker_of("cyd", gate=never),
    )

    def meanwhile() -> None:
        agent = place.agent("majority")
        until(lambda: "node.completed" in types_of(agent), "the first has ended")
        place.server.wait_for(lambda seen: seen.is_for("cyd") and seen.step == 1)
        place.kill("coordinator")
        slow.set()

    outcome = place.lead("Search", "--name", "majority", meanwhile=meanwhile)
    never.set()
    assert_done(outcome, "ada-search", "bob-search")
    assert went_on_without(outcome, "majority", 2, 3) == ["cyd-search"]
    assert '"went_on_without": ["cyd-search"]' in outcome.result["result"]


def test_a_stage_whose_time_is_up_goes_on_and_a_restart_gives_it_no_more(place: Place) -> None:
    never = threading.Event()
    place.plays(
        coordinator=over_a_stage({"timeout_seconds": 4}, "eva", "fay"),
        eva=worker_of("eva"),
        fay=worker_of("fay", gate=never),
    )

    def meanwhile() -> None:
        agent = place.agent("late")
        until(lambda: "node.completed" in types_of(agent), "the first has ended")
        place.kill("coordinator")

    outcome = place.lead("Search", "--name", "late", meanwhile=meanwhile)
    never.set()
    assert_done(outcome, "eva-search")
    assert went_on_without(outcome, "timeout", 1, 2) == ["fay-search"]


def test_a_launched_stage_keeps_who_persists_and_what_those_who_go_have_published(
    place: Place,
) -> None:
    gate = threading.Event()
    first = {"name": "Search", "roles": roles("Gus", "Hal")}
    second = [
        {"name": "Gus", "prompt": "Cross-reference", "refs": {"sums": "hal-search"}},
        {"name": "Ida", "title": "Report Writer", "prompt": "Write", "dependencies": ["Gus"]},
    ]
    then = {"name": "Write", "roles": second, "retire": ["Hal"]}
    place.plays(
        coordinator=lead(
            (call("launch_roles", stage=first), {"gus is done", "hal is done"}),
            (call("reconvene", assessment="solid", decided="keep Gus, let Hal go"), set()),
            (call("launch_roles", stage=then), {"ida is done"}),
            (call("finish", summary="Done"), set()),
        ),
        Gus=[*worker_of("gus"), *worker_of("cross", gate=gate)],
        Hal=[*worker_of("hal")[:1], call("publish", summary="hal is done")],
        Ida=worker_of("ida"),
    )

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: seen.is_for("Gus") and seen.step == 3)
        place.kill("coordinator")
        gate.set()

    outcome = place.lead("Report", "--name", "launched", meanwhile=meanwhile)
    assert_done(outcome, "gus-search", "hal-search", "gus-write", "ida-write")
    assert len(outcome.events("worker.spawned")) == 3
    assert outcome.events("worker.stopped")[0]["data"]["name"] == "Hal"
    assert outcome.published("hal-search") == {"hal.md": "what hal found"}
    last = place.server.seen_by("Gus")[-1]
    assert "Find Gus" in last.said
    assert "Cross-reference" in last.said
    plan = (outcome.run / "_plan.md").read_text()
    assert "Decided:\n\nkeep Gus, let Hal go" in plan
    assert "## Write (completed)" in plan


# --- what is looked at ---------------------------------------------------------------------------


def assert_done(outcome: Outcome, *nodes: str) -> None:
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    told = [event["data"]["name"] for event in outcome.events("node.completed")]
    assert sorted(told) == sorted(nodes)
    assert len(outcome.completions()) == len(nodes)


def went_on_without(outcome: Outcome, why: str, completed: int, of: int) -> list[str]:
    """Return whom the first stage continued without, which event, notice and plan all say."""
    (met,) = outcome.events("stage.met")
    names: list[str] = met["data"]["without"]
    assert met["data"] == {
        "stage": "Search",
        "why": why,
        "completed": completed,
        "of": of,
        "without": names,
    }
    heard = [r["content"] for r in outcome.conversation() if r["kind"] == "heard"]
    notices = [text for text in heard if "stage 'Search' is over" in text]
    assert len(notices) == 1
    assert f"stays in scratch/: {', '.join(names)}" in notices[0]
    plan = (outcome.run / "_plan.md").read_text()
    assert f"Went on without: {', '.join(names)}." in plan
    assert "Decided:\n\nGo on without the rest, because two agree" in plan
    cancelled = [event["data"]["name"] for event in outcome.events("node.cancelled")]
    assert cancelled == names
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
def frozen(place: Place, title: str) -> Iterator[None]:
    """Keep the process with this title, once it is there, from running inside the block."""

    def found() -> list[int]:
        return [p.pid for p in processes_of(place.home) if title in title_of(p)]

    (pid,) = until(found, f"a process {title}")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
