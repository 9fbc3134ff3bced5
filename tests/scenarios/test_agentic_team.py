"""A team of roles at work: `agiraph roles`, its turns, and their continuation after kills."""

import contextlib
import json
from pathlib import Path
from threading import Event
from typing import Any

from agiraph.core.roles import EarlierTask
from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL
from tests.scenarios.steps import held, program, publish, write
from tests.scenarios.terminal import Terminal, needs_tmux

LEAD, DEVELOPER, QA = "project_manager", "software_developer", "qa_engineer"


def to(role: str, message: str) -> Reply:
    """Publish the decision that another role acts next."""
    return publish(result={"action": "message", "to_role": role, "message": message})


def finalize(final: str, message: str = "") -> Reply:
    """Publish the decision that the work is done."""
    return publish(result={"action": "finalize", "message": message, "final_response": final})


def turns_of(live_home: LiveHome, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live_home.json("roles", "turns", agent)["turns"]
    return found


def told_turns(log: Path) -> list[int]:
    """Return the numbers of the turns in an agent's events."""
    return [one["data"]["turn"] for one in whole_lines(log) if one["type"] == "role.turn"]


def test_roles_pass_messages_until_the_lead_finishes(live_home: LiveHome) -> None:
    seen: list[str] = []

    def lead(request: SeenRequest) -> Reply:
        seen.append(request.said)
        return (
            finalize("Ready to ship", "Approved")
            if "Validation" in request.said
            else to(DEVELOPER, "Implement endpoint + tests")
        )

    live_home.plays(
        project_manager=lead,
        software_developer=[write("app.py", "x = 1\n"), to(QA, "Complete, validate")],
        qa_engineer=[to(LEAD, "Validation passed")],
    )
    done = live_home.command("roles", "Build an endpoint", "--name", "endpoint", "--json", *MODEL)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["status"], told["result"]) == ("completed", "Ready to ship\n")
    ways = [(one["turn"], one["from_role"], one["to_role"]) for one in told["roles"]["turns"]]
    assert ways == [(1, LEAD, DEVELOPER), (2, DEVELOPER, QA), (3, QA, LEAD), (4, LEAD, "user")]
    assert told["roles"]["turns"][3] == {
        "turn": 4,
        "action": "finalize",
        "from_role": LEAD,
        "to_role": "user",
        "from_agent": MODEL[1],
        "to_agent": "user",
        "message": "Approved",
        "success": True,
    }
    assert told["roles"]["status"] == "finalized"
    agent = told["agent"]
    live_home.begun.append(agent)
    events = [one["data"] for one in live_home.json("events", agent, "--type", "role.turn")]
    assert events == told["roles"]["turns"] == turns_of(live_home, agent)
    assert "app.py" in seen[1], "the files of others are named"
    assert "project_manager: " in done.stderr


def test_killed_process_does_not_change_the_running_turn(
    killable_home: LiveHome,
) -> None:
    live_home, gate, last = killable_home, Event(), Event()
    live_home.plays(
        project_manager=[to(DEVELOPER, "Count"), held(finalize("It is one."), last)],
        software_developer=[write("count", "1"), held(to(QA, "Counted"), gate)],
        qa_engineer=[to(LEAD, "Right")],
    )
    with Client.for_home(live_home.home) as client:
        asked = CreateAgentRequest(
            goal="Count it", name="counted", model=MODEL[1], roles=RoleTeamRequest()
        )
        agent = client.create_agent(asked)
    live_home.begun.append(agent.id)
    live_home.server.wait_for(
        lambda seen: seen.is_for(DEVELOPER) and "count" in str(seen.turns[-1])
    )
    live_home.kill("coordinator counted")
    live_home.kill("worker software-developer-")
    for service in ("router", "broker", "spawner"):
        live_home.kill(service)
    gate.set()
    live_home.server.wait_for(lambda seen: seen.is_for(LEAD) and "Right" in seen.said)
    for process in ("human", "recorder", "clock", "coordinator counted", "worker project-manager-"):
        live_home.kill(process)
    live_home.restart_supervisor()
    last.set()
    record = live_home.await_end(live_home.home / "agents" / agent.id)
    assert record["result"] == "It is one."
    ways = [(one["from_role"], one["to_role"]) for one in turns_of(live_home, agent.id)]
    assert ways == [(LEAD, DEVELOPER), (DEVELOPER, QA), (QA, LEAD), (LEAD, "user")]
    log = live_home.home / "agents" / agent.id / "events.jsonl"
    until(lambda: 4 in told_turns(log), "the last turn is in the log, behind the agent's record")
    assert told_turns(log) == [1, 2, 3, 4], "each once"


WORKS = """\
#!/usr/bin/env python3
decision = '{"action": "message", "to_role": "project_manager", "message": "Drawn"}'
open("_result.md", "w").write(decision)
"""


def test_failed_role_is_replaced_by_its_fallback_or_reported_to_the_lead(
    live_home: LiveHome, tmp_path: Path
) -> None:
    """The fallback of a command is another command or a model, of a model another model."""
    roles = {
        "software_architect": {"agent": "fails", "fallback": "works"},
        DEVELOPER: {"agent": "fails", "fallback": "openai/helper"},
        "devops_engineer": {"agent": "refused/x", "fallback": "openai/helper"},
        QA: {"agent": "refused/x"},
    }
    commands = {"works": program(tmp_path, WORKS), "fails": "false"}
    presets = {name: {"command": [command], "attempts": 1} for name, command in commands.items()}
    (live_home.home / "agents.yaml").write_text(json.dumps(presets))
    file = tmp_path / "roles.yaml"
    file.write_text(json.dumps({"agentic_team": {"max_turns": 9, "roles": roles}}))
    live_home.plays(
        project_manager=[*(to(role, "Do it") for role in roles), finalize("Unchecked")],
        **{f"{role}-fallback": [to(LEAD, "Done")] for role in (DEVELOPER, "devops_engineer")},
    )
    words = ("--roles", str(file), "--name", "helped", "--json", *MODEL)
    done = live_home.command("roles", "Do it", *words)
    (live_home.home / "agents.yaml").unlink()
    told = json.loads(done.stdout)
    live_home.begun.append(told["agent"])
    turns = told["roles"]["turns"]
    assert {one["from_agent"] for one in turns[::2]} == {MODEL[1]}, "the lead's"
    assert [(one["from_role"], one["from_agent"], one["success"]) for one in turns[1::2]] == [
        ("software_architect", "works", True),
        (DEVELOPER, "openai/helper", True),
        ("devops_engineer", "openai/helper", True),
        (QA, "refused/x", False),
    ]
    assert turns[7]["message"].startswith("[System] qa_engineer could not take its turn: ")
    assert done.returncode == 0


def test_unfinished_role_team_is_reported_with_exit_code_1(live_home: LiveHome) -> None:
    live_home.plays(
        project_manager=[to(DEVELOPER, "Do it")] * 3, software_developer=[to(LEAD, "No")] * 3
    )
    done = live_home.command("roles", "Do it", "--max-turns", "3", "--name", "endless", "--json")
    told = json.loads(done.stdout)
    live_home.begun.append(told["agent"])
    assert (done.returncode, told["status"], told["roles"]["status"]) == (1, "failed", "max_turns")
    assert told["reason"] == "the team has not finished: its 3 turns are used up"
    assert told["result"].endswith("project_manager to software_developer:\n\nDo it\n")
    shown = live_home.json("show", told["agent"])
    assert (shown["status"], shown["reason"]) == ("failed", told["reason"])


def test_a_role_without_a_usable_agent_is_refused_before_anything_runs(
    live_home: LiveHome, tmp_path: Path
) -> None:
    roles = tmp_path / "roles.yaml"
    roles.write_text(
        "roles: {qa_engineer: {agent: nowhere/x}, devops_engineer: {agent: no-such}}\n"
    )
    before = len(live_home.json("agents"))
    refused = live_home.command("roles", "Do it", "--roles", str(roles))
    assert refused.returncode == 2
    assert "role 'qa_engineer': agent 'nowhere/x': unknown provider 'nowhere'" in refused.stderr
    assert "role 'devops_engineer': agent 'no-such'" in refused.stderr
    assert len(live_home.json("agents")) == before
    checked = live_home.command("roles", "validate", "--roles", str(roles))
    assert (checked.returncode, "qa_engineer" in checked.stderr) == (1, True)
    roles.write_text("agentic_team: {lead_role: boss}\n")
    refused = live_home.command("roles", "validate", "--roles", str(roles))
    assert "unknown role in agentic_team.lead_role 'boss'" in refused.stderr
    assert (
        live_home.command("roles", "validate").stdout
        == "5 roles can work, led by project_manager\n"
    )
    assert "software_architect" in live_home.command("roles", "agents").stdout
    assert live_home.json("roles", "config")["max_turns"] == 12
    health = live_home.json("roles", "health")
    assert (health["is_valid"], health["can_work_offline"], len(health["agents"])) == (
        *(True, False, 5),
    )
    shown = live_home.command("roles", "config")
    roles.write_text(shown.stdout)
    assert "    title: QA Engineer\n" in shown.stdout
    assert live_home.command("roles", "validate", "--roles", str(roles)).returncode == 0


def test_next_turn_contains_messages_and_earlier_tasks_of_the_human(live_home: LiveHome) -> None:
    gate = Event()
    live_home.plays(
        project_manager=[held(to(DEVELOPER, "Go"), gate), finalize("Blue, then.")],
        software_developer=[to(LEAD, "Done")],
    )
    earlier = (EarlierTask(task="Paint the door", output="It is red now."),)
    asked = CreateAgentRequest(
        goal="Another colour",
        name="painted",
        model=MODEL[1],
        roles=RoleTeamRequest(earlier=earlier),
    )
    with Client.for_home(live_home.home) as client:
        agent = client.create_agent(asked)
        live_home.begun.append(agent.id)
        first = live_home.server.wait_for(lambda seen: seen.is_for(LEAD))
        assert "It is red now." in first.system
        assert "The team's goal: Another colour" in first.said
        client.send(agent.id, "Make it blue")
    gate.set()
    seen = live_home.server.wait_for(lambda seen: seen.is_for(DEVELOPER))
    assert "[Message from human]: Make it blue" in seen.said
    assert live_home.await_end(live_home.home / "agents" / agent.id)["result"] == "Blue, then."


def test_a_turn_that_cannot_begin_ends_the_run(make_live_home: MakeLiveHome) -> None:
    live_home = make_live_home({"run": {"max_nodes": 2}})
    live_home.plays(
        project_manager=[to(DEVELOPER, "Go")] * 3, software_developer=[to(LEAD, "No")] * 3
    )
    done = live_home.command("roles", "Go on", "--name", "bounded", "--json", *MODEL)
    told = json.loads(done.stdout)
    live_home.begun.append(told["agent"])
    assert (done.returncode, told["status"]) == (1, "failed")
    assert "turn 3 cannot begin: " in told["reason"]


def test_the_script_of_a_team_needs_no_key(live_home: LiveHome, tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).write_text("x")
    words = ("-m", "script/team", "-i", str(tmp_path), "--name", "measured", "--offline")
    done = live_home.command("roles", "Measure it", *words)
    live_home.begun.append("measured")
    assert done.returncode == 0, done.stderr
    assert "| .py | 2 |" in done.stdout
    assert "| all | 3 |" in done.stdout
    assert "qa_engineer    to project_manager" in done.stderr


@needs_tmux
def test_the_shell_is_a_prompt_with_commands_a_live_table_and_a_history(
    live_home: LiveHome, tmp_path: Path
) -> None:
    saved, gate, never = tmp_path / "session.json", Event(), Event()
    said: dict[str, str] = {}

    def lead(seen: SeenRequest) -> Reply:
        # Not by the count: the next run of a stopped agent starts its worker once more before the
        # coordinator gives the old run up.
        task = seen.said.rpartition("The team's goal: ")[2].split()[0]
        is_first = not said
        said.setdefault(task, seen.system)
        if task == "Third":
            return held(finalize("too late"), never)
        return to(DEVELOPER, "Go") if is_first else finalize(f"{task} answer", "fine")

    live_home.plays(project_manager=lead, software_developer=[held(to(LEAD, "Done"), gate)])
    socket = tmp_path / "tmux"
    words = ("agentic-shell", "--home", str(live_home.home), *MODEL)
    with contextlib.closing(Terminal(socket, live_home.environ, *words, size=(100, 40))) as screen:
        screen.await_screen("type a task, or /help", "roles>")
        screen.type("First task")
        table = ("project_manager -> software_developer  1x  <- the last", "turn 2: software_dev")
        screen.await_screen(*table)
        gate.set()
        screen.await_screen("First answer", "finalized, 3 turns", without="turn 2: software_dev")
        screen.type("Second task")
        screen.await_screen("Second answer")
        screen.keys("/", "h", "i", "Tab", "Enter")
        screen.await_screen("2. Second task  (finalized, 1 turn)")
        screen.type(f"/save {saved}")
        screen.await_screen("saved: ")
        screen.type("/followup off")
        screen.await_screen("is not told of the ones before")
        screen.type("Third task")
        live_home.server.wait_for(lambda seen: seen.is_for(LEAD) and "Third task" in seen.said)
        screen.keys("C-c")
        screen.await_screen("stopped", without="0 tokens")
        screen.keys("C-l")
        screen.type("Fourth task")
        screen.await_screen("Fourth answer")
        screen.type("/nonsense")
        screen.await_screen("unknown command '/nonsense'")
        screen.type("/exit")
        screen.await_screen("[left with 0]")
    never.set()
    assert "First answer" in said["Second"], "a further task is told of the one before"
    assert "The person's earlier tasks" not in said["Fourth"], "unless it is not to be"
    assert len(json.loads(saved.read_text())["tasks"]) == 2
    typed = [*map(json.loads, (live_home.home / "system/typed.jsonl").read_text().splitlines())]
    assert typed[:3] == ["First task", "Second task", "/history"]
    live_home.begun += [one["agent"] for one in json.loads(saved.read_text())["tasks"][:1]]
