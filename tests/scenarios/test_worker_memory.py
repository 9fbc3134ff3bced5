"""What workers learn: carried to their next node, offered to the agent, kept once through kills."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from tests.fakes.model_server import Brain, Reply, Script, SeenRequest, call, calls, say
from tests.integration.house import until
from tests.scenarios.house import House, Outcome
from tests.scenarios.place import Place

WITHIN_SECONDS = 90
MakeHouse = Callable[[Brain], House]
INSIGHT = "The price table of 2024 counts in thousands."
SUM = call("write_file", path="sum.md", content="4")
REFLECTED = "Sums are quick with awk."
LEARNED = "The tables are in input/sales, separated by semicolons."


def team(
    gate: threading.Event,
    thought: threading.Event | None = None,
    last: threading.Event | None = None,
) -> Script:
    """One worker, two nodes; the coordinator's answer after the first is held back.

    So is what the worker has learned when it is asked, until it has `thought`, and the end of the
    run until `last`.
    """
    waited = call("wait", nodes=["first"])
    second = call("create_work_node", name="second", task="Sum again", worker="ada")

    def after_first(seen: SeenRequest) -> Reply:
        done = '"completed"' in seen.result("wait")
        return Reply(calls=(second if done else waited).calls, gate=gate)

    def after_second(seen: SeenRequest) -> Reply:
        return call("wait") if "second" not in seen.result("wait") else finish(seen)

    def finish(seen: SeenRequest) -> Reply:
        done = '"completed"' in seen.result("wait")
        ending = call("finish", summary="Both are summed.")
        return Reply(calls=ending.calls, gate=last) if done else call("wait")

    def lead(seen: SeenRequest) -> Reply:
        created = seen.results("create_work_node")
        if not created:
            first = call("create_work_node", name="first", task="Sum it", worker="ada")
            return calls(call("spawn_worker", name="ada"), first)
        if len(created) == 1:
            waits = seen.results("wait")
            return after_first(seen) if waits else waited
        return after_second(seen) if "Both" not in seen.said else say("Done.")

    def ada(seen: SeenRequest) -> Reply:
        if "what have you learned" in seen.said.rpartition("[Runtime]")[2]:
            return Reply(text=REFLECTED, gate=thought)
        if "# Assignment: second" in seen.said:
            return calls(SUM, call("publish", summary="Summed again."))
        return calls(SUM, call("publish", summary="Summed.", learned=LEARNED, insight=INSIGHT))

    return Script({"coordinator": lead, "ada": ada})


def reflects(seen: SeenRequest) -> bool:
    return seen.is_for("ada") and "what have you learned" in seen.said.rpartition("[Runtime]")[2]


def run(
    house: House,
    gate: threading.Event,
    thought: threading.Event | None = None,
    last: threading.Event | None = None,
) -> Outcome:
    def meanwhile() -> None:
        house.server.wait_for(
            lambda seen: seen.is_for("coordinator") and _is_waited(seen), WITHIN_SECONDS
        )
        house.kill("coordinator")
        gate.set()
        if thought is not None and last is not None:
            house.server.wait_for(reflects, WITHIN_SECONDS)
            house.kill("worker ada")
            thought.set()
            memories = "agents/*/runs/*/workers/ada-*/memory.md"
            until(
                lambda: [p for p in house.home.glob(memories) if REFLECTED in p.read_text()],
                "what was learned is written down",
            )
            last.set()

    outcome = house.run("Sum the tables", "--model", "openai/fake", meanwhile=meanwhile)
    assert outcome.result["status"] == "completed", outcome.progress
    offers = outcome.events("memory.insight")
    assert [offer["data"]["insight"] for offer in offers] == [INSIGHT]
    return outcome


def _is_waited(seen: SeenRequest) -> bool:
    return bool(seen.results("wait"))


def folder_of(outcome: Outcome) -> Path:
    return next((outcome.run / "workers").glob("ada-*"))


def test_a_worker_takes_along_what_it_learned_and_the_coordinator_is_asked(
    place: Place,
) -> None:
    gate = threading.Event()
    place.plays()
    place.server.brain = team(gate)
    outcome = run(place, gate)
    place.command("stop", outcome.result["agent"])
    shown = [seen for seen in place.server.seen_by("ada") if "Assignment: second" in seen.said]
    assert "What you know from your earlier nodes" in shown[0].said
    assert f"Learned: {LEARNED}" in shown[0].said
    own = folder_of(outcome)
    assert (own / "memory.md").read_text().count(LEARNED) == 1
    history = json.loads((own / "history.json").read_text())
    assert [entry["name"] for entry in history] == ["first", "second"]
    assert history[0]["learned"] == LEARNED
    heard = json.dumps(outcome.conversation())
    assert heard.count("I offer this to your long-term memory, from node 'first'") == 1
    assert not (outcome.agent / "memory/knowledge/from-workers.md").exists()


def test_by_policy_an_insight_is_kept_and_a_silent_worker_is_asked_also_when_it_dies_over_it(
    house: MakeHouse, tmp_path: Path
) -> None:
    (tmp_path / "agiraph.yaml").write_text("memory: {insights: accept, reflection: turn}\n")
    gate, thought, last = threading.Event(), threading.Event(), threading.Event()
    made = house(team(gate, thought, last))
    outcome = run(made, gate, thought, last)
    assert len(outcome.completions()) == 2
    kept = (outcome.agent / "memory/knowledge/from-workers.md").read_text()
    assert kept.count(f"## {INSIGHT}") == 1
    assert "offered by ada, node 'first', run" in kept
    assert "I offer this" not in json.dumps(outcome.conversation())
    memory = (folder_of(outcome) / "memory.md").read_text()
    assert memory.count(f"Learned: {REFLECTED}") == 1
    assert memory.count(f"Learned: {LEARNED}") == 1
