"""One trace of a team's run, although its worker and the tracer are killed during it."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.fakes import acp_agent
from tests.fakes.collector import Collector, attributes
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome, whole_lines
from tests.scenarios.steps import DONE, FACT, WAIT, finish, held, led, node, spawn, workers


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def live_home(collector: Collector, make_live_home: MakeLiveHome) -> LiveHome:
    endpoint = collector.url.removesuffix("/hook")
    about = {"otlp_endpoint": endpoint, "service_name": "test", "content": True}
    return make_live_home({"telemetry": about})


def tree_of(collector: Collector, goal: str) -> tuple[str, Counter[str], dict[bytes, Span]]:
    """Return the name of a run's own span, the counts of the paths from it, and its spans.

    Checks that no span of it lacks its parent, and that the arguments of tools are JSON.
    """

    def top() -> Span | None:
        roots = (span for span in collector.spans() if not span.parent_span_id)
        return next((span for span in roots if goal.lower() in span.name), None)

    run = until(top, "the run's span")
    until(
        lambda: any("finish" in one.name for one in collector.spans() if _is_of(one, run)),
        "its end",
    )
    found = {span.span_id: span for span in collector.spans() if _is_of(span, run)}

    def path(span: Span) -> str:
        parent = found.get(span.parent_span_id)
        return (f"{path(parent)} > " if parent else "") + span.name

    paths = Counter(path(span) for span in found.values())
    assert all(one.startswith(run.name) for one in paths), [*paths]
    for span in found.values():
        if "gen_ai.tool.name" in (about := attributes(span)):
            assert isinstance(json.loads(str(about["gen_ai.tool.call.arguments"])), dict)
    return run.name, paths, found


def _is_of(span: Span, run: Span) -> bool:
    return span.trace_id == run.trace_id


def test_a_run_with_two_workers_is_one_trace_through_kills(
    live_home: LiveHome, collector: Collector
) -> None:
    gate = threading.Event()
    hire, assign, *rest = workers("ada", "bob")
    live_home.plays(
        coordinator=[hire, assign, WAIT, *rest], ada=[held(FACT, gate), DONE], bob=[FACT, DONE]
    )

    def kill() -> None:
        live_home.await_step("ada", 0)
        until(lambda: any("bob" in span.name for span in collector.spans()), "bob's spans")
        live_home.kill("agiraph: tracer")
        live_home.kill("ada")
        gate.set()

    live_home.complete("Facts", meanwhile=kill)
    top, paths, found = tree_of(collector, "Facts")
    tools = {f" > turn > execute_tool {tool}": 1 for tool in ("write_file", "publish")}
    counts = {"": 1, " > turn": 2, " > turn > chat fake": 2, **tools}
    for worker in ("ada", "bob"):
        work = f"{top} > invoke_agent {worker}"
        assert {path: paths[f"{work}{path}"] for path in counts} == counts
    assert paths[f"{top} > turn > execute_tool spawn_worker"] == 2
    chat = next(span for span in found.values() if span.name == "chat fake")
    assert attributes(chat)["gen_ai.provider.name"] == "openai"
    assert chat.end_time_unix_nano >= chat.start_time_unix_nano


def put_agent(live_home: LiveHome, folder: Path, script: list[list[dict[str, object]]]) -> None:
    """Let `scripted` be an outside agent that plays a script."""
    (folder / "script.json").write_text(json.dumps(script))
    preset = {
        "driver": "acp",
        "command": ["python3", acp_agent.__file__, str(folder / "script.json")],
        "resume": ["{options}"],
        "readable": [str(Path(acp_agent.__file__).parent), str(folder)],
    }
    (live_home.home / "agents.yaml").write_text(json.dumps({"scripted": preset}))


def test_each_start_of_an_outside_agent_is_a_span_through_kills(
    live_home: LiveHome, collector: Collector, tmp_path: Path
) -> None:
    def tool(name: str) -> dict[str, object]:
        return {"tool": name, "kind": "execute", "input": {"command": name}, "gives": name}

    script: list[list[dict[str, object]]] = [
        [
            {"say": "I begin."},
            tool("one"),
            {"die": 9, "unless": "died.txt"},
            tool("two"),
            {"hold": True, "unless": "held.txt"},
            tool("three"),
            {"local": "_result.md", "content": "Done.\n"},
        ]
    ]
    put_agent(live_home, tmp_path, script)
    live_home.plays(coordinator=led("eve", "scripted"))

    def kill() -> None:
        agent = live_home.agent("starts")

        def holds() -> bool:
            events = whole_lines(agent / "events.jsonl")
            told = [one["type"] for one in events if one["entity"] == "eve"]
            held = any(agent.glob("runs/*/nodes/*/scratch/held*"))
            return told.count("tool.result") == 3 and held

        until(holds, "it is held and its record is written")
        live_home.kill("agiraph: tracer")
        live_home.kill("eve")

    live_home.complete("Starts", "--name", "starts", meanwhile=kill)
    top, paths, found = tree_of(collector, "Starts")
    start = f"{top} > invoke_agent eve > invoke_agent scripted"
    assert paths[start] == 3
    assert paths[f"{start} > execute_tool bash"] == 6
    assert not [one for one in paths if "eve" in one and "chat" in one]
    starts = [attributes(s) for s in found.values() if s.name == "invoke_agent scripted"]
    assert [one.get("gen_ai.usage.input_tokens") for one in starts] == [None, None, 10]
    assert len([one for one in starts if "error.type" in one]) == 2


def test_end_of_the_agent_of_a_second_node_is_traced(
    live_home: LiveHome, collector: Collector, tmp_path: Path
) -> None:
    put_agent(live_home, tmp_path, [[{"local": "_result.md", "content": "Done.\n"}]])
    hire = spawn("ivy", type="autonomous", agent_command="scripted")
    nodes = [node("one", "ivy"), node("two", "ivy")]
    live_home.plays(coordinator=[hire, *nodes, WAIT, WAIT, finish()])
    outcome = live_home.complete("Twice")
    assert len(outcome.events("outside.started")) == 2
    assert len(outcome.events("outside.ended")) == 2
    top, paths, found = tree_of(collector, "Twice")
    assert paths[f"{top} > invoke_agent ivy > invoke_agent scripted"] == 2
    starts = [attributes(s) for s in found.values() if s.name == "invoke_agent scripted"]
    assert [one.get("gen_ai.usage.input_tokens") for one in starts] == [10, 10]
