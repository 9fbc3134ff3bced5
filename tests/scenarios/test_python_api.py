"""Agiraph from Python: results, streams, questions, errors; and no process is left behind."""

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agiraph import (
    DeadlockError,
    Executor,
    Graph,
    InvalidInput,
    Node,
    QuestionAsked,
    Role,
    RunEnd,
    RunEvent,
    RunFailed,
    Runtime,
    RunTimeout,
    Scheduler,
    Task,
    team,
    tool,
)
from agiraph.mcp.registered import registered_names
from agiraph.sdk.runtime import RuntimeOptions
from agiraph.storage.home import Home
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import ROOT, processes_of
from tests.scenarios.steps import WAIT, Plays, by_node, held, node, spawn

MODEL = "openai/fake"
SECONDS = 60


class Firm(BaseModel):
    name: str
    staff: int = Field(ge=0)


def runtime(live_home: LiveHome) -> Runtime:
    return Runtime(MODEL, home=live_home.home, timeout=SECONDS)


def test_output_that_does_not_fit_is_requested_again(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[
            call("finish", summary="Acme has 7 people"),
            call("finish", summary='{"name": "Acme", "staff": -7}'),
            lambda seen: (
                call("finish", summary={"name": "Acme", "staff": 7})
                if "less than the minimum" in seen.said
                else call("finish", summary="?")
            ),
        ]
    )
    result = runtime(live_home).run(Task("Describe Acme", Firm, name="acme"))
    assert result.output == Firm(name="Acme", staff=7)
    assert [e.data["is_error"] for e in result.logs if e.type == "tool.result"][:2] == [True, True]


def test_stream_yields_nodes_messages_and_questions(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[
            calls(call("spawn_worker", name="ada"), call("spawn_worker", name="bob")),
            call("create_work_node", name="facts", task="Write facts.md", worker="ada"),
            call("wait"),
            call("ask_human", question="Which colour?"),
            lambda seen: call("finish", summary=f"It is {seen.result('ask_human')}"),
        ],
        ada=[
            call("send_message", to="bob", content="hello bob"),
            call("write_file", path="facts.md", content="one fact"),
            call("publish", summary="one fact found"),
        ],
    )
    seen: list[RunEvent] = []
    for event in runtime(live_home).run_stream(Task("Find facts", name="streamed")):
        seen.append(event)
        if event.type == "question":
            event.answer("blue")
    kinds = [event.type for event in seen]
    assert {"run_start", "node_start", "node_complete", "message", "question"} <= {*kinds}
    done = next(event for event in seen if event.type == "node_complete")
    assert (done.node_id, done.result) == ("facts", "one fact found")
    end = seen[-1]
    assert isinstance(end, RunEnd)
    assert (end.status, "blue" in end.result.output) == ("completed", True)
    assert end.result.files["facts/facts.md"].read_text() == "one fact"
    assert end.result.usage.input_tokens > 0
    assert "node.completed" in str(end.result.logs)


async def test_runtime_works_inside_a_running_event_loop(live_home: LiveHome) -> None:
    async def decide(question: QuestionAsked) -> str:
        await asyncio.sleep(0)
        return f"answered {question.question}"

    live_home.plays(
        coordinator=[
            call("ask_human", question="how many"),
            lambda seen: call("finish", summary=seen.result("ask_human")),
        ]
    )
    made = Runtime(MODEL, home=live_home.home, on_question=decide)
    first = await made.arun(Task("Ask", name="asked"))
    assert "answered how many" in first.output
    live_home.plays(coordinator=[call("finish", summary="[1, 2]")])
    async with made:
        assert made.run(Task("Count", "json", name="counted")).output == [1, 2]  # sync, in a loop


def test_a_failed_run_has_its_failed_nodes_and_a_late_one_is_stopped(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[
            call("spawn_worker", name="ada"),
            call("create_work_node", name="facts", task="x", worker="ada", max_iterations=1),
            call("wait"),
            *[call("finish", summary="not JSON")] * 3,
        ],
        ada=[call("bash", command="true")] * 9,
    )
    with pytest.raises(RunFailed, match="does not fit") as failed:
        runtime(live_home).run(Task("Fail", "json", name="failing"))
    [failure] = failed.value.failures
    assert (failure.node, failure.failure_class) == ("facts", "iterations")
    assert failed.value.failure_class == "output"
    live_home.plays(coordinator=[call("ask_human", question="?")])
    with pytest.raises(RunTimeout, match="within 1 seconds") as late:
        Runtime(MODEL, home=live_home.home).run(Task("Wait", name="overdue", timeout=1))
    assert late.value.result is not None
    assert "tool.called" in str(late.value.result.logs)
    assert live_home.server.problems == []


FOUND: Plays = [
    call("write_file", path="found.md", content="it"),
    call("publish", summary="found it"),
]


def chain(**second: Any) -> Scheduler:
    """Return a scheduler of two nodes, one after the other."""
    last = Node(id="second", task="Sum up", deps=["first"], **second)
    return Scheduler(Graph([Node(id="first", task="Look"), last]))


def asked_coordinator(live_home: LiveHome) -> list[SeenRequest]:
    return [seen for seen in live_home.server.requests if seen.is_for("coordinator")]


def test_graph_is_executed_without_a_leading_model(live_home: LiveHome) -> None:
    live_home.plays(**{"worker-1": [*FOUND, *FOUND]})
    scheduler = chain()
    assert (scheduler.ready(), scheduler.ready(["first"])) == (["first"], ["second"])
    result = Executor(MODEL, home=live_home.home, timeout=SECONDS).run(scheduler)
    assert (result.output, result.incomplete) == ("found it", ())
    assert [(node.id, [*node.deps]) for node in result.graph.nodes] == [
        ("first", []),
        ("second", ["first"]),
    ]
    assert result.graph.statuses == {"first": "completed", "second": "completed"}
    assert asked_coordinator(live_home) == []
    assert "suggest_next" not in live_home.server.requests[0].tools
    assert live_home.server.problems == []


def test_a_graph_is_carried_out_through_a_kill_of_its_coordinator(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(**{"worker-1": [held(FOUND[0], gate), *FOUND[1:], *FOUND]})  # type: ignore[arg-type]
    name = ""
    for event in Executor(MODEL, home=live_home.home, timeout=SECONDS).run_stream(chain()):
        if event.type == "run_start":
            name = event.agent_id
        elif event.type == "node_start" and event.node_id == "first":
            live_home.kill(f"coordinator {name}")
            gate.set()
    assert isinstance(event, RunEnd)
    assert (event.status, event.result.output) == ("completed", "found it")
    assert asked_coordinator(live_home) == []


def test_a_summary_of_a_graph_is_one_call(live_home: LiveHome) -> None:
    leads: Plays = [lambda seen: call("finish", summary="both" if "found it" in seen.said else "?")]
    live_home.plays(coordinator=leads, **{"worker-1": [*FOUND, *FOUND]})
    result = Executor(MODEL, summary=True, home=live_home.home, timeout=SECONDS).run(chain())
    assert (result.output, len(asked_coordinator(live_home))) == ("both", 1)


def test_a_manager_of_a_graph_reaches_the_model_of_the_coordinator(live_home: LiveHome) -> None:
    asks: Plays = [
        call("send_message", to="coordinator", content="Is it urgent?"),
        call("wait"),
        lambda seen: call("publish", summary="urgent" if "Yes, today" in seen.said else "?"),
    ]
    leads: Plays = [call("send_message", to="second", content="Yes, today"), say("Answered.")]
    live_home.plays(coordinator=leads, **{"worker-1": FOUND, "second": asks})
    result = Executor(MODEL, home=live_home.home, timeout=SECONDS).run(chain(role="manager"))
    assert (result.output, len(asked_coordinator(live_home))) == ("urgent", 2)
    assert result.files["second/summary.md"].read_text() == "urgent\n"


def test_graph_fails_with_a_required_node_only(live_home: LiveHome) -> None:
    def gives_up(seen: SeenRequest) -> Reply:
        is_first = "# Assignment: first" in seen.said
        return FOUND[seen.step] if is_first and seen.step < 2 else say("I cannot.")  # type: ignore[return-value]

    live_home.plays(**{"worker-1": gives_up})
    executor = Executor(MODEL, home=live_home.home, timeout=SECONDS)
    with pytest.raises(RunFailed, match=r"were not completed: second \(failed: the model answered"):
        executor.run(chain())
    result = executor.run(chain(optional=True))
    assert (result.output, result.incomplete) == ("found it", ("second",))
    assert asked_coordinator(live_home) == []


def test_team_works_in_parallel(live_home: LiveHome) -> None:
    leads: Plays = [call("wait"), call("finish", summary="both are done")]
    live_home.plays(coordinator=leads, ada=FOUND, bob=FOUND)
    roles = [Role("ada", "Look here"), Role("bob", "Look there", title="surveyor")]
    done = team("Look everywhere", roles, MODEL, home=live_home.home, timeout=SECONDS)
    assert {node.role for node in done.graph.nodes} == {"worker", "surveyor"}


@tool
def head_count(firm: str, at_least: int = 0) -> int:
    """Return how many people work at a firm."""
    if not firm:
        raise ValueError("a firm has a name")
    return max(at_least, len(firm))


@tool
async def give_up() -> str:
    """End the process."""
    os._exit(3)


def test_function_tool_may_crash_without_affecting_others(live_home: LiveHome) -> None:
    def used(seen: SeenRequest, name: str) -> str:
        [found] = [one for one in seen.tools if one.endswith(name)]
        return found

    def crashed(seen: SeenRequest) -> Reply:
        assert "its outcome is unknown" in seen.said
        return call(used(seen, "head_count"), firm="Acme", at_least=9)

    live_home.plays(
        coordinator=[
            lambda seen: call(used(seen, "head_count"), firm="Acme"),
            lambda seen: call(used(seen, "give_up")) if "4" in seen.said else call("finish"),
            crashed,
            lambda seen: call(used(seen, "head_count"), firm=""),
            lambda seen: call("finish", summary=seen.said),
        ]
    )
    made = Runtime(MODEL, home=live_home.home, timeout=SECONDS, tools=[head_count, give_up])
    result = made.run(Task("Count", name="counting"))
    assert "9" in result.output
    assert "head_count: ValueError: a firm has a name\n" in result.output
    called = [e.data["tool"] for e in result.logs if e.type == "tool.called"]
    assert [name.partition("__")[2] for name in called] == [
        "head_count", "give_up", "head_count", "head_count", ""
    ]  # fmt: skip
    assert registered_names(Home(live_home.home)) == []
    assert head_count("Acme") == 4


def test_a_function_needs_types_and_a_docstring(live_home: LiveHome) -> None:
    def untyped(x):  # type: ignore[no-untyped-def]
        """Do something."""

    with pytest.raises(InvalidInput, match="parameter 'x' of the tool 'untyped' needs a type"):
        tool(untyped)
    with pytest.raises(InvalidInput, match="is no tool"):
        Runtime(MODEL, home=live_home.home, tools=[len]).run(Task("x"))


def test_a_static_plan_is_made_and_approved_first(live_home: LiveHome) -> None:
    rows = [{"id": "only", "task": "Look", "role": "worker", "deps": []}]
    live_home.plays(
        planner=[say(json.dumps({"nodes": rows}))],
        coordinator=[call("wait"), call("finish", summary="done")],
        **{
            "worker-1": [
                call("write_file", path="found.md", content="it"),
                call("publish", summary="looked"),
            ]
        },
    )
    asked: list[QuestionAsked] = []

    def approve(question: QuestionAsked) -> str:
        asked.append(question)
        return "approve"

    made = Runtime(
        MODEL,
        "static",
        home=live_home.home,
        on_question=approve,
        approve_plan=True,
        timeout=SECONDS,
    )
    result = made.run(Task("Look", name="planned"))
    assert (result.output, result.graph.statuses) == ("done", {"only": "completed"})
    assert "only (worker): Look" in asked[0].question


def test_a_model_that_cannot_be_asked_is_an_invalid_input(live_home: LiveHome) -> None:
    with pytest.raises(InvalidInput, match="unknown provider 'nowhere'"):
        Runtime("nowhere/x", home=live_home.home).run(Task("Do it"))


def test_deadlock_error_names_the_cycle() -> None:
    cycle = Graph([Node(id="a", task="x", deps=["b"]), Node(id="b", task="x", deps=["a"])])
    with pytest.raises(DeadlockError, match="a -> b -> a") as found:
        Scheduler(cycle)
    assert found.value.cycle == ("a", "b")


def test_unbroken_cycle_ends_the_run(parking_home: LiveHome) -> None:
    live_home = parking_home
    leads: Plays = [
        calls(spawn("ada"), spawn("ben")),
        calls(node("left", "ada"), node("right", "ben")),
        *[WAIT] * 4,
    ]
    nodes: dict[str, Plays] = {
        "left": [node("for-ben", "ben", wait=True)],
        "right": [node("for-ada", "ada", wait=True)],
    }
    live_home.plays(by_node(leads, nodes))
    with pytest.raises(DeadlockError, match="'for-ada' is kept for ada, who holds 'left'") as found:
        runtime(live_home).run(Task("Do both", name="ringed"))
    assert sorted(found.value.cycle) == ["for-ada", "for-ben", "left", "right"]
    assert found.value.result is not None
    assert found.value.result.graph.statuses["left"] == "cancelled"


class Undescribed:
    """A type that no JSON Schema describes."""


@tool
def of_odd(thing: Undescribed) -> int:
    """Count an odd thing."""
    return len(str(thing))


GRAPH = Graph([Node(id="a", task="x")])
WRONG: list[tuple[Callable[..., object], object, str]] = [
    (Task, {"prompt": " "}, "prompt of a task is empty"),
    (Task, {"prompt": 3}, "is a text, not 3"),
    (Task, {"prompt": "x", "output_format": "yaml"}, "unknown output_format 'yaml'"),
    (Task, {"prompt": "x", "timeout": 0}, "timeout is 0, and must be above 0"),
    (Task, {"prompt": "x", "timeout": "5"}, "timeout is '5'"),
    (Task, {"prompt": "x", "budget": -1}, "'-1' is no budget"),
    (Task, {"prompt": "x", "plan": 3}, "3 is no plan"),
    (Task, {"prompt": "x", "plan": {"nodes": {1}}}, "that no plan file can contain"),
    (Task, {"prompt": "x", "plan": {"nodes": [{"id": "a"}]}}, r"nodes\[0\].task: is missing"),
    (Task, {"prompt": "x", "plan": "nodes: ["}, "is not YAML"),
    (Runtime, {"planning_mode": "fixed"}, "unknown planning_mode 'fixed'"),
    (Runtime, {"mcp_servers": "files"}, "mcp_servers are a list of names"),
    (Runtime, {"mcp_servers": ["nope"]}, "unknown server of tools 'nope' .*under mcp.servers in"),
    (Runtime, {"timeout": -1}, "must be above 0"),
    (Runtime, {"on_question": "yes"}, "called with each question, not 'yes'"),
    (Runtime, {"tools": of_odd}, "tools are a list of functions"),
    (Runtime, {"tools": [of_odd]}, "parameter 'thing' of the tool 'of_odd' is a Undescribed"),
    (Runtime().run, {"task": "x"}, "'x' is no task"),
    (Runtime().run, {"task": Task("x", name="a/b")}, "name: must be printable .*'a/b'"),
    (Runtime().run, {"task": Task("x", input="/no/such")}, "input /no/such is no folder"),
    (Scheduler, {"graph": {}}, "{} is no graph"),
    (Executor().run, {"scheduler": GRAPH}, "is no scheduler"),
    (Graph, {"nodes": [{"id": "a"}]}, "is no node"),
    (Node, {"id": "a"}, "node 'a': task: is missing"),
    (Node, {"id": "a", "task": "x", "dep": ["b"]}, "node 'a': dep: unknown key .*deps"),
    (Node, {"id": "a", "task": "x", "retries": 99}, "node 'a': retries: .*10 .got 99"),
    (team, {"goal": "x", "roles": []}, "a team needs a role"),
    (team, {"goal": "x", "roles": ["ada"]}, "'ada' is no role"),
    (team, {"goal": "x", "roles": [Role("ada", " ")]}, "role 'ada' has no prompt"),
    (tool, Undescribed, "marks functions"),
]


@pytest.mark.parametrize(("make", "given", "expected"), WRONG)
def test_invalid_argument_is_refused_by_name(
    make: Callable[..., object], given: object, expected: str
) -> None:
    with pytest.raises(InvalidInput, match=expected):
        make(**given) if isinstance(given, dict) else make(given)


def test_runtime_options_match_its_constructor() -> None:
    own = [*inspect.signature(Runtime.__init__).parameters][2:]
    assert own == [*RuntimeOptions.__annotations__]


def test_a_program_that_ends_within_a_stream_ends(live_home: LiveHome, tmp_path: Path) -> None:
    live_home.plays(coordinator=[call("ask_human", question="?")])
    (tmp_path / "program.py").write_text(
        "from agiraph import Runtime, Task\n"
        f"runtime = Runtime({MODEL!r}, home={str(live_home.home)!r})\n"
        "stream = runtime.run_stream(Task('x', name='left'))\n"
        "print(next(stream).type)\n"
    )
    program = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        timeout=SECONDS,
        check=False,
    )
    assert (program.stdout, program.stderr, program.returncode) == ("run_start\n", "", 0)
    left = live_home.agent("left").name
    assert live_home.states(left) == {f"{left}/coordinator": "stopped"}


def test_interrupted_program_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "program.py").write_text(
        "from agiraph import Runtime, Task\n"
        f"runtime = Runtime('script/survey', home={str(tmp_path / 'home')!r})\n"
        f"for event in runtime.run_stream(Task('Survey', input={str(ROOT / 'docs')!r})):\n"
        "    print(event.type, flush=True)\n"
    )
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "run_start\n"
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=SECONDS)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert processes_of(tmp_path / "home") == []
