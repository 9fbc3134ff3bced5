"""Tools of other programs in a team: granted, shared, killed, cut off, and audited.

The server is real, written with the official SDK; only its tools are made up.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agiraph.agent.loop import INTERRUPTED_CALL
from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from agiraph.http.errors import ApiError
from tests.fakes.model_server import SeenRequest, call, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import ROOT
from tests.scenarios.steps import WAIT, finish, node, one_worker, publish, spawn, workers, write

TOKEN = "a-token-of-this-test"
BYTECODE = {
    name: os.environ.get(name, "") for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
}
END = (write("facts.md", "done"), publish("done"))
DONE = calls(*END)


class McpHome(LiveHome):
    """A running home with servers of tools."""

    def traces(self) -> str:
        """Return the logs without the output of the servers themselves."""
        lines = super().traces().splitlines()
        return "\n".join(line for line in lines if "its server says" not in line)


def fake(folder: Path, **more: Any) -> dict[str, Any]:
    """Return the settings of a fake server whose state is in `folder`."""
    return {
        "command": sys.executable,
        "args": ["-m", "tests.fakes.mcp_server", str(folder)],
        "cwd": str(ROOT),
        "env": {"FAKE_TOKEN": "${FAKE_TOKEN}", **BYTECODE},
        **more,
    }


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def live_home(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    servers = {
        "fake": fake(state / "fake", grant=["*"], repeatable=["die"]),
        "lent": fake(state / "lent", timeout_seconds=0.5),
        "keyless": fake(state / "keyless", env={"KEY": "${NO_SUCH_VARIABLE}"}, grant=["nadia"]),
    }
    settings = {"mcp": {"servers": servers}, "supervisor": {"intensity": 100}}
    home = tmp_path_factory.mktemp("home")
    with running_home(home, McpHome, settings, environ={"FAKE_TOKEN": TOKEN}) as made:
        yield made
    pids = [int(pid) for file in state.rglob("pids") for pid in file.read_text().split()]
    assert not [pid for pid in pids if psutil.pid_exists(pid)], "a server was left behind"


def lines(file: Path) -> list[str]:
    return file.read_text().split("\n")[:-1] if file.exists() else []


def test_worker_uses_its_granted_tools(live_home: LiveHome, state: Path) -> None:
    def look(seen: SeenRequest) -> Any:
        assert '"total": 5' in seen.result("fake__add")
        assert "untrusted" in seen.result("fake__add")
        assert "the token is [redacted]" in seen.result("fake__secret")
        assert "Error executing tool fail" in seen.result("fake__fail")
        assert "the first note's text" in seen.results("fake__read_resource")[1]
        assert "note://first" in seen.results("fake__read_resource")[0]
        assert "Greet Ada kindly." in seen.result("fake__get_prompt")
        return calls(call("lent__add", a=1, b=1), *END)

    uses = calls(
        call("fake__add", a=2, b=3),
        call("fake__secret"),
        call("fake__fail"),
        call("fake__read_resource"),
        call("fake__read_resource", uri="note://first"),
        call("fake__get_prompt", name="greet", arguments={"name": "Ada"}),
    )
    live_home.plays(coordinator=one_worker("ada"), ada=[uses, look])
    outcome = live_home.complete("Add two numbers")
    told = {event["tool"]: event for event in outcome.data("tool.result")}
    assert not told["fake__add"]["is_error"]
    assert told["fake__fail"]["is_error"]
    assert told["lent__add"]["is_error"], "nobody has granted it"
    assert len(lines(state / "lent/pids")) == 1, "one server for everybody"
    everything = [*live_home.home.rglob("*.jsonl"), *live_home.home.rglob("*.log")]
    assert not [file for file in everything if TOKEN in file.read_text(errors="replace")]


def test_coordinator_gives_tools_to_new_workers(live_home: LiveHome, state: Path) -> None:
    hire, *rest = workers("bob", tools=["lent__add", "lent__act_slowly"])
    uses = calls(
        call("lent__add", a=1, b=1),
        call("lent__act_slowly", until="never"),
        call("lent__add_note", text="not granted"),
    )
    live_home.plays(
        coordinator=[spawn("bad", tools=["lent__no_such"]), hire, *rest], bob=[uses, DONE]
    )
    outcome = live_home.complete("Lend tools")
    texts = [record.get("content", "") for record in outcome.conversation()]
    assert any("unknown tool 'lent__no_such'" in text for text in texts)
    [conversation] = outcome.run.glob("workers/bob-*/conversation.jsonl")
    said = conversation.read_text()
    assert "was not done within 0.5 s" in said
    assert "unknown tool 'lent__add_note'" in said
    assert lines(state / "lent/acts")[-1] == "cancelled acted", "its server was told"


def test_unavailable_tool_is_refused_with_the_available_tools(live_home: LiveHome) -> None:
    role = {"name": "cleo", "prompt": "Add", "tools": ["keyless__x"]}
    launch = call("launch_roles", stage={"roles": [role]})
    lend = [spawn("one", tools=["missing__x"]), spawn("two", tools=["keyless__x"]), launch]
    live_home.plays(coordinator=[calls(*lend), finish("done")])
    outcome = live_home.lead("Lend what is not there")
    results = [r["content"] for r in outcome.conversation() if r["kind"] == "tool.finished"]
    assert "unknown server of tools 'missing' (known: fake, keyless, lent)" in results[0]
    for refusal in results[1:3]:
        assert "the tool 'keyless__x' cannot be given now: server 'keyless'" in refusal
        assert "NO_SUCH_VARIABLE is not set" in refusal
    assert not (outcome.run / "workers").exists() or not [*(outcome.run / "workers").iterdir()]


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("missing__x", "unknown server of tools 'missing' (known: fake, keyless, lent)"),
        ("lent__ad", "unknown tool 'lent__ad', did you mean 'lent__add'"),
        ("keyless__x", "cannot be given now: server 'keyless'"),
        ("bsh", "unknown tool 'bsh', did you mean 'bash'?"),
    ],
)
def test_agent_with_an_unknown_tool_is_not_created(
    live_home: LiveHome, tool: str, reason: str
) -> None:
    before = sorted((live_home.home / "agents").iterdir())
    asked = CreateAgentRequest(goal="x", model="openai/fake", tools=[tool])
    with Client.for_home(live_home.home) as client, pytest.raises(ApiError) as refused:
        client.create_agent(asked)
    assert (refused.value.status, reason in str(refused.value)) == (422, True)
    assert sorted((live_home.home / "agents").iterdir()) == before


def test_listing_asks_each_server(live_home: LiveHome) -> None:
    rows = {row["name"]: row for row in live_home.json("mcp", "list")}
    states = {"fake": "ready", "lent": "ready", "keyless": "unusable"}
    assert {name: row["state"] for name, row in rows.items()} == states
    assert "NO_SUCH_VARIABLE is not set" in rows["keyless"]["problem"]
    assert "lent__add" in [tool["name"] for tool in rows["lent"]["tools"]]
    kept = {row["name"]: row["state"] for row in live_home.json("mcp", "list", "--kept")}
    assert kept["keyless"] == "unusable"


def test_server_that_cannot_start_is_reported_and_the_work_continues(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=one_worker("nadia"), nadia=[DONE])
    outcome = live_home.complete("Work without a server")
    [conversation] = outcome.run.glob("workers/nadia-*/conversation.jsonl")
    reason = "server 'keyless': the variable NO_SUCH_VARIABLE is not set"
    assert reason in conversation.read_text()
    told = {one["entity"]: one["data"]["reason"] for one in outcome.events("tool.missing")}
    assert told.keys() == {"coordinator", "nadia"}
    assert all(reason in one for one in told.values())
    assert "nadia          works without some tools: server 'keyless'" in outcome.progress


def test_only_repeatable_calls_are_repeated_after_a_kill(live_home: LiveHome, state: Path) -> None:
    folder = state / "fake"
    before = len(lines(folder / "count"))
    live_home.plays(
        coordinator=one_worker("cleo"),
        cleo=[
            call("fake__count", until="counted"),
            call("fake__act_slowly", until="never", text="first"),
            call("fake__act_slowly", until="never", text="second"),
            calls(call("fake__die", times=1), *END),
        ],
    )
    agent = live_home.begin("killed-host")
    until(lambda: len(lines(folder / "count")) > before, "the call has begun")
    step = until(
        lambda: [row["step"] for row in live_home.json("ps") if "counting" in str(row.get("step"))],
        "its progress is shown",
    )
    assert "fake__count" in step[0]
    live_home.kill("agiraph: tools/fake")
    until(lambda: len(lines(folder / "count")) > before + 1, "it was asked again")
    (folder / "counted").touch()

    until(lambda: "begun first" in lines(folder / "acts"), "the first act has begun")
    live_home.kill("agiraph: tools/fake")
    until(lambda: "begun second" in lines(folder / "acts"), "the model went on")
    os.kill(int(lines(folder / "pids")[-1]), 9)
    live_home.await_end(agent)
    said = next(agent.glob("runs/*/workers/cleo-*/conversation.jsonl")).read_text()
    assert said.count("its outcome is unknown") == 2
    assert "tools/fake died while this call ran" in said
    assert "The server 'fake' died while this call ran" in said
    assert "alive" in said
    acts = [line for line in lines(folder / "acts") if line.startswith("begun")]
    assert acts == ["begun first", "begun second"]


def test_result_of_a_call_is_received_by_the_next_incarnation_of_its_caller(
    live_home: LiveHome, state: Path
) -> None:
    folder = state / "fake"
    act = call("fake__act_slowly", until="released", text="kept")
    live_home.plays(coordinator=one_worker("dora"), dora=[act, DONE])
    agent = live_home.begin("killed-asker")
    until(lambda: "begun kept" in lines(folder / "acts"), "the act has begun")
    live_home.kill("agiraph: worker dora")
    (folder / "released").touch()
    assert "kept in full" in live_home.await_step("dora", 1).result("fake__act_slowly")
    live_home.await_end(agent)
    assert lines(folder / "acts").count("begun kept") == 1


def test_an_interruption_cancels_the_call(live_home: LiveHome, state: Path) -> None:
    folder = state / "fake"
    act = call("fake__act_slowly", until="never", text="dropped")
    live_home.plays(coordinator=one_worker("emil"), emil=[act, DONE])
    agent = live_home.begin("interrupted-act")
    until(lambda: "begun dropped" in lines(folder / "acts"), "the act has begun")
    live_home.command("send", "interrupted-act", "Stop it.", "--to", "emil", "--mode", "interrupt")
    assert live_home.await_step("emil", 1).result("fake__act_slowly") == INTERRUPTED_CALL
    until(lambda: "cancelled dropped" in lines(folder / "acts"), "the server was notified")
    live_home.await_end(agent)


def test_new_tool_is_available_from_the_next_node(
    live_home: LiveHome,
) -> None:
    catalog = live_home.home / "system/tools/fake.json"

    def use(_seen: SeenRequest) -> Any:
        until(lambda: "fake__grown" in catalog.read_text(), "the host has noticed")
        return calls(call("fake__grown"), *END)

    nodes = calls(node("one", "gwen"), node("two", "gwen"))
    live_home.plays(
        coordinator=[spawn("gwen"), nodes, WAIT, finish()], gwen=[call("fake__grow"), use, DONE]
    )
    live_home.complete("Grow")
    asked = [seen for seen in live_home.server.requests if seen.is_for("gwen")]
    names = [tuple(seen.tools) for seen in asked]
    assert names[0] == names[1], "the prompt's beginning stays as it was"
    assert "fake__grown" not in names[0]
    assert "fake__grown" in names[2]
