"""A compromised worker sends frames to every actor: none crashes, and none accepts a false sender.
It attacks another agent, a teammate and its own coordinator, each with questions, triggers,
budgets, files and events, which must be unchanged afterwards."""

import contextlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agiraph.readmodel.child_register import fold
from agiraph.storage.home import Home
from agiraph.storage.journal import read_journal
from tests.fakes.model_server import Reply, SeenRequest, call
from tests.integration.hostile import FORGED, MALLORY, THROWN
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject
from tests.scenarios.steps import one_worker

RUN = ("--model", "openai/fake", "--json", "--name")
SPEAKERS = ("runtime", "board", "human")
ENTITIES = ("coordinator", "human", "clock")
OTHERS = "others"


SET_UP = {"human.question", "trigger.created", "human.budget"}
"""The events of the inputs of both agents before the attack."""


class HostileWorkerHome(LiveHome):
    """A running home whose workers may be hostile."""

    program = ("tests.integration.hostile:supervise",)


@pytest.fixture
def live_home(tmp_path: Path) -> Iterator[HostileWorkerHome]:
    settings = {
        "run": {"park_after_seconds": 0},
        "supervisor": {"ready_within_seconds": 120},  # mallory is never ready while it throws
    }
    (tmp_path / "agiraph.yaml").write_text(json.dumps(settings))
    live_home = HostileWorkerHome(tmp_path)
    try:
        yield live_home
    finally:
        live_home.close()


def leads(gate: threading.Event) -> Callable[[SeenRequest], Reply]:
    """Play both coordinators: ada works for one, bob and later mallory for the other."""
    spawn = call("spawn_worker", name=MALLORY)
    others = [
        *one_worker("bob")[:2],
        Reply(calls=spawn.calls, gate=gate),
        call("create_work_node", name="deed", task="Be bad", worker=MALLORY),
        *one_worker("bob")[2:],
    ]

    def lead(seen: SeenRequest) -> Reply:
        step = (others if f"You are {OTHERS}," in seen.system else one_worker("ada"))[seen.step]
        return step(seen) if callable(step) else step

    return lead


def test_hostile_worker_neither_crashes_nor_deceives_other_processes(
    live_home: HostileWorkerHome,
) -> None:
    gate, ask = threading.Event(), call("ask_human", question="Which one?")
    live_home.plays(
        coordinator=leads(gate),
        ada=[call("write_file", path="facts.md", content="one"), ask, call("publish", summary="f")],
        bob=[call("write_file", path="facts.md", content="two"), ask, call("publish", summary="f")],
        mallory=[call("write_file", path="x.md", content="x"), call("publish", summary="nothing")],
    )
    runs = [live_home.start("run", "Find a fact", *RUN, name) for name in ("victim", OTHERS)]
    victim, others = live_home.agent("victim"), live_home.agent(OTHERS)

    def asked() -> dict[str, JsonObject] | None:
        rows = {row["agent"]: row for row in live_home.json("questions")}
        return rows if {victim.name, others.name} <= set(rows) else None

    questions = until(asked, "the questions of ada and bob")
    for agent in (victim, others):
        live_home.json("triggers", agent.name, "add", "Look again", "--every", "2h")
        live_home.json("budget", agent.name, "5m-tokens")
    before = at_rest(live_home, victim, others)
    gate.set()
    thrown = live_home.home / THROWN
    count = until(lambda: thrown.read_text() if thrown.exists() else "", "everything was thrown")
    assert int(count) > 1_000
    after = at_rest(live_home, victim, others)
    for what, was in before.items():
        assert after[what] == was, what

    for agent in (victim, others):
        assert questions[agent.name]["question"] == "Which one?"
        done = live_home.command("respond", questions[agent.name]["id"], "the first")
        assert done.returncode == 0, done.stderr
    for run in runs:
        out, errors = run.communicate(timeout=60)
        assert json.loads(out)["status"] == "completed", errors
    assert "Traceback" not in live_home.traces()
    # Mallory itself is not ready while it throws, and may be started again for that.
    others_begun = {one: n for one, n in begun(live_home.home).items() if MALLORY not in one}
    assert set(others_begun.values()) == {1}, others_begun
    for agent, names in ((victim, {"ada"}), (others, {"bob", MALLORY})):
        assert_untouched(agent, names)


def at_rest(live_home: LiveHome, victim: Path, others: Path) -> dict[str, Any]:
    """Return the data of all entities but mallory, once all mailboxes are read."""

    def found() -> dict[str, Any] | None:
        logs = [whole_lines(agent / "events.jsonl") for agent in (victim, others)]
        if any(not {event["type"] for event in log} >= SET_UP for log in logs):
            return None  # some of it is still gathered where it happened
        mail = {row["address"]: row["mailbox"] for row in live_home.json("ps")}
        if any(count for address, count in mail.items() if MALLORY not in address):
            return None
        first = belongings(live_home, victim, others)
        return first if belongings(live_home, victim, others) == first else None

    return until(found, "every mailbox is empty")


def belongings(live_home: LiveHome, victim: Path, others: Path) -> dict[str, Any]:
    """Return the data of all entities but mallory."""
    # The page of the board is written later than its journal.
    kept = [path for path in files(victim) if path.name != "_plan.md"]
    found: dict[str, Any] = {f"victim: {path}": path.read_bytes() for path in kept}
    bobs = [*others.glob("runs/*/workers/bob-*"), *others.glob("runs/*/nodes/*bob*")]
    its = [path for folder in bobs for path in files(folder)] + [others / "triggers.json"]
    # Mallory is on bob's team, and links in bob's folder lead to files of the run.
    its = [path for path in its if path.name != ".roster.json" and not path.is_symlink()]
    found |= {f"teammates: {path}": path.read_bytes() for path in its}
    found["questions"] = {
        row["id"]: row for row in live_home.json("questions") if MALLORY not in str(row["from"])
    }
    found["processes"] = {
        row["address"]: row["pid"]
        for row in live_home.json("ps")
        if not row["address"].startswith(("console/", f"{others.name}/{MALLORY}"))
        and row["kind"] in ("coordinator", "worker")
    }
    events = whole_lines(others / "events.jsonl")
    found["events of bob"] = [one for one in events if "bob" in one["entity"]]
    with contextlib.closing(sqlite3.connect(live_home.home / "system" / "usage.db")) as db:
        calls = db.execute("SELECT entity, run_id, input_tokens, trigger_id FROM calls").fetchall()
        its_lead = (f"{others.name}/coordinator", f"{others.name}/{MALLORY}")
        found["calls"] = [row for row in calls if not row[0].startswith(its_lead)]
        found["budgets"] = db.execute("SELECT * FROM budgets ORDER BY key").fetchall()
        found["raises"] = db.execute("SELECT * FROM raises").fetchall()
    return found


def files(folder: Path) -> list[Path]:
    """Return every file below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def begun(home: Path) -> dict[str, int]:
    """Return how many processes each address has had."""
    return dict(fold(read_journal(Home(home).system.children)).incarnations)


def assert_untouched(agent: Path, workers: set[str]) -> None:
    """Check that no forged text is in the conversations, on the board or in the messages of this
    agent."""
    for path in agent.rglob("conversation.jsonl"):
        heard = [record for record in whole_lines(path) if record["kind"] == "heard"]
        assert {record["from_name"] for record in heard} <= {*SPEAKERS}, heard
        assert not [record for record in heard if record["from_name"] == "human"]
    events = whole_lines(agent / "events.jsonl")
    told_by = {event["entity"].split("/")[-1].split("-")[0] for event in events}
    assert told_by <= {*ENTITIES, *workers}, told_by
    records = whole_lines(next(agent.glob("runs/*/journal.jsonl")))
    kinds = Counter(kind(record) for record in records)
    assert kinds["node.created"] == kinds["node.completed"] == len(workers)
    assert not [one for one in kinds if one.endswith(("failed", "cancelled"))]
    for path in files(agent):
        assert FORGED.encode() not in path.read_bytes(), path


def kind(record: JsonObject) -> str:
    """Return the subject of a record of the board."""
    return str(record["type"])
