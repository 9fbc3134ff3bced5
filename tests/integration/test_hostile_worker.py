"""A worker that was taken over throws frames at every actor: none crashes, none is believed."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.supervisor.table import fold
from agiraph.storage.home import Home
from agiraph.storage.journal import read_journal
from tests.fakes.model_server import Reply, SeenRequest, call
from tests.integration.hostile import MALLORY, THROWN
from tests.integration.house import until
from tests.scenarios.house import JsonObject
from tests.scenarios.place import Place, one_worker, whole_lines

RUN = ("--model", "openai/fake", "--json", "--name")
SPEAKERS = ("runtime", "board", "human")
ENTITIES = ("ada", "coordinator", "human")


class HostilePlace(Place):
    """A place whose workers may be hostile."""

    program = ("tests.integration.hostile:supervise",)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[HostilePlace]:
    (tmp_path / "agiraph.yaml").write_text("run:\n  park_after_seconds: 0\n")
    place = HostilePlace(tmp_path)
    try:
        yield place
    finally:
        place.close()


def lead(seen: SeenRequest) -> Reply:
    """Play both coordinators: each has one worker."""
    step = one_worker("mal" if f"You are {MALLORY}," in seen.system else "ada")[seen.step]
    return step(seen) if callable(step) else step


def test_nobody_crashes_and_nobody_believes_a_worker_that_was_taken_over(
    place: HostilePlace,
) -> None:
    gate = threading.Event()
    write = call("write_file", path="facts.md", content="one fact")
    place.plays(
        coordinator=lead,
        ada=[
            Reply(calls=write.calls, gate=gate),
            call("ask_human", question="Which one?"),
            call("publish", summary="found"),
        ],
        mal=[call("write_file", path="x.md", content="x"), call("publish", summary="nothing")],
    )
    victim = place.start("run", "Find a fact", *RUN, "victim")
    place.server.wait_for(lambda seen: seen.is_for("ada"))
    attacker = place.start("run", "Be bad", *RUN, MALLORY)
    thrown = place.home / THROWN
    until(thrown.exists, "everything was thrown")
    assert int(thrown.read_text(encoding="utf-8")) > 1_000
    _, errors = attacker.communicate(timeout=60)
    assert attacker.returncode == 0, errors

    gate.set()
    agent = place.agent("victim")

    def asked() -> list[JsonObject]:
        return [row for row in place.json("questions") if row["agent"] == agent.name]

    (question,) = until(asked, "the victim's question")
    assert question["question"] == "Which one?"
    assert place.command("respond", question["id"], "the first").returncode == 0
    out, errors = victim.communicate(timeout=60)
    assert json.loads(out)["status"] == "completed", errors
    assert "Traceback" not in place.traces()
    again = {address: count for address, count in begun(place.home).items() if count > 1}
    assert not again, "somebody had to begin again"
    assert_untouched(agent)


def begun(home: Path) -> dict[str, int]:
    """Return how many processes each address has had."""
    return dict(fold(read_journal(Home(home).system.children)).incarnations)


def assert_untouched(agent: Path) -> None:
    """Nothing that was thrown is in the minds, on the board or in the messages of this agent."""
    for path in agent.rglob("conversation.jsonl"):
        heard = [record for record in whole_lines(path) if record["kind"] == "heard"]
        assert {record["from_name"] for record in heard} <= {*SPEAKERS}, heard
        assert not [record for record in heard if record["from_name"] == "human"]
    events = whole_lines(agent / "events.jsonl")
    assert {event["entity"].split("/")[-1].split("-")[0] for event in events} <= {*ENTITIES}, events
    records = whole_lines(next(agent.glob("runs/*/journal.jsonl")))
    assert [kind(record) for record in records if kind(record).startswith("node.c")] == [
        "node.created",
        "node.completed",
    ]
    assert not [record for record in records if kind(record).endswith(("failed", "cancelled"))]


def kind(record: JsonObject) -> str:
    """Return what a record of the board is about."""
    return str(record["type"])
