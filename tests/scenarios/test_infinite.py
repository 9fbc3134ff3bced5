"""An agent without an end: it works in cycles, sleeps parked between them, and loses no cycle."""

import json
import threading
from pathlib import Path

import pytest

from agiraph.core.turns import UserTurn
from tests.fakes.model_server import Reply, Responder, SeenRequest, call
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject
from tests.scenarios.steps import bash, held

GOAL = "Monitor the front page. Every cycle, add new posts on AI to the summary."
POSTS = ("AI writes a compiler", "Cheese is old", "AI plays chess", "AI reads maps")


def show_posts(live_home: LiveHome, count: int) -> None:
    """Let the front page show the first posts."""
    (live_home.home / "page" / "front.txt").write_text("\n".join(POSTS[:count]) + "\n")


LOOK = bash('cat "$AGIRAPH_INPUT/front.txt"')


def last_told(seen: SeenRequest) -> str:
    """Return the last user turn of the model."""
    return [turn.content for turn in seen.turns if isinstance(turn, UserTurn)][-1]


def writes(number: int) -> Responder:
    """Return a model that adds new posts on AI to the summary."""

    def responder(seen: SeenRequest) -> Reply:
        page = seen.result("bash")
        fresh = [p for p in POSTS if "AI" in p and p in page and p not in last_told(seen)]
        lines = "".join(f"cycle {number}: {post}\\n" for post in fresh)
        return bash(f"printf '{lines}' >> hn_summary.md")

    return responder


def ends(number: int) -> Responder:
    def responder(seen: SeenRequest) -> Reply:
        so_far = ", ".join(POSTS[: number + 1])
        notes = f"Cycle {number}: reported so far: {so_far}"
        return call("end_cycle", notes=notes, **({"next_in": "2s"} if number == 2 else {}))

    return responder


def cycle(agent: Path) -> int:
    """Return how many cycles have ended."""
    journals = list(agent.glob("runs/*/journal.jsonl"))
    records = [record for path in journals for record in whole_lines(path)]
    return len([record for record in records if record["type"] == "cycle.ended"])


def begin_cycle(live_home: LiveHome, number: int, agent: str = "monitor") -> None:
    """Start the next cycle before its time, once its trigger is set."""
    fire = ("triggers", agent, "fire", f"cycle {number}")
    until(lambda: live_home.command(*fire).returncode == 0, f"cycle {number} fired")


def test_monitor_continues_its_cycles_through_kills(parking_home: LiveHome) -> None:
    live_home = parking_home
    (live_home.home / "page").mkdir()
    gate, end = threading.Event(), threading.Event()
    steps: list[Reply | Responder] = [
        LOOK,
        writes(1),
        ends(1),
        held(LOOK, gate),
        writes(2),
        ends(2),
    ]
    live_home.plays(coordinator=[*steps, LOOK, writes(3), ends(3), held(LOOK, end)])
    show_posts(live_home, 2)
    folder = ("--input", str(live_home.home / "page"))
    agent = live_home.begin("monitor", "--mode", "infinite", *folder, "--cycle", "10m", goal=GOAL)

    def row() -> JsonObject:
        rows = {row["address"]: row for row in live_home.json("ps")}
        return dict(rows[f"{agent.name}/coordinator"])

    until(lambda: cycle(agent) == 1, "the first cycle")
    show_posts(live_home, 3)
    until(lambda: row()["state"] == "parked", "the coordinator parked")
    assert row()["step"].startswith("cycle 2 at ")
    assert live_home.json("show", "monitor")["status"] == "idle"
    live_home.kill("agiraph: clock")
    assert not [title for title in live_home.titles() if "coordinator monitor" in title]
    begin_cycle(live_home, 2)
    live_home.await_step("coordinator", 3)
    live_home.kill("coordinator monitor")
    gate.set()
    until(lambda: cycle(agent) == 2, "the second cycle")
    show_posts(live_home, 4)
    live_home.restart_supervisor()
    until(lambda: cycle(agent) == 3, "the third cycle")
    begin_cycle(live_home, 4)
    live_home.server.wait_for(lambda seen: seen.step == 9)

    live_home.stop(agent.name)
    end.set()
    summary = next(agent.glob("runs/*/hn_summary.md")).read_text().splitlines()
    assert summary == [f"cycle 1: {POSTS[0]}", f"cycle 2: {POSTS[2]}", f"cycle 3: {POSTS[3]}"]
    logs = "".join(path.read_text() for path in (agent / "memory").glob("2*.md"))
    for number in (1, 2, 3):
        assert logs.count(f"cycle {number}\n") == 1
        assert f"Cycle {number}: reported so far" in logs
    records = whole_lines(agent / "conversation.jsonl")
    told = [record["content"] for record in records if record["kind"] == "heard"]
    for number in (2, 3, 4):
        [turn] = [text for text in told if f"# Cycle {number}" in text]
        assert GOAL in turn
        assert f"Cycle {number - 1}: reported so far" in turn

    def cycles_told() -> list[tuple[str, int]]:
        events = whole_lines(agent / "events.jsonl")
        return [
            (event["type"].removeprefix("agent.cycle_"), event["data"]["cycle"])
            for event in events
            if event["type"].startswith("agent.cycle_")
        ]

    # Events are recorded in the background: the last may come after the answer to `stop`.
    until(lambda: ("started", 4) in cycles_told(), "all is recorded")
    ended_and_started = [
        (what, n + (what == "started")) for n in (1, 2, 3) for what in ("ended", "started")
    ]
    assert cycles_told() == ended_and_started
    systems = [seen.system for seen in live_home.server.seen_by("coordinator")]
    for number in (1, 2):  # a cycle's prompt keeps the memory from its beginning
        [of_cycle] = set(systems[3 * number : 3 * number + 3])
        assert f"Cycle {number}: reported so far" in of_cycle
        assert f"Cycle {number + 1}: reported so far" not in of_cycle
    book = json.loads((agent / "triggers.json").read_text())
    assert [t["fired"] for t in book["triggers"]] == [1, 1, 1]
    assert not live_home.server.problems


def test_the_embedded_script_surveys_again_in_each_cycle(parking_home: LiveHome) -> None:
    live_home = parking_home
    folder = live_home.home / "watched"
    folder.mkdir()
    (folder / "a.txt").write_text("three little words")
    about = ("--mode", "infinite", "--input", str(folder), "--model", "script/survey")
    agent = live_home.begin("surveys", *about, goal="Watch this folder")
    until(lambda: cycle(agent) == 1, "the first survey")
    (folder / "b.txt").write_text("and two more")
    begin_cycle(live_home, 2, "surveys")
    until(lambda: cycle(agent) == 2, "the second survey")
    journal = next(agent.glob("runs/*/journal.jsonl"))
    notes = [r["notes"] for r in whole_lines(journal) if r["type"] == "cycle.ended"]
    assert ["b.txt" in note for note in notes] == [False, True]
    until(lambda: live_home.json("show", "surveys")["status"] == "idle", "its rest")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_restored_agent_begins_its_next_cycle(parking_home: LiveHome, is_stopped: bool) -> None:
    live_home, name = parking_home, f"archived-{is_stopped}".lower()
    live_home.plays(lambda seen: call("end_cycle", notes="nothing new"))
    agent = live_home.begin(name, "--mode", "infinite", "--cycle", "10m", goal="Watch this folder")
    until(lambda: cycle(agent) == 1, "the first cycle")
    until(lambda: live_home.states(agent.name)[f"{agent.name}/coordinator"] == "parked", "its rest")
    if is_stopped:  # its trigger's message is lost in the archive
        assert live_home.command("stop", name).returncode == 0
        begin_cycle(live_home, 2, name)
    for act in ("archive", "restore", "resume"):
        assert live_home.command(act, name).returncode == 0
    if not is_stopped:
        begin_cycle(live_home, 2, name)
    until(lambda: cycle(agent) == 2, "the second cycle")
