"""What waits has no process: it parks, and the next message wakes it, whatever died meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import Script, call
from tests.integration.house import until
from tests.scenarios.house import processes_of
from tests.scenarios.place import Place, Steps, placed

ASKING: dict[str, Steps] = {
    "coordinator": [
        call("spawn_worker", name="ada"),
        call("create_work_node", name="database", task="Set up a database", worker="ada"),
        call("wait"),
        call("finish", summary="The database is set up."),
    ],
    "ada": [
        call("ask_human", question="PostgreSQL or SQLite?"),
        lambda seen: call("write_file", path="db.md", content=seen.result("ask_human")),
        call("publish", summary="the choice"),
    ],
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Return a place whose entities park soon."""
    (tmp_path / "agiraph.yaml").write_text("run:\n  park_after_seconds: 0.2\n")
    with placed(tmp_path) as made:
        yield made


def states(place: Place) -> dict[str, str]:
    """Return the states of the entities, by name."""
    rows = place.json("ps")
    return {row["name"]: row["state"] for row in rows if row["kind"] in ("coordinator", "worker")}


def ask_and_park(place: Place) -> str:
    """Start a team whose worker asks; return the question's id once everybody has parked."""
    place.server.brain = Script(ASKING)
    started = place.command(
        "run", "Set up", "--model", "anthropic/fake", "--detach", "--name", "db"
    )
    assert started.returncode == 0, started.stderr

    def all_parked() -> bool:
        found = states(place)
        return len(found) == 2 and set(found.values()) == {"parked"}

    until(all_parked, "coordinator and worker parked")
    assert not [title for title in place.titles() if "ada" in title or "coordinator" in title]
    [question] = place.json("questions")
    return str(question["id"])


def test_a_question_is_answered_while_nobody_has_a_process(place: Place) -> None:
    question = ask_and_park(place)
    asked = len(place.server.requests)
    assert place.command("respond", question, "PostgreSQL").returncode == 0
    until(lambda: place.json("agents")[0]["status"] == "completed", "the run is completed")
    assert place.command("respond", question, "SQLite").returncode == 1
    assert len(place.server.requests) == asked + 3
    published = next(place.home.glob("agents/*/runs/*/nodes/*/published/db.md"))
    assert "PostgreSQL" in published.read_text()


def test_a_question_outlives_the_death_of_everything(place: Place) -> None:
    question = ask_and_park(place)
    for process in processes_of(place.home):
        process.kill()
    place.restart_supervisor()
    assert set(states(place).values()) == {"parked"}
    assert [row["id"] for row in place.json("questions")] == [question]
    assert place.command("respond", question, "PostgreSQL").returncode == 0
    until(lambda: place.json("agents")[0]["status"] == "completed", "the run is completed")
    assert not place.server.problems
