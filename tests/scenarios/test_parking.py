"""Waiting entities have no process: they park, and the next message wakes them, despite kills."""

from pathlib import Path

from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL, processes_of
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


def asked_and_parked(live_home: LiveHome, name: str, ada: Plays = CHOOSES) -> tuple[Path, str]:
    """Start a team whose worker asks; return its folder and the question's id when all parked."""
    live_home.plays(coordinator=one_worker("ada"), ada=ada)
    agent = live_home.begin(name)
    until(lambda: live_home.has_parked(agent.name, 2), "coordinator and worker parked")
    assert not [title for title in live_home.titles() if "ada" in title or agent.name in title]
    return agent, str(live_home.await_question(agent.name)["id"])


def test_question_is_answered_while_all_entities_are_parked(parking_home: LiveHome) -> None:
    live_home = parking_home
    agent, question = asked_and_parked(live_home, "answered-parked")
    before = len(live_home.server.requests)
    live_home.json("respond", question, "PostgreSQL")
    live_home.await_end(agent)
    assert live_home.command("respond", question, "SQLite").returncode == 1
    assert len(live_home.server.requests) == before + 3
    [published] = agent.glob("runs/*/nodes/*/published/db.md")
    assert "PostgreSQL" in published.read_text()


def test_question_survives_the_kill_of_every_process(parking_home: LiveHome) -> None:
    live_home = parking_home
    agent, question = asked_and_parked(live_home, "outlives")
    for process in processes_of(live_home.home):
        process.kill()
    live_home.restart_supervisor()
    assert [*live_home.states(agent.name).values()] == ["parked", "waiting_for_human"]
    assert live_home.has_parked(agent.name, 2)
    assert live_home.json("show", agent.name)["status"] == "waiting_for_human"
    [worker] = live_home.json("workers", agent.name)
    assert worker["status"] == "waiting_for_human"
    assert [row["id"] for row in live_home.json("questions", agent.name)] == [question]
    live_home.json("respond", question, "PostgreSQL")
    live_home.await_end(agent)


def test_approval_is_given_while_all_entities_are_parked_and_after_a_stop(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    rules = live_home.home / "approvals.yaml"
    rules.write_text('rules: [{tool: bash, action: ask, pattern: "echo*"}]')
    agent, question = asked_and_parked(live_home, "approved", [bash("echo x >> marks.txt"), DONE])
    live_home.json("stop", agent.name)
    live_home.json("respond", question, "allow once")
    live_home.json("resume", agent.name)
    live_home.await_end(agent)
    rules.unlink()
    [marks] = agent.glob("runs/*/nodes/*/published/marks.txt")
    assert marks.read_text() == "x\n"
    assert len(live_home.json("questions", agent.name, "--all")) == 1


def test_workers_that_write_to_each_other_do_not_wake_their_parked_coordinator(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home

    def talks(name: str, to: str, text: str) -> Plays:
        return [ask(f"May {name} start?"), tell(to, text), ask(f"What else, {name}?")]

    live_home.plays(
        coordinator=[spawn("ada"), node("a", "ada"), spawn("bob"), node("b", "bob"), WAIT],
        ada=talks("ada", "bob", "Which columns?"),
        bob=talks("bob", "ada", "Three of them."),
    )
    agent = live_home.begin("talk")

    def questions() -> dict[str, str]:
        return {row["question"]: row["id"] for row in live_home.json("questions", agent.name)}

    def coordinator() -> tuple[str, int]:
        rows = {row["address"]: row for row in live_home.json("ps")}
        row = rows[f"{agent.name}/coordinator"]
        return row["state"], row["incarnation"]

    until(lambda: live_home.has_parked(agent.name, 3), "all three have parked")
    before = coordinator()
    for name in ("ada", "bob"):
        live_home.json("respond", questions()[f"May {name} start?"], "yes")
        until(lambda: f"What else, {name}?" in questions(), f"{name} has written and asks again")  # noqa: B023
    assert coordinator() == before
    events = whole_lines(agent / "events.jsonl")
    sent = [event["data"] for event in events if event["type"] == "message.sent"]
    assert [(one["from"], one["to"]) for one in sent] == [("ada", "bob"), ("bob", "ada")]


def test_resumed_agent_does_not_repeat_its_last_message(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    live_home.plays(coordinator=[finish(), Reply(text="You are welcome.")])
    agent = live_home.begin("last-words")
    live_home.await_end(agent)
    address = f"{agent.name}/coordinator"

    def said() -> list[str]:
        return [row["content"] for row in live_home.json("messages", agent.name)]

    live_home.json("send", agent.name, "Thanks!")
    until(lambda: "You are welcome." in said(), "its answer")
    before = said()
    live_home.json("stop", agent.name)
    live_home.json("resume", agent.name)
    until(lambda: live_home.states(agent.name)[address] == "parked", "its rest")
    assert said() == before


def test_wake_and_restart_are_reported_differently(parking_home: LiveHome) -> None:
    live_home = parking_home
    agent, question = asked_and_parked(live_home, "woken")
    live_home.json("respond", question, "PostgreSQL")
    live_home.await_end(agent)
    until(lambda: len(live_home.states(agent.name)) == 1, "the worker's process is gone")
    told = live_home.command("events", agent.name).stdout
    assert "exit code" not in told
    for name in ("ada", "coordinator"):
        assert told.count(f"{name}: its process is ready") > 1, "it was woken"
    assert "restarted" not in told
    assert {row["restarts"] for row in live_home.json("ps", agent.name)} == {0}
    until(lambda: live_home.has_parked(agent.name), "the coordinator has parked")
    live_home.json("restart", f"{agent.name}/coordinator")
    restarted = "coordinator: its process was restarted"
    until(lambda: restarted in live_home.command("events", agent.name).stdout, "a restart is told")


def test_finished_role_team_has_no_process(parking_home: LiveHome) -> None:
    live_home = parking_home
    done = {"action": "finalize", "final_response": "Ready to ship"}
    live_home.plays(project_manager=[publish(result=done)])
    with Client.for_home(live_home.home) as client:
        asked = CreateAgentRequest(goal="Ship it", model=MODEL[1], roles=RoleTeamRequest())
        agent = client.create_agent(asked)
    live_home.begun.append(agent.id)
    live_home.await_end(live_home.home / "agents" / agent.id)
    until(lambda: live_home.has_parked(agent.id), "its coordinator has parked")
