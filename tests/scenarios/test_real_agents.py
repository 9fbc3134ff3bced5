"""The real Claude Code and the real Codex as workers, against the fake model server."""

import json
import threading
from collections.abc import Iterator

import psutil
import pytest

from actors.runtime.processes import is_alive
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.fakes.real_agents import CLAUDE, CODEX, program_of
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import MODEL, JsonObject, words_of
from tests.scenarios.steps import (
    WAIT,
    Plays,
    Steps,
    after_message,
    bash,
    finish_with,
    led,
    node,
    publish,
    spawn,
    tell,
    working_folder,
    write,
)

CLAUDE_CODE = {"type": "autonomous", "agent_command": "claude-code"}
RULES = """
rules:
  - {name: marks, tool: bash, pattern: "date*", action: ask}
"""
TOOL = """\
import csv, json, sys
print(json.dumps(list(csv.DictReader(open(sys.argv[1])))))
"""


@pytest.fixture(scope="module")
def live_home(live_home: LiveHome) -> Iterator[LiveHome]:
    """Yield a running home whose presets name the programs, and whose rules ask about `date`."""
    where: dict[str, JsonObject] = {
        "claude-code": {"command": [str(program_of(CLAUDE))]},
        "codex": {"command": [str(program_of(CODEX))], "rule_exempt": True},
    }
    agents, rules = live_home.home / "agents.yaml", live_home.home / "approvals.yaml"
    agents.write_text(json.dumps(where))
    rules.write_text(RULES)
    yield live_home
    agents.unlink()
    rules.unlink()


def claude_writes(seen: SeenRequest) -> Reply:
    """Play the model behind Claude Code: a tool, a trial of it, the result."""
    steps = [
        call("Write", file_path=f"{working_folder(seen)}/csv2json.py", content=TOOL),
        call("Bash", command="printf 'a,b\\n1,2\\n' > t.csv && python3 csv2json.py t.csv"),
        call("Write", file_path=f"{working_folder(seen)}/_result.md", content="csv2json.py works."),
        say("It is done."),
    ]
    return steps[min(seen.step, len(steps) - 1)]


def claudes_of(live_home: LiveHome) -> list[psutil.Process]:
    """Return the processes of Claude Code that work in this home."""
    program = str(program_of(CLAUDE))
    found = [one for one in psutil.process_iter() if words_of(one)[:1] == [program]]
    return [one for one in found if str(live_home.home) in " ".join(one.environ().values())]


def test_claude_code_writes_a_tool_that_works(live_home: LiveHome) -> None:
    """Scenario 8."""
    trial = "python3 nodes/csv2json*/published/csv2json.py in.csv"
    leads: Plays = [
        spawn("forge", **CLAUDE_CODE),
        node("csv2json", "forge"),
        WAIT,
        bash(f"printf 'x,y\\n3,4\\n' > in.csv && {trial}"),
        finish_with("bash"),
    ]
    live_home.plays(coordinator=leads, **{"*": claude_writes})
    outcome = live_home.complete("Write a Python CLI tool that converts CSV to JSON")
    published = outcome.published("csv2json")
    assert published["csv2json.py"] == TOOL
    assert published["_result.md"] == "csv2json.py works."
    assert '[{"x": "3", "y": "4"}]' in outcome.result["result"]
    tools = [e["data"]["tool"] for e in outcome.events("tool.called") if e["entity"] == "forge"]
    assert tools == ["Write", "Bash", "Write"]
    [ended] = outcome.data("outside.ended")
    assert (ended["problem"], ended["output_tokens"] > 0) == ("", True)
    spent = live_home.json("usage", outcome.result["agent"])
    assert next(row["output_tokens"] for row in spent if "/forge-" in row["key"]) > 0


def test_a_team_of_four_kinds_survives_a_kill_of_claude_code(live_home: LiveHome) -> None:
    gate = threading.Event()

    def claude(seen: SeenRequest) -> Reply:
        if "Write two.md" not in seen.said:
            raise LookupError("another node")
        if seen.step == 0:
            return call("Bash", command="echo two > two.md")
        if seen.step == 1 and not gate.is_set():
            return Reply(text="I wait.", gate=gate)
        if seen.step < 3 and "You were interrupted" not in seen.said:
            return say("This is not read.")
        done = any("_result.md" in str(turn) for turn in seen.turns[-2:] if turn.role == "tool")
        if done:
            return say("It is done.")
        return call(
            "Write", file_path=f"{working_folder(seen)}/_result.md", content="two.md is there."
        )

    def member(name: str) -> list[Reply]:
        return [write(f"{name}.md", name), publish(name)]

    def in_text(seen: SeenRequest) -> Reply:
        step = member("tex")[seen.step].calls[0]
        asked = json.dumps({"name": step.name, "arguments": dict(step.arguments)})
        return say(f"<tool_call>{asked}</tool_call>")

    members = {"ada": "anthropic/fake", "bob": "openai/fake", "tex": "text:openai/fake"}
    hired = [spawn(name, model=model) for name, model in members.items()]
    nodes = [node(f"{name}-file", name) for name in members]
    leads: Plays = [
        calls(*hired, spawn("forge", **CLAUDE_CODE)),
        calls(*nodes, node("two", "forge", task="Write two.md")),
        WAIT,
        finish_with("wait"),
    ]
    parts: dict[str, Steps] = {
        "ada": member("ada"),
        "bob": member("bob"),
        "tex": in_text,
        "*": claude,
    }
    live_home.plays(coordinator=leads, **parts)

    def meanwhile() -> None:
        live_home.server.wait_for(lambda seen: "Write two.md" in seen.said and seen.step == 1)
        [agent] = claudes_of(live_home)
        agent.kill()
        until(lambda: not is_alive(agent), "it has ended")
        gate.set()

    outcome = live_home.complete("Make four files", meanwhile=meanwhile)
    assert len(outcome.completions()) == len(set(outcome.completions())) == 4
    assert outcome.published("two") == {"two.md": "two\n", "_result.md": "two.md is there."}
    problems = [event["problem"] for event in outcome.data("outside.ended")]
    assert len(problems) == 2
    assert problems[0].startswith("killed by SIGKILL")
    sessions = [event["session"] for event in outcome.data("outside.started")]
    assert sessions[0] == ""
    assert sessions[1] != "", "its session is resumed"


def test_claude_code_requests_permission_is_interrupted_and_reads_its_human(
    live_home: LiveHome,
) -> None:
    held = threading.Event()

    def claude(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("Bash", command="date > marked.txt")
        if "in German" not in seen.said:
            return Reply(text="I write in English.", gate=held)
        if not seen.results("Write"):
            path = f"{working_folder(seen)}/_result.md"
            return call("Write", file_path=path, content="Fertig.")
        return say("Fertig.")

    live_home.plays(coordinator=led("lea", "claude-code"), **{"*": claude})
    agent = live_home.begin("german", "--model", "anthropic/fake")
    question = live_home.await_question("german")
    assert "date > marked.txt" in question["question"]
    live_home.json("respond", question["id"], "1")
    live_home.server.wait_for(lambda seen: "Write tool.py" in seen.said and seen.step == 1)
    live_home.command("send", "german", "Write it in German", "--to", "lea", "--mode", "interrupt")
    live_home.server.wait_for(lambda seen: "in German" in seen.said and seen.step >= 1)
    held.set()
    live_home.await_end(agent)
    [published] = agent.glob("runs/*/nodes/lea-tool*/published")
    assert (published / "_result.md").read_text() == "Fertig."
    assert (published / "marked.txt").exists()
    types = [event["type"] for event in whole_lines(agent / "events.jsonl")]
    assert types.count("outside.started") == 1, "one process read it all"


def test_a_worker_has_its_parts_built_by_claude_code(live_home: LiveHome) -> None:
    """Scenario 4."""
    parts = {"backend": "main.py", "frontend": "App.jsx"}

    def claude(seen: SeenRequest) -> Reply:
        name = next(name for name in parts if f"Do {name}" in seen.said)
        steps = [
            call("Bash", command=f"mkdir -p {name} && echo {name} > {name}/{parts[name]}"),
            call("Bash", command=f"echo The {name} is built. > _result.md"),
            say("It is done."),
        ]
        return steps[min(seen.step, 2)]

    gather = "cp -r ../../backend*/published/backend ../../frontend*/published/frontend . && "
    gather += "cp ../../docker*/published/answer.md Dockerfile && ls > list.txt"
    builder = [
        calls(
            node("backend", "api"),
            node("frontend", "web"),
            node("docker", mode="single_inference"),
        ),
        WAIT,
        bash(gather),
        publish("The app: backend, frontend, Dockerfile."),
    ]
    hire = calls(spawn("lead"), spawn("api", **CLAUDE_CODE), spawn("web", **CLAUDE_CODE))
    live_home.plays(
        coordinator=[hire, node("app", "lead"), WAIT, finish_with("wait")],
        lead=builder,
        **{"*": lambda seen: claude(seen) if seen.tools else say("FROM python:3.13")},
    )
    outcome = live_home.complete("Create a full-stack todo app: API, frontend, Docker")
    published = outcome.published("app")
    assert published["main.py"] == "backend\n"
    assert published["App.jsx"] == "frontend\n"
    assert published["Dockerfile"].strip() == "FROM python:3.13"
    created = {e["name"]: e for e in outcome.data("node.created")}
    assert created["backend"]["parent_node"], "the tree is two levels deep"
    started = {event["entity"] for event in outcome.events("outside.started")}
    assert started == {"api", "web"}
    assert len(outcome.completions()) == 4


def test_codex_completes_a_node_and_receives_a_late_message(live_home: LiveHome) -> None:
    def run(command: str) -> Reply:
        return call("exec_command", cmd=command)

    def codex(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return run("echo 1 > codes.md; printf '@coordinator: which colour?\\n\\n' > _outbox.md")
        if seen.step == 1:
            [folder] = live_home.agent("codes").glob("runs/*/nodes/cody-tool*")
            inbox = folder / "scratch/_inbox.md"
            until(lambda: "blue" in inbox.read_text(), "the answer is in the inbox")
            return say("I have seen no answer.")
        told = seen.said.rpartition("These messages came for you")[2]
        assert "blue" in told
        if seen.step == 2:
            return run("echo blue > colour.md; echo All in blue. > _result.md")
        return say("It is done.")

    blue = after_message("which colour?", tell("cody", "blue"))
    live_home.plays(coordinator=led("cody", "codex", blue), **{"*": codex})
    outcome = live_home.complete(
        "Have codes written", "--name", "codes", "--worker-model", "openai/fake"
    )
    published = {"codes.md": "1\n", "colour.md": "blue\n", "_result.md": "All in blue.\n"}
    assert outcome.published("cody-tool") == published
    ended = list(outcome.data("outside.ended"))
    assert [one["goes_on"] for one in ended] == [True, False]
    assert {one["problem"] for one in ended} == {""}
    assert all(one["input_tokens"] > 0 for one in ended)
    rows = live_home.json("usage", outcome.result["agent"], "--by", "node")
    [spent] = [row for row in rows if row["name"] == "cody-tool"]
    told = {kind: sum(one[kind] for one in ended) for kind in ("calls", "input_tokens")}
    assert told == {kind: spent[kind] for kind in told}, "of each start its own"


def test_claude_code_and_codex_play_roles_of_a_team(live_home: LiveHome) -> None:
    def decides(role: str, message: str) -> str:
        return json.dumps({"action": "message", "to_role": role, "message": message})

    def claude(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("Bash", command="echo 'x = 1' > app.py")
        if not any("_result.md" in str(turn) for turn in seen.turns[-2:] if turn.role == "tool"):
            done = f"It is written.\n\n{decides('qa_engineer', 'Check app.py')}\n"
            path = f"{working_folder(seen)}/_result.md"
            return call("Write", file_path=path, content=done)
        return say("It is done.")

    def codex(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("exec_command", cmd="cat ../../*/published/app.py")
        return say(f"I have read it: {decides('project_manager', 'x is 1')}")

    def lead(seen: SeenRequest) -> Reply:
        is_checked = "x is 1" in seen.said
        to = {"action": "message", "to_role": "software_developer", "message": "Write app.py"}
        end = {"action": "finalize", "message": "approved", "final_response": "app.py says x = 1"}
        return publish(result=end if is_checked else to)

    def of_cli(seen: SeenRequest) -> Reply:
        is_developer = "(`software_developer`) in a team" in seen.said
        return claude(seen) if is_developer else codex(seen)

    agents = live_home.home / "agents.yaml"
    before = json.loads(agents.read_text())
    roles = {"software_developer": {"agent": "claude"}, "qa_engineer": {"agent": "codex"}}
    agents.write_text(json.dumps(before | {"agentic_team": {"roles": roles, "max_turns": 6}}))
    live_home.plays(project_manager=lead, **{"*": of_cli})
    try:
        done = live_home.command("roles", "Write an app", "--name", "clis", "--json", *MODEL)
    finally:
        agents.write_text(json.dumps(before))
    told_of = json.loads(done.stdout)
    live_home.begun.append(told_of["agent"])
    turns = told_of["roles"]["turns"]
    assert [(turn["from_agent"], turn["to_agent"], turn["message"]) for turn in turns] == [
        (MODEL[1], "claude", "Write app.py"),
        ("claude", "codex", "Check app.py"),
        ("codex", MODEL[1], "x is 1"),
        (MODEL[1], "user", "approved"),
    ]
    assert (done.returncode, told_of["result"]) == (0, "app.py says x = 1\n")
