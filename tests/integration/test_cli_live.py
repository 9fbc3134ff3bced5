"""The command line against a supervisor that keeps running: listings, acts, and a console."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer, Reply, Script, SeenRequest, call, say
from tests.integration.commands import Commands, await_nothing_left
from tests.integration.waiting import until


def lead(seen: SeenRequest) -> Reply:
    """Let one worker work, finish, and answer whatever the human says after that."""
    steps = [
        call("spawn_worker", name="ada"),
        call("create_work_node", name="sums", task="Write sums.md", worker="ada"),
        call("wait"),
        call("finish", summary="# Report\nfour\n"),
    ]
    return steps[seen.step] if seen.step < len(steps) else say("All is well, human.")


@dataclass
class FinishedAgentHome:
    """A running supervisor with one agent that has done its work."""

    commands: Commands
    agent: str


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FinishedAgentHome]:
    home = tmp_path_factory.mktemp("live") / "home"
    worker = [
        call("bash", command="echo four > sums.md"),
        call("send_message", to="human", content="nearly there"),
        call("publish", summary="2 + 2 = 4"),
    ]
    with FakeModelServer(Script({"coordinator": lead, "ada": worker})) as server:
        commands = Commands(home, server.env())
        with commands.supervisor():
            done = commands.here("run", "Find the sum", "--name", "summer", "--json")
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert told["result"] == "# Report\nfour\n"
            assert "ANTHROPIC_API_KEY is set" in done.stderr
            yield FinishedAgentHome(commands, told["agent"])
        await_nothing_left(home)
        assert not server.problems


def test_run_does_not_stop_the_supervisor_or_the_coordinator(finished: FinishedAgentHome) -> None:
    rows = {row["address"]: row for row in finished.commands.json("ps")}
    assert {"supervisor", "router", "recorder", "broker", "human"} <= set(rows)
    assert rows[f"{finished.agent}/coordinator"]["pid"]
    assert rows[f"{finished.agent}/coordinator"]["tokens"] > 0


def test_agents_are_listed_and_shown(finished: FinishedAgentHome) -> None:
    [row] = finished.commands.json("agents")
    assert (row["id"], row["name"], row["status"]) == (finished.agent, "summer", "completed")
    assert finished.commands.json("show", "summer")["result"] == "# Report\nfour"


def test_board_workers_messages_and_files_are_shown(finished: FinishedAgentHome) -> None:
    commands = finished.commands
    [node] = commands.json("board", "summer")
    assert (node["name"], node["status"], node["summary"]) == ("sums", "completed", "2 + 2 = 4")
    [worker] = commands.json("workers", "summer")
    assert worker["name"] == "ada"
    assert ("ada", "human", "nearly there") in [
        (m["from"], m["to"], m["content"]) for m in commands.json("messages", "summer")
    ]
    names = {row["name"] for row in commands.json("files", "summer")}
    assert {"_output.md", "nodes", "workers"} <= names
    assert commands.here("files", "summer", "_output.md").stdout == "# Report\nfour\n"
    outside = commands.here("files", "summer", "../../../../system/token")
    assert outside.returncode == 2
    assert outside.stdout == ""


def test_events_are_listed_and_followed(finished: FinishedAgentHome) -> None:
    commands = finished.commands
    found = commands.json("events", "summer")
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert {"agent.created", "node.completed", "tool.called"} <= {e["type"] for e in found}
    followed = commands.here("events", "summer", "-f", "--limit", "5", "--json")
    assert [json.loads(line)["seq"] for line in followed.stdout.splitlines()] == [1, 2, 3, 4, 5]
    assert "ada: completed sums: 2 + 2 = 4" in commands.here("events", "summer").stdout


def test_models_and_doctor_report_the_home(finished: FinishedAgentHome) -> None:
    rows = {row["name"]: row for row in finished.commands.json("models")}
    assert rows["anthropic"]["usable"] is True
    told = finished.commands.json("doctor")
    [check] = [check for check in told["checks"] if check["name"] == "supervisor"]
    assert (check["status"], "its API is" in check["detail"]) == ("ok", True)


def test_console_sends_a_line_and_shows_the_answer(finished: FinishedAgentHome) -> None:
    done = finished.commands.run("console", "summer", stdin="How are you?\n")
    assert done.returncode == 0, done.stderr
    assert "→ coordinator" in done.stdout
    assert done.stdout.rstrip().endswith("coordinator: All is well, human.")


def test_console_shows_the_board_and_leaves_no_entity_behind(
    finished: FinishedAgentHome,
) -> None:
    done = finished.commands.run("console", stdin="/board\n@nobody hi\n/quit\n")
    assert done.returncode == 0, done.stderr
    assert "completed" in done.stdout
    assert "unknown recipient 'nobody'" in done.stdout
    states = [r["state"] for r in finished.commands.json("ps") if r["kind"] == "console"]
    assert "ready" not in states


def test_killed_broker_is_restarted_with_a_new_pid(finished: FinishedAgentHome) -> None:
    commands = finished.commands

    def broker() -> dict[str, Any]:
        [row] = [row for row in commands.json("ps") if row["kind"] == "broker"]
        return dict(row)

    before = broker()
    assert commands.here("kill", "broker").returncode == 0
    after = until(lambda: row if (row := broker())["pid"] != before["pid"] else None, "a restart")
    assert after["incarnation"] > before["incarnation"]


def test_detach_starts_the_agent_and_exits(finished: FinishedAgentHome) -> None:
    done = finished.commands.here("run", "Find another sum", "--detach", "--json")
    assert done.returncode == 0, done.stderr
    agent = json.loads(done.stdout)["agent"]
    assert agent in [row["id"] for row in finished.commands.json("agents")]
    stopped = finished.commands.json("stop", agent)
    assert f"{agent}/coordinator" in [row["address"] for row in stopped]
