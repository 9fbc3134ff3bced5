"""What waits has no process: it parks, and the next message wakes it, whatever died meanwhile."""

from pathlib import Path

from tests.fakes.model_server import call
from tests.integration.house import until
from tests.scenarios.house import processes_of
from tests.scenarios.place import Place, Steps

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


def states(place: Place, agent: str) -> list[str]:
    """Return the states of an agent's entities."""
    return [row["state"] for row in place.json("ps") if row["address"].startswith(f"{agent}/")]


def ask_and_park(place: Place) -> tuple[str, str]:
    """Start a team whose worker asks; return its id and the question's once all have parked."""
    place.plays(**ASKING)
    started = place.json("run", "Set up", "--model", "openai/fake", "--detach")
    agent = str(started["agent"])
    until(lambda: states(place, agent) == ["parked", "parked"], "coordinator and worker parked")
    assert not [title for title in place.titles() if "ada" in title or agent in title]
    [question] = place.json("questions", agent)
    return agent, str(question["id"])


def await_end(place: Place, agent: str) -> Path:
    """Wait until the run is completed, stop the agent, and return its folder."""
    until(lambda: place.json("show", agent)["status"] == "completed", "the run is completed")
    assert not place.server.problems
    place.command("stop", agent)
    return place.home / "agents" / agent


def test_a_question_is_answered_while_nobody_has_a_process(drowsy_place: Place) -> None:
    place = drowsy_place
    agent, question = ask_and_park(place)
    asked = len(place.server.requests)
    assert place.command("respond", question, "PostgreSQL").returncode == 0
    home = await_end(place, agent)
    assert place.command("respond", question, "SQLite").returncode == 1
    assert len(place.server.requests) == asked + 3
    published = next(home.glob("runs/*/nodes/*/published/db.md"))
    assert "PostgreSQL" in published.read_text()


def test_a_question_outlives_the_death_of_everything(drowsy_place: Place) -> None:
    place = drowsy_place
    agent, question = ask_and_park(place)
    for process in processes_of(place.home):
        process.kill()
    place.restart_supervisor()
    assert states(place, agent) == ["parked", "parked"]
    assert [row["id"] for row in place.json("questions", agent)] == [question]
    assert place.command("respond", question, "PostgreSQL").returncode == 0
    await_end(place, agent)


def test_an_approval_is_given_while_nobody_has_a_process_and_after_a_stop(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    rules = place.home / "approvals.yaml"
    rules.write_text('rules: [{tool: bash, action: ask, pattern: "echo*"}]')
    mark = call("bash", command="echo x >> marks.txt")
    place.plays(**{**ASKING, "ada": [mark, call("publish", summary="marked")]})
    started = place.json("run", "Mark", "--model", "openai/fake", "--detach")
    agent = str(started["agent"])
    until(lambda: states(place, agent) == ["parked", "parked"], "coordinator and worker parked")
    [question] = place.json("questions", agent)
    place.json("stop", agent)
    assert place.command("respond", question["id"], "allow once").returncode == 0
    place.json("resume", agent)
    home = await_end(place, agent)
    rules.unlink()
    [marks] = home.glob("runs/*/nodes/*/published/marks.txt")
    assert marks.read_text() == "x\n"
    assert len(place.json("questions", agent, "--all")) == 1
