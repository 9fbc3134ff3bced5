"""The real Claude Code and the real Codex as workers, against the fake model server."""

import json
import threading
from collections.abc import Iterator

import psutil
import pytest

from actors.runtime.processes import is_alive
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.fakes.real_agents import CLAUDE, CODEX, program_of
from tests.integration.house import until
from tests.scenarios.house import JsonObject, Outcome, words_of
from tests.scenarios.place import Place
from tests.scenarios.steps import (
    WAIT,
    bash,
    finish,
    led,
    node,
    once_told,
    publish,
    spawn,
    tell,
    working_folder,
    write,
)

FAKE = "anthropic/fake"
RULES = """
rules:
  - {name: marks, tool: bash, pattern: "date*", action: ask}
"""
TOOL = """\
import csv, json, sys
print(json.dumps(list(csv.DictReader(open(sys.argv[1])))))
"""


@pytest.fixture(scope="module")
def place(place: Place) -> Iterator[Place]:
    """A place that knows where the programs are, and where `date` is asked about."""
    programs = {"claude-code": CLAUDE, "codex": CODEX}
    where = {name: {"command": [str(program_of(one))]} for name, one in programs.items()}
    agents, rules = place.home / "agents.yaml", place.home / "approvals.yaml"
    agents.write_text(json.dumps(where))
    rules.write_text(RULES)
    yield place
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


def claudes_of(place: Place) -> list[psutil.Process]:
    """Return the processes of Claude Code that work in this home."""
    program = str(program_of(CLAUDE))
    found = [one for one in psutil.process_iter() if words_of(one)[:1] == [program]]
    return [one for one in found if str(place.home) in " ".join(one.environ().values())]


def test_claude_code_writes_a_tool_that_works(place: Place) -> None:
    """Scenario 8."""
    place.plays(
        coordinator=[
            spawn("forge", type="autonomous", agent_command="claude-code"),
            node("csv2json", task="CSV to JSON", worker="forge"),
            WAIT,
            bash(
                "printf 'x,y\\n3,4\\n' > in.csv && "
                "python3 nodes/csv2json-*/published/csv2json.py in.csv"
            ),
            lambda seen: finish(f"It prints {seen.result('bash')}"),
        ],
        **{"*": claude_writes},
    )
    outcome = place.complete("Write a Python CLI tool that converts CSV to JSON")
    published = outcome.published("csv2json")
    assert published["csv2json.py"] == TOOL
    assert published["_result.md"] == "csv2json.py works."
    assert '[{"x": "3", "y": "4"}]' in outcome.result["result"]
    tools = [e["data"]["tool"] for e in outcome.events("tool.called") if e["entity"] == "forge"]
    assert tools == ["Write", "Bash", "Write"]
    [ended] = outcome.data("outside.ended")
    assert (ended["problem"], ended["output_tokens"] > 0) == ("", True)
    spent = {
        row["key"]: row["output_tokens"] for row in place.json("usage", outcome.result["agent"])
    }
    assert next(tokens for key, tokens in spent.items() if "/forge-" in key) > 0


def test_a_team_of_four_kinds_survives_a_kill_of_claude_code(place: Place) -> None:
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
    place.plays(
        coordinator=[
            calls(
                *(spawn(name, model=model) for name, model in members.items()),
                spawn("forge", type="autonomous", agent_command="claude-code"),
            ),
            calls(
                *(node(f"{name}-file", task="Write a file", worker=name) for name in members),
                node("two", task="Write two.md", worker="forge"),
            ),
            WAIT,
            lambda seen: finish(f"Done: {seen.result('wait')}"),
        ],
        ada=member("ada"),
        bob=member("bob"),
        tex=in_text,
        **{"*": claude},
    )

    def meanwhile() -> None:
        place.server.wait_for(lambda seen: "Write two.md" in seen.said and seen.step == 1)
        [agent] = claudes_of(place)
        agent.kill()
        until(lambda: not is_alive(agent), "it has ended")
        gate.set()

    outcome = place.complete("Make four files", meanwhile=meanwhile)
    assert len(outcome.completions()) == len(set(outcome.completions())) == 4
    assert outcome.published("two") == {"two.md": "two\n", "_result.md": "two.md is there."}
    problems = [event["problem"] for event in outcome.data("outside.ended")]
    assert len(problems) == 2
    assert problems[0].startswith("killed by SIGKILL")
    sessions = [event["session"] for event in outcome.data("outside.started")]
    assert sessions[0] == ""
    assert sessions[1] != "", "its session is resumed"


def test_claude_code_requests_permission_is_interrupted_and_reads_its_human(place: Place) -> None:
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

    place.plays(coordinator=led("lea", "claude-code"), **{"*": claude})
    started = place.json("run", "Notes", "--name", "asked", "--model", FAKE, "--detach")
    [question] = until(lambda: place.json("questions", "asked"), "permission is requested")
    assert "date > marked.txt" in question["question"]
    place.json("respond", question["id"], "1")
    place.server.wait_for(lambda seen: "Write tool.py" in seen.said and seen.step == 1)
    place.command("send", "asked", "Write it in German", "--to", "lea", "--mode", "interrupt")
    place.server.wait_for(lambda seen: "in German" in seen.said and seen.step >= 1)
    held.set()
    ended = until(lambda: over(place, started["agent"]), "the run is over")
    outcome = Outcome(
        0, ended, "", place.agent("asked"), place.agent("asked") / "runs" / started["run"]
    )
    assert ended["status"] == "completed"
    published = outcome.published("lea-tool")
    assert published["_result.md"] == "Fertig."
    assert "marked.txt" in published
    assert len(outcome.events("outside.started")) == 1, "one process read it all"


def over(place: Place, agent: str) -> JsonObject | None:
    """Return an agent's record once its run has ended."""
    shown = place.json("show", agent)
    return shown if shown["status"] in ("completed", "failed") else None


def test_a_worker_has_its_parts_built_by_claude_code(place: Place) -> None:
    """Scenario 4."""
    parts = {"backend": "main.py", "frontend": "App.jsx"}

    def claude(seen: SeenRequest) -> Reply:
        name = next(name for name in parts if f"Build the {name}" in seen.said)
        steps = [
            call("Bash", command=f"mkdir -p {name} && echo {name} > {name}/{parts[name]}"),
            call("Bash", command=f"echo The {name} is built. > _result.md"),
            say("It is done."),
        ]
        return steps[min(seen.step, 2)]

    def create(name: str, **more: str) -> Reply:
        return node(name, task=f"Build the {name}", **more)

    gather = "cp -r ../../backend-*/published/backend ../../frontend-*/published/frontend . && "
    gather += "cp ../../docker-*/published/answer.md Dockerfile && ls > list.txt"
    builder = [
        calls(
            create("backend", worker="api"),
            create("frontend", worker="web"),
            create("docker", mode="single_inference"),
        ),
        WAIT,
        bash(gather),
        publish("The app: backend, frontend, Dockerfile."),
    ]
    claude_code = {"type": "autonomous", "agent_command": "claude-code"}
    place.plays(
        coordinator=[
            calls(spawn("lead"), spawn("api", **claude_code), spawn("web", **claude_code)),
            node("app", task="A todo app", worker="lead"),
            WAIT,
            lambda seen: finish(f"Done: {seen.result('wait')}"),
        ],
        lead=builder,
        **{"*": lambda seen: claude(seen) if seen.tools else say("FROM python:3.13")},
    )
    outcome = place.complete("Create a full-stack todo app: API, frontend, Docker")
    published = outcome.published("app")
    assert published["main.py"] == "backend\n"
    assert published["App.jsx"] == "frontend\n"
    assert published["Dockerfile"].strip() == "FROM python:3.13"
    created = {e["name"]: e for e in outcome.data("node.created")}
    assert created["backend"]["parent_node"], "the tree is two levels deep"
    started = {event["entity"] for event in outcome.events("outside.started")}
    assert started == {"api", "web"}
    assert len(outcome.completions()) == 4


def test_codex_does_a_node_and_gets_what_came_too_late(place: Place) -> None:
    def run(command: str) -> Reply:
        return call("exec_command", cmd=command)

    def codex(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return run("echo 1 > codes.md; printf '@coordinator: which colour?\\n\\n' > _outbox.md")
        if seen.step == 1:
            [folder] = place.agent("codes").glob("runs/*/nodes/cody-tool-*")
            inbox = folder / "scratch/_inbox.md"
            until(lambda: "blue" in inbox.read_text(), "the answer is in the inbox")
            return say("I have seen no answer.")
        told = seen.said.rpartition("These messages came for you")[2]
        assert "blue" in told
        if seen.step == 2:
            return run("echo blue > colour.md; echo All in blue. > _result.md")
        return say("It is done.")

    blue = once_told("which colour?", tell("cody", "blue"))
    place.plays(coordinator=led("cody", "codex", blue), **{"*": codex})
    outcome = place.complete(
        "Have codes written", "--name", "codes", "--worker-model", "openai/fake"
    )
    published = {"codes.md": "1\n", "colour.md": "blue\n", "_result.md": "All in blue.\n"}
    assert outcome.published("cody-tool") == published
    ended = list(outcome.data("outside.ended"))
    assert [one["goes_on"] for one in ended] == [True, False]
    assert {one["problem"] for one in ended} == {""}
    assert all(one["input_tokens"] > 0 for one in ended)
    rows = place.json("usage", outcome.result["agent"], "--by", "node")
    [spent] = [row for row in rows if row["name"] == "cody-tool"]
    told = {kind: sum(one[kind] for one in ended) for kind in ("calls", "input_tokens")}
    assert told == {kind: spent[kind] for kind in told}, "of each start its own"
