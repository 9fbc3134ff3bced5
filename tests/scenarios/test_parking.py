"""What waits has no process: it parks, and the next message wakes it, whatever died meanwhile."""

from pathlib import Path
from typing import Any

from tests.fakes.model_server import call
from tests.integration.house import until
from tests.scenarios.house import processes_of
from tests.scenarios.place import Place, Steps, whole_lines

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


def test_workers_that_write_to_each_other_do_not_wake_their_parked_coordinator(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    place.plays(
        coordinator=[
            call("spawn_worker", name="ada"),
            call("create_work_node", name="a", task="Ask", worker="ada"),
            call("spawn_worker", name="bob"),
            call("create_work_node", name="b", task="Answer", worker="bob"),
            call("wait"),
        ],
        ada=[
            call("ask_human", question="May ada start?"),
            call("send_message", to="bob", content="Which columns?"),
            call("ask_human", question="What else, ada?"),
        ],
        bob=[
            call("ask_human", question="May bob start?"),
            call("send_message", to="ada", content="Three of them."),
            call("ask_human", question="What else, bob?"),
        ],
    )
    agent = str(place.json("run", "Talk", "--model", "openai/fake", "--detach")["agent"])

    def questions() -> dict[str, str]:
        return {row["question"]: row["id"] for row in place.json("questions", agent)}

    def coordinator() -> dict[str, Any]:
        rows = {row["address"]: row for row in place.json("ps")}
        row: dict[str, Any] = rows[f"{agent}/coordinator"]
        return row

    until(lambda: states(place, agent) == ["parked"] * 3, "all three have parked")
    before = coordinator()["incarnation"]
    for name in ("ada", "bob"):
        assert place.command("respond", questions()[f"May {name} start?"], "yes").returncode == 0
        until(lambda: f"What else, {name}?" in questions(), f"{name} has written and asks again")  # noqa: B023
    assert (coordinator()["state"], coordinator()["incarnation"]) == ("parked", before)
    events = whole_lines(place.home / "agents" / agent / "events.jsonl")
    sent = [event["data"] for event in events if event["type"] == "message.sent"]
    assert [(one["from"], one["to"]) for one in sent] == [("ada", "bob"), ("bob", "ada")]
