"""Waiting entities have no process: they park, and the next message wakes them, despite kills."""

from pathlib import Path

from agiraph.http.api import CreateAgentRequest, TeamRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply
from tests.integration.house import until
from tests.scenarios.house import MODEL, processes_of
from tests.scenarios.place import Place, whole_lines
from tests.scenarios.steps import (
    DONE,
    WAIT,
    Plays,
    ask,
    bash,
    finish,
    node,
    one_worker,
    publish,
    spawn,
    tell,
    write,
)

CHOOSES: Plays = [
    ask("PostgreSQL or SQLite?"),
    lambda seen: write("db.md", seen.result("ask_human")),
    DONE,
]


def asked_and_parked(place: Place, name: str, ada: Plays = CHOOSES) -> tuple[Path, str]:
    """Start a team whose worker asks; return its folder and the question's id when all parked."""
    place.plays(coordinator=one_worker("ada"), ada=ada)
    agent = place.begin(name)
    until(lambda: place.has_parked(agent.name, 2), "coordinator and worker parked")
    assert not [title for title in place.titles() if "ada" in title or agent.name in title]
    return agent, str(place.await_question(agent.name)["id"])


def test_a_question_is_answered_while_nobody_has_a_process(drowsy_place: Place) -> None:
    place = drowsy_place
    agent, question = asked_and_parked(place, "answered-parked")
    before = len(place.server.requests)
    place.json("respond", question, "PostgreSQL")
    place.await_end(agent)
    assert place.command("respond", question, "SQLite").returncode == 1
    assert len(place.server.requests) == before + 3
    [published] = agent.glob("runs/*/nodes/*/published/db.md")
    assert "PostgreSQL" in published.read_text()


def test_a_question_outlives_the_death_of_everything(drowsy_place: Place) -> None:
    place = drowsy_place
    agent, question = asked_and_parked(place, "outlives")
    for process in processes_of(place.home):
        process.kill()
    place.restart_supervisor()
    assert [*place.states(agent.name).values()] == ["parked", "waiting_for_human"]
    assert place.has_parked(agent.name, 2)
    assert place.json("show", agent.name)["status"] == "waiting_for_human"
    [worker] = place.json("workers", agent.name)
    assert worker["status"] == "waiting_for_human"
    assert [row["id"] for row in place.json("questions", agent.name)] == [question]
    place.json("respond", question, "PostgreSQL")
    place.await_end(agent)


def test_an_approval_is_given_while_nobody_has_a_process_and_after_a_stop(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    rules = place.home / "approvals.yaml"
    rules.write_text('rules: [{tool: bash, action: ask, pattern: "echo*"}]')
    agent, question = asked_and_parked(place, "approved", [bash("echo x >> marks.txt"), DONE])
    place.json("stop", agent.name)
    place.json("respond", question, "allow once")
    place.json("resume", agent.name)
    place.await_end(agent)
    rules.unlink()
    [marks] = agent.glob("runs/*/nodes/*/published/marks.txt")
    assert marks.read_text() == "x\n"
    assert len(place.json("questions", agent.name, "--all")) == 1


def test_workers_that_write_to_each_other_do_not_wake_their_parked_coordinator(
    drowsy_place: Place,
) -> None:
    place = drowsy_place

    def talks(name: str, to: str, text: str) -> Plays:
        return [ask(f"May {name} start?"), tell(to, text), ask(f"What else, {name}?")]

    place.plays(
        coordinator=[spawn("ada"), node("a", "ada"), spawn("bob"), node("b", "bob"), WAIT],
        ada=talks("ada", "bob", "Which columns?"),
        bob=talks("bob", "ada", "Three of them."),
    )
    agent = place.begin("talk")

    def questions() -> dict[str, str]:
        return {row["question"]: row["id"] for row in place.json("questions", agent.name)}

    def coordinator() -> tuple[str, int]:
        rows = {row["address"]: row for row in place.json("ps")}
        row = rows[f"{agent.name}/coordinator"]
        return row["state"], row["incarnation"]

    until(lambda: place.has_parked(agent.name, 3), "all three have parked")
    before = coordinator()
    for name in ("ada", "bob"):
        place.json("respond", questions()[f"May {name} start?"], "yes")
        until(lambda: f"What else, {name}?" in questions(), f"{name} has written and asks again")  # noqa: B023
    assert coordinator() == before
    events = whole_lines(agent / "events.jsonl")
    sent = [event["data"] for event in events if event["type"] == "message.sent"]
    assert [(one["from"], one["to"]) for one in sent] == [("ada", "bob"), ("bob", "ada")]


def test_an_agent_that_is_stopped_and_resumed_does_not_say_its_last_words_again(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    place.plays(coordinator=[finish(), Reply(text="You are welcome.")])
    agent = place.begin("last-words")
    place.await_end(agent)
    address = f"{agent.name}/coordinator"

    def said() -> list[str]:
        return [row["content"] for row in place.json("messages", agent.name)]

    place.json("send", agent.name, "Thanks!")
    until(lambda: "You are welcome." in said(), "its answer")
    before = said()
    place.json("stop", agent.name)
    place.json("resume", agent.name)
    until(lambda: place.states(agent.name)[address] == "parked", "its rest")
    assert said() == before


def test_a_wake_is_told_as_a_wake_and_a_restart_as_a_restart(drowsy_place: Place) -> None:
    place = drowsy_place
    agent, question = asked_and_parked(place, "woken")
    place.json("respond", question, "PostgreSQL")
    place.await_end(agent)
    until(lambda: len(place.states(agent.name)) == 1, "the worker's process is gone")
    told = place.command("events", agent.name).stdout
    assert "exit code" not in told
    for name in ("ada", "coordinator"):
        assert told.count(f"{name}: its process is ready") > 1, "it was woken"
    assert "restarted" not in told
    assert {row["restarts"] for row in place.json("ps", agent.name)} == {0}
    until(lambda: place.has_parked(agent.name), "the coordinator has parked")
    place.json("restart", f"{agent.name}/coordinator")
    restarted = "coordinator: its process was restarted"
    until(lambda: restarted in place.command("events", agent.name).stdout, "a restart is told")


def test_a_team_of_roles_that_has_ended_its_work_has_no_process(drowsy_place: Place) -> None:
    place = drowsy_place
    done = {"action": "finalize", "final_response": "Ready to ship"}
    place.plays(project_manager=[publish(result=done)])
    with Client.for_home(place.home) as client:
        asked = CreateAgentRequest(goal="Ship it", model=MODEL[1], team=TeamRequest())
        agent = client.create_agent(asked)
    place.begun.append(agent.id)
    place.await_end(place.home / "agents" / agent.id)
    until(lambda: place.has_parked(agent.id), "its coordinator has parked")
