"""The knowledge database: later runs see the lessons of earlier runs, and need no database."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import Reply, SeenRequest, say
from tests.integration.house import until
from tests.scenarios.place import MakePlace, Place
from tests.scenarios.steps import FACT, WAIT, ask, finish, node, place_of, publish, spawn
from tests.scenarios.test_agentic_team import DEVELOPER, LEAD, finalize, to

HEADING = "## Notes of earlier work"
SILENT = [say("I cannot."), say("I still cannot.")]
CORRECTION = "DATABASE_URL must be set before the migration of the billing service"
ANSWER = "PostgreSQL. Always use PostgreSQL for billing."
GOAL = "Deploy the billing service"


@pytest.fixture(scope="module")
def place(make_place: MakePlace) -> Place:
    return make_place({"run": {"park_after_seconds": 0}, "supervisor": {"intensity": 100}})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("billing")
    (folder / "pyproject.toml").write_text('[project]\nname = "billing"\n')
    (folder / "app.py").write_text("import sqlite3\n")
    return folder


def second_time(seen: SeenRequest) -> Reply:
    """Give the node up in silence at its first attempt, and publish at the second."""
    _, step = place_of(seen)
    is_second = "This is attempt 2" in seen.said
    return [FACT, publish(CORRECTION)][min(step, 1)] if is_second else SILENT[min(step, 1)]


def nodes_of(place: Place, *words: str) -> list[dict[str, Any]]:
    return [hit["node"] for hit in place.json("knowledge", "search", *words)]


def kinds_of(place: Place, words: str) -> set[str]:
    return {one["kind"] for one in nodes_of(place, words)}


def shown_to(place: Place, actor: str) -> str:
    """Return the text of an actor's first request."""
    seen = next(one for one in place.server.requests if one.is_for(actor))
    return f"{seen.system}\n{seen.said}"


@pytest.fixture(scope="module")
def taught(place: Place, project: Path) -> Place:
    """Return the place after a run in which a node failed at first and the person was asked."""
    leads = [
        ask("Which database?"),
        spawn("ada"),
        node(
            "migration", "ada", task="Deploy the billing service: migrate its database", retries=1
        ),
        WAIT,
        finish("Billing is deployed."),
    ]
    place.plays(coordinator=leads, ada=second_time)
    agent = place.begin("first", "--input", str(project), goal=GOAL)
    question = place.await_question("first")
    assert place.command("respond", question["id"], ANSWER).returncode == 0
    place.await_end(agent)
    until(lambda: "task" in kinds_of(place, "billing"), "the run is learned from")
    until(lambda: "project" in kinds_of(place, "Python"), "its project is scanned")
    return place


def test_what_a_run_taught_is_there_once_whatever_is_killed(taught: Place) -> None:
    place = taught
    [mistake] = [one for one in nodes_of(place, "billing") if one["kind"] == "mistake"]
    assert mistake["data"]["correction"] == CORRECTION
    assert {"task", "decision", "preference"} <= kinds_of(place, "billing PostgreSQL database")
    before = place.json("knowledge", "stats")
    place.kill("human")
    place.kill("coordinator first")
    until(lambda: place.states(place.agent("first").name), "they are back")
    after = json.loads(place.retried("knowledge", "stats", "--json"))
    assert (after["nodes"], after["by_kind"]) == (before["nodes"], before["by_kind"])


def test_a_second_run_on_the_project_is_shown_it_and_why_tells(
    taught: Place, project: Path
) -> None:
    place = taught
    work = [spawn("ben"), node("again", "ben", task="Deploy it"), WAIT, finish("Again.")]
    place.plays(coordinator=work, ben=[FACT, publish("Deployed.")])
    outcome = place.complete(f"{GOAL} again", "--name", "second", "--input", str(project))
    for actor in ("coordinator", "ben"):
        told = shown_to(place, actor)
        assert HEADING in told, actor
        assert CORRECTION in told, actor
        assert "Always use PostgreSQL" in told, actor
    prompts = {one.system for one in place.server.requests if one.is_for("coordinator")}
    assert len(prompts) == 1, "it never changes in a run"
    rows = place.json("knowledge", "why", "second")
    assert {"mistake", "preference"} <= {row["kind"] for row in rows}
    assert all(row["why"] and row["run"] == outcome.result["run"] for row in rows)
    [used] = outcome.events("knowledge.used")
    assert "notes from earlier work" in outcome.progress
    assert used["data"]["tokens"] <= 1200
    table = place.command("knowledge", "why", "second").stdout
    assert "WHY" in table.splitlines()[0]
    assert "; importance 0." in table


def test_a_run_on_another_project_is_shown_it_only_on_request(
    taught: Place, tmp_path: Path
) -> None:
    place = taught
    for name, more, is_shown in (("other", (), False), ("asking", ("--notes", "all"), True)):
        place.plays(coordinator=[finish("Done.")])
        place.complete(f"{GOAL}, {name}", "--name", name, "--input", str(tmp_path), *more)
        told = shown_to(place, "coordinator")
        assert (CORRECTION in told) is is_shown, name
        listed = place.json("knowledge", "why", name)
        assert bool(listed) is is_shown, name


def test_a_team_of_roles_is_shown_it_and_teaches_too(taught: Place, project: Path) -> None:
    place = taught
    place.plays(
        project_manager=[to(DEVELOPER, "Deploy billing"), finalize("The invoices are sent.")],
        software_developer=[to(LEAD, "It runs")],
    )
    words = ("--name", "roles", "--input", str(project), "--json")
    done = place.command("team", f"{GOAL} as a team", *words)
    assert done.returncode == 0, done.stderr
    place.begun.append(json.loads(done.stdout)["agent"])
    for role in (LEAD, DEVELOPER):
        told = shown_to(place, role)
        assert HEADING in told, role
        assert CORRECTION in told, role
    until(lambda: nodes_of(place, "invoices"), "the team's run is learned from")
    assert "task" in kinds_of(place, "invoices")


def test_removing_an_agent_keeps_what_it_taught_unless_it_is_to_be_forgotten(
    taught: Place,
) -> None:
    place = taught
    place.plays(coordinator=[finish("The gazebo is painted.")])
    for name in ("painter", "painter-too"):
        place.await_end(place.begin(name, goal=f"Paint the gazebo of {name}"))
    until(lambda: len(nodes_of(place, "gazebo")) == 2, "both are learned from")
    kept = place.command("rm", "painter", "--force")
    assert "what it taught stays in the knowledge database (1 node)" in kept.stdout, kept
    assert len(nodes_of(place, "gazebo")) == 2
    assert place.command("rm", "painter-too", "--force", "--forget").returncode == 0
    [left] = nodes_of(place, "gazebo")
    assert left["title"].endswith("painter")
    gone = place.command("knowledge", "rm", left["id"])
    assert (gone.returncode, gone.stdout) == (0, "1 node removed\n")
    assert nodes_of(place, "gazebo") == []


def both_work(place: Place, name: str) -> list[str]:
    """Let a run and a team do some work; return the texts of their prompts."""
    place.plays(
        coordinator=[finish("Done.")],
        project_manager=[finalize("Done by the team.")],
    )
    outcome = place.complete(f"{GOAL}, {name}", "--name", f"graph-{name}")
    assert outcome.result["result"] == "Done.\n"
    done = place.command("team", f"{GOAL}, {name}", "--name", f"team-{name}", "--json")
    told = json.loads(done.stdout)
    place.begun.append(told["agent"])
    assert (done.returncode, told["result"]) == (0, "Done by the team.\n")
    return [f"{seen.system}\n{seen.said}" for seen in place.server.requests]


def test_both_ways_of_working_go_on_without_a_database(taught: Place) -> None:
    place, database = taught, taught.home / "knowledge.db"
    for suffix in ("", "-wal", "-shm"):
        database.with_name(f"knowledge.db{suffix}").unlink(missing_ok=True)
    assert not any(HEADING in told for told in both_work(place, "removed")[:1])
    until(lambda: nodes_of(place, "removed"), "a new one is there")
    for suffix in ("-wal", "-shm"):
        database.with_name(f"knowledge.db{suffix}").unlink(missing_ok=True)
    database.unlink()
    database.write_bytes(b"no database at all" * 1000)
    assert not any(HEADING in told for told in both_work(place, "damaged"))
    for name in ("graph-damaged", "team-damaged"):
        [said, *_] = place.json("events", name, "--type", "knowledge.unavailable")
        assert "knowledge.db" in said["data"]["reason"]
    shown = place.command("knowledge", "stats")
    assert (shown.returncode, "knowledge.db is damaged" in shown.stderr) == (1, True), shown
    database.unlink()
    assert place.json("knowledge", "stats")["nodes"] == 0, (
        "what was put in its place counts at once"
    )


def test_both_ways_of_working_go_on_with_it_switched_off(make_place: MakePlace) -> None:
    off = {"learn": False, "prompt_tokens": 0, "scan": "never"}
    place = make_place({"run": {"park_after_seconds": 0}, "knowledge": off})
    assert not any(HEADING in told for told in both_work(place, "off"))
    assert not (place.home / "knowledge.db").exists()
