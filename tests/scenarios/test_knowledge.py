"""The knowledge database: later runs see the lessons of earlier runs, and need no database."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import Reply, SeenRequest, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import FACT, WAIT, ask, finish, node, place_of, publish, spawn
from tests.scenarios.test_agentic_team import DEVELOPER, LEAD, finalize, to

HEADING = "## Notes of earlier work"
SILENT = [say("I cannot."), say("I still cannot.")]
CORRECTION = "DATABASE_URL must be set before the migration of the billing service"
ANSWER = "PostgreSQL. Always use PostgreSQL for billing."
GOAL = "Deploy the billing service"


@pytest.fixture(scope="module")
def live_home(make_live_home: MakeLiveHome) -> LiveHome:
    return make_live_home({"run": {"park_after_seconds": 0}, "supervisor": {"intensity": 100}})


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


def nodes_of(live_home: LiveHome, *words: str) -> list[dict[str, Any]]:
    return [hit["node"] for hit in live_home.json("knowledge", "search", *words)]


def kinds_of(live_home: LiveHome, words: str) -> set[str]:
    return {one["kind"] for one in nodes_of(live_home, words)}


def shown_to(live_home: LiveHome, actor: str) -> str:
    """Return the text of an actor's first request."""
    seen = next(one for one in live_home.server.requests if one.is_for(actor))
    return f"{seen.system}\n{seen.said}"


@pytest.fixture(scope="module")
def taught_home(live_home: LiveHome, project: Path) -> LiveHome:
    """Return the home after a run with a node that failed at first and a question to the human."""
    leads = [
        ask("Which database?"),
        spawn("ada"),
        node(
            "migration", "ada", task="Deploy the billing service: migrate its database", retries=1
        ),
        WAIT,
        finish("Billing is deployed."),
    ]
    live_home.plays(coordinator=leads, ada=second_time)
    agent = live_home.begin("first", "--input", str(project), goal=GOAL)
    question = live_home.await_question("first")
    assert live_home.command("respond", question["id"], ANSWER).returncode == 0
    live_home.await_end(agent)
    until(lambda: "task" in kinds_of(live_home, "billing"), "the run is learned from")
    until(lambda: "project" in kinds_of(live_home, "Python"), "its project is scanned")
    return live_home


def test_lessons_of_a_run_exist_once_despite_kills(taught_home: LiveHome) -> None:
    live_home = taught_home
    [mistake] = [one for one in nodes_of(live_home, "billing") if one["kind"] == "mistake"]
    assert mistake["data"]["correction"] == CORRECTION
    assert {"task", "decision", "preference"} <= kinds_of(live_home, "billing PostgreSQL database")
    before = live_home.json("knowledge", "stats")
    live_home.kill("human")
    live_home.kill("coordinator first")
    until(lambda: live_home.states(live_home.agent("first").name), "they are back")
    after = json.loads(live_home.retried("knowledge", "stats", "--json"))
    assert (after["nodes"], after["by_kind"]) == (before["nodes"], before["by_kind"])


def test_second_run_of_the_project_is_shown_the_lessons_and_their_reasons(
    taught_home: LiveHome, project: Path
) -> None:
    live_home = taught_home
    work = [spawn("ben"), node("again", "ben", task="Deploy it"), WAIT, finish("Again.")]
    live_home.plays(coordinator=work, ben=[FACT, publish("Deployed.")])
    outcome = live_home.complete(f"{GOAL} again", "--name", "second", "--input", str(project))
    for actor in ("coordinator", "ben"):
        told = shown_to(live_home, actor)
        assert HEADING in told, actor
        assert CORRECTION in told, actor
        assert "Always use PostgreSQL" in told, actor
    prompts = {one.system for one in live_home.server.requests if one.is_for("coordinator")}
    assert len(prompts) == 1, "it never changes in a run"
    rows = live_home.json("knowledge", "why", "second")
    assert {"mistake", "preference"} <= {row["kind"] for row in rows}
    assert all(row["why"] and row["run"] == outcome.result["run"] for row in rows)
    [used] = outcome.events("knowledge.used")
    assert "notes from earlier work" in outcome.progress
    assert used["data"]["tokens"] <= 1200
    table = live_home.command("knowledge", "why", "second").stdout
    assert "WHY" in table.splitlines()[0]
    assert "; importance 0." in table


def test_run_of_another_project_is_shown_the_lessons_only_on_request(
    taught_home: LiveHome, tmp_path: Path
) -> None:
    live_home = taught_home
    for name, more, is_shown in (("other", (), False), ("asking", ("--notes", "all"), True)):
        live_home.plays(coordinator=[finish("Done.")])
        live_home.complete(f"{GOAL}, {name}", "--name", name, "--input", str(tmp_path), *more)
        told = shown_to(live_home, "coordinator")
        assert (CORRECTION in told) is is_shown, name
        listed = live_home.json("knowledge", "why", name)
        assert bool(listed) is is_shown, name


def test_role_team_is_shown_lessons_and_adds_its_own(taught_home: LiveHome, project: Path) -> None:
    live_home = taught_home
    live_home.plays(
        project_manager=[to(DEVELOPER, "Deploy billing"), finalize("The invoices are sent.")],
        software_developer=[to(LEAD, "It runs")],
    )
    words = ("--name", "roles", "--input", str(project), "--json")
    done = live_home.command("roles", f"{GOAL} as a team", *words)
    assert done.returncode == 0, done.stderr
    live_home.begun.append(json.loads(done.stdout)["agent"])
    for role in (LEAD, DEVELOPER):
        told = shown_to(live_home, role)
        assert HEADING in told, role
        assert CORRECTION in told, role
    until(lambda: nodes_of(live_home, "invoices"), "the team's run is learned from")
    assert "task" in kinds_of(live_home, "invoices")


def test_deleted_agent_leaves_its_lessons_unless_forgotten(
    taught_home: LiveHome,
) -> None:
    live_home = taught_home
    live_home.plays(coordinator=[finish("The gazebo is painted.")])
    for name in ("painter", "painter-too"):
        live_home.await_end(live_home.begin(name, goal=f"Paint the gazebo of {name}"))
    until(lambda: len(nodes_of(live_home, "gazebo")) == 2, "both are learned from")
    kept = live_home.command("rm", "painter", "--force")
    assert "the notes of its work stay in the knowledge database (1 node)" in kept.stdout, kept
    assert len(nodes_of(live_home, "gazebo")) == 2
    assert live_home.command("rm", "painter-too", "--force", "--forget").returncode == 0
    [left] = nodes_of(live_home, "gazebo")
    assert left["title"].endswith("painter")
    gone = live_home.command("knowledge", "rm", left["id"])
    assert (gone.returncode, gone.stdout) == (0, "1 node removed\n")
    assert nodes_of(live_home, "gazebo") == []


def run_both_teams(live_home: LiveHome, name: str) -> list[str]:
    """Let a run and a team do some work; return the texts of their prompts."""
    live_home.plays(
        coordinator=[finish("Done.")],
        project_manager=[finalize("Done by the team.")],
    )
    outcome = live_home.complete(f"{GOAL}, {name}", "--name", f"graph-{name}")
    assert outcome.result["result"] == "Done.\n"
    done = live_home.command("roles", f"{GOAL}, {name}", "--name", f"team-{name}", "--json")
    told = json.loads(done.stdout)
    live_home.begun.append(told["agent"])
    assert (done.returncode, told["result"]) == (0, "Done by the team.\n")
    return [f"{seen.system}\n{seen.said}" for seen in live_home.server.requests]


def test_both_kinds_of_teams_work_without_a_knowledge_database(taught_home: LiveHome) -> None:
    live_home, database = taught_home, taught_home.home / "knowledge.db"
    for suffix in ("", "-wal", "-shm"):
        database.with_name(f"knowledge.db{suffix}").unlink(missing_ok=True)
    assert not any(HEADING in told for told in run_both_teams(live_home, "removed")[:1])
    until(lambda: nodes_of(live_home, "removed"), "a new one is there")
    for suffix in ("-wal", "-shm"):
        database.with_name(f"knowledge.db{suffix}").unlink(missing_ok=True)
    database.unlink()
    database.write_bytes(b"no database at all" * 1000)
    assert not any(HEADING in told for told in run_both_teams(live_home, "damaged"))
    for name in ("graph-damaged", "team-damaged"):
        [said, *_] = live_home.json("events", name, "--type", "knowledge.unavailable")
        assert "knowledge.db" in said["data"]["reason"]
    shown = live_home.command("knowledge", "stats")
    assert (shown.returncode, "knowledge.db is damaged" in shown.stderr) == (1, True), shown
    database.unlink()
    assert live_home.json("knowledge", "stats")["nodes"] == 0, (
        "what was put in its place counts at once"
    )


def test_both_kinds_of_teams_work_with_knowledge_disabled(make_live_home: MakeLiveHome) -> None:
    off = {"learn": False, "prompt_tokens": 0, "scan": "never"}
    live_home = make_live_home({"run": {"park_after_seconds": 0}, "knowledge": off})
    assert not any(HEADING in told for told in run_both_teams(live_home, "off"))
    assert not (live_home.home / "knowledge.db").exists()
