"""Lessons of workers: carried to their next node, offered to the agent, kept once despite kills."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from tests.fakes.model_server import Reply, Responder, Script, SeenRequest, call, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import MODEL, Outcome, ScenarioHome
from tests.scenarios.steps import WAIT, finish, held, node, publish, spawn, write

WITHIN_SECONDS = 90
MakeHome = Callable[[Responder], ScenarioHome]
INSIGHT = "The price table of 2024 counts in thousands."
SUM = write("sum.md", "4")
REFLECTED = "Sums are quick with awk."
LEARNED = "The tables are in input/sales, separated by semicolons."


class TwoNodeTeam:
    """One worker, two nodes; `gate` delays the coordinator's answer after the first node.

    `thought` delays the worker's answer about its lessons, and `last` the end of the run.
    """

    def __init__(self) -> None:
        self.gate, self.thought, self.last = (threading.Event() for _ in range(3))

    def coordinator(self, seen: SeenRequest) -> Reply:
        """Create both nodes, one after the other, and finish when both are done."""
        created = len(seen.results("create_work_node"))
        if created == 0:
            return calls(spawn("ada"), node("first", "ada"))
        waits = seen.results("wait")
        done = bool(waits) and '"completed"' in waits[-1]
        if created == 1:
            waiting = call("wait", nodes=["first"])
            return held(node("second", "ada") if done else waiting, self.gate if waits else None)
        if "Both" in seen.said:
            return say("Done.")
        is_over = done and "second" in waits[-1]
        return held(finish("Both are summed."), self.last) if is_over else WAIT

    def ada(self, seen: SeenRequest) -> Reply:
        """Sum, and report the lessons."""
        if is_asked(seen):
            return Reply(text=REFLECTED, gate=self.thought)
        if "# Assignment: second" in seen.said:
            return calls(SUM, publish("Summed again."))
        return calls(SUM, publish("Summed.", learned=LEARNED, insight=INSIGHT))

    def run(self, make_home: ScenarioHome, *, also_dies_when_asked: bool) -> Outcome:
        """Run it; kill the coordinator after the first node, and the worker if requested."""
        make_home.server.responder = Script({"coordinator": self.coordinator, "ada": self.ada})

        def meanwhile() -> None:
            make_home.server.wait_for(
                lambda seen: seen.is_for("coordinator") and bool(seen.results("wait")),
                WITHIN_SECONDS,
            )
            make_home.kill("coordinator tables")
            self.gate.set()
            if also_dies_when_asked:
                make_home.server.wait_for(is_asked, WITHIN_SECONDS)
                make_home.kill("worker ada")
            self.thought.set()
            memories = "agents/*/runs/*/workers/ada-*/memory.md"
            until(
                lambda: (
                    not also_dies_when_asked
                    or [p for p in make_home.home.glob(memories) if REFLECTED in p.read_text()]
                ),
                "what was learned is written down",
            )
            self.last.set()

        outcome = make_home.run("Sum the tables", *MODEL, meanwhile=meanwhile)
        assert outcome.result["status"] == "completed", outcome.progress
        assert [offer["insight"] for offer in outcome.data("memory.insight")] == [INSIGHT]
        return outcome


def is_asked(seen: SeenRequest) -> bool:
    """Whether the worker is asked for its lessons."""
    return (
        seen.is_for("ada") and "List your lessons from it" in seen.said.rpartition("[Runtime]")[2]
    )


def folder_of(outcome: Outcome) -> Path:
    return next((outcome.run / "workers").glob("ada-*"))


def test_worker_keeps_its_lessons_and_the_coordinator_is_asked(
    live_home: LiveHome,
) -> None:
    live_home.plays()
    outcome = TwoNodeTeam().run(live_home, also_dies_when_asked=False)
    shown = [seen for seen in live_home.server.seen_by("ada") if "Assignment: second" in seen.said]
    assert "Assignment: first" in shown[0].said, "the node before is in its conversation"
    assert shown[0].said.count("The team's goal: ") == 1, "and is not told again"
    assert LEARNED not in shown[0].said
    own = folder_of(outcome)
    assert (own / "memory.md").read_text().count(LEARNED) == 1
    history = json.loads((own / "history.json").read_text())
    assert [entry["name"] for entry in history] == ["first", "second"]
    assert history[0]["learned"] == LEARNED
    results = [r["content"] for r in outcome.conversation() if r["kind"] == "tool.finished"]
    waits = [json.loads(text) for text in results if "interrupted_by_message" in text]
    assert not any(wait["interrupted_by_message"] for wait in waits)
    assert [node["insight"] for node in waits[0]["nodes"]] == [INSIGHT]
    assert not (outcome.agent / "memory/knowledge/from-workers.md").exists()


def test_accepted_insight_is_stored_and_a_silent_worker_is_asked_even_after_a_kill(
    make_home: MakeHome, tmp_path: Path
) -> None:
    (tmp_path / "agiraph.yaml").write_text("memory: {insights: accept, reflection: turn}\n")
    outcome = TwoNodeTeam().run(make_home(lambda seen: Reply()), also_dies_when_asked=True)
    assert len(outcome.completions()) == 2
    kept = (outcome.agent / "memory/knowledge/from-workers.md").read_text()
    assert kept.count(f"## {INSIGHT}") == 1
    assert "offered by ada, node 'first', run" in kept
    assert "I offer this" not in json.dumps(outcome.conversation())
    memory = (folder_of(outcome) / "memory.md").read_text()
    assert memory.count(f"Learned: {REFLECTED}") == 1
    assert memory.count(f"Learned: {LEARNED}") == 1
