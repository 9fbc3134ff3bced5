"""Agiraph as an MCP server: any MCP client gives a team a goal, talks with it and reads it."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agiraph import AgenticTeamMCPClient, InvalidInput
from tests.fakes.forked_command import ForkedCommand
from tests.fakes.model_server import call, say
from tests.integration.waiting import all_gone, until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import ROOT, processes_of, title_of
from tests.scenarios.steps import WAIT, ask, finish, publish, write

TALK = Callable[["Client"], Awaitable[None]]


def over_pipes(live_home: LiveHome, talk: TALK, *options: str) -> None:
    """Talk with `agiraph mcp serve` over its stdin and stdout."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "agiraph", "mcp", "serve", "--home", str(live_home.home), *options],
        env={**live_home.environ, "PYTHONPATH": str(ROOT)},
        cwd=live_home.home,
    )

    async def main() -> None:
        async with Client(parameters) as client:
            await talk(client)

    asyncio.run(main())


@pytest.fixture(scope="module")
def url(live_home: LiveHome) -> Iterator[str]:
    """Yield the URL at which `agiraph mcp serve --http` listens."""
    words = ("mcp", "serve", "--http", "127.0.0.1:0", "--home", str(live_home.home))
    process = ForkedCommand(
        words, cwd=live_home.home, env={**live_home.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    assert "agiraph mcp ready: http://127.0.0.1:" in said, said
    yield said.rpartition(" ")[2].strip()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


def over_http(url: str, token: str, talk: TALK) -> None:
    """Talk with the server at `url` with a token."""
    import httpx2

    async def main() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, verify=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            await talk(client)

    asyncio.run(main())


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] | None = result.structured_content
    assert found is not None
    return found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse, and return its words."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0])


def test_mcp_client_runs_a_team_and_reads_its_result(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[
            call("create_work_node", name="facts", task="Write facts.md"),
            ask("Which tea?", options=["green", "black"]),
            WAIT,
            lambda seen: finish(f"Tea: {seen.result('ask_human')}"),
            say("It was an easy one."),
        ],
        **{"worker-1": [write("facts.md", "hot"), publish("ok")]},
    )
    heard: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"run", "status", "send", "ask", "questions", "answer", "board", "read"} <= {*tools}
        assert all(tool.output_schema for tool in tools.values())
        begun = await told(client, "run", goal="Find tea", name="tea", model="openai/fake")
        agent = begun["agent"]
        stands = await told(client, "status", agent=agent, wait_seconds=60)
        [asked] = stands["questions"]
        assert asked["options"] == ["green", "black"]
        assert (await told(client, "questions", agent="tea"))["questions"] == [asked]
        await told(client, "answer", question=asked["question"], text="green")
        await refused(client, "answer", question=asked["question"], text="black")
        ended = await client.call_tool(
            "status", {"agent": agent, "wait_seconds": 60}, progress_callback=progress
        )
        assert ended.structured_content is not None
        assert ended.structured_content["status"] == "completed"
        assert "green" in ended.structured_content["result"]
        mine = [a for a in (await told(client, "agents"))["agents"] if a["agent"] == agent]
        assert [(one["nodes_ended"], one["nodes"]) for one in mine] == [(1, 1)]
        [node] = (await told(client, "board", agent=agent))["nodes"]
        assert node["published"] == ["facts.md"]
        path = f"nodes/{node['name']}/published/facts.md"
        assert (await told(client, "read", agent=agent, path=path))["content"] == "hot"
        folder = await told(client, "read", agent=agent)
        assert "_output.md" in [entry["path"] for entry in folder["entries"]]
        reply = await told(client, "ask", agent=agent, text="How was it?", wait_seconds=30)
        assert reply["reply"] == "It was an easy one."
        assert "unknown" in await refused(client, "status", agent="no-such-agent")
        sent = await told(client, "send", agent=agent, text="Thank you", mode="followup")
        assert sent["to"] == ["coordinator"]
        assert (await told(client, "stop", agent=agent))["entities"] >= 1
        assert agent in [one["agent"] for one in (await told(client, "agents"))["agents"]]

    def supervisors() -> list[int]:
        return [p.pid for p in processes_of(live_home.home) if "supervisor" in title_of(p)]

    [before] = supervisors()
    over_pipes(live_home, talk, "--start")
    assert heard, "progress was told"
    assert supervisors() == [before], "the one that runs is used, and goes on"


def test_mcp_client_runs_a_role_team(live_home: LiveHome) -> None:
    decided = {"action": "finalize", "message": "approved", "final_response": "Green tea."}
    live_home.plays(project_manager=[publish(result=decided)])
    heard: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def talk(client: Client) -> None:
        assert (await told(client, "agentic_team_validate"))["is_valid"]
        assert len((await told(client, "agentic_team_list_agents"))["agents"]) == 5
        assert (await told(client, "agentic_team_config"))["lead_role"] == "project_manager"
        assert (await told(client, "agentic_team_health"))["is_valid"]
        done = await client.call_tool(
            "agentic_team_execute",
            {"task": "Find tea", "model": "openai/fake", "wait_seconds": 60},
            progress_callback=progress,
        )
        assert done.structured_content is not None
        found = done.structured_content
        live_home.begun.append(found["agent"])
        assert (found["status"], found["final_output"]) == ("finalized", "Green tea.")
        assert [turn["to_role"] for turn in found["turns"]] == ["user"]

    over_pipes(live_home, talk)
    assert heard == ["project_manager to user: approved"]


async def test_python_program_runs_a_role_team_in_memory(live_home: LiveHome) -> None:
    decided = {"action": "finalize", "message": "approved", "final_response": "Services A and B."}
    live_home.plays(project_manager=[publish(result=decided)])
    heard: list[str] = []
    client = AgenticTeamMCPClient(home=live_home.home, model="openai/fake")
    task = "Design a microservice architecture"
    result = await client.execute_task(task, max_turns=3, on_progress=heard.append)
    live_home.begun.append(result.agent)
    assert (result.status, result.final_output) == ("finalized", "Services A and B.")
    assert (result.max_turns, heard) == (3, ["project_manager to user: approved"])
    async with client:
        assert (await client.turns(result.agent)).turns == result.turns
        assert (await client.validate()).is_valid
        assert (await client.health()).is_valid
        assert len((await client.list_agents()).agents) == 5
        assert (await client.config()).lead_role == "project_manager"
        with pytest.raises(InvalidInput, match="unknown agent 'nobody'"):
            await client.turns("nobody")
        with pytest.raises(InvalidInput, match="needs the network"):
            await client.execute_task("Do it", offline=True)
        with pytest.raises(InvalidInput, match="the task is empty"):
            await client.execute_task(" ")


def test_over_http_each_client_has_the_scope_of_its_token(live_home: LiveHome, url: str) -> None:
    assert httpx.post(url, json={}, verify=False).status_code == 401
    wrong = httpx.post(url, json={}, headers={"Authorization": "Bearer agt_wrong"}, verify=False)
    assert wrong.status_code == 401
    token = live_home.json("tokens", "add", "reader-of-mcp", "--scope", "read")["token"]

    async def talk(client: Client) -> None:
        assert isinstance((await told(client, "agents"))["agents"], list)
        assert "read" in await refused(client, "run", goal="Spend money")

    over_http(url, token, talk)


def test_mcp_tools_name_a_missing_supervisor_and_start_one(
    tmp_path: Path, live_home: LiveHome
) -> None:
    async def talk(client: Client) -> None:
        assert "no supervisor runs on home" in await refused(client, "agents")

    async def talk_after_start(client: Client) -> None:
        assert (await told(client, "agents"))["agents"] == []
        started.extend(processes_of(lonely.home))

    started: list[psutil.Process] = []
    (tmp_path / "empty").mkdir()
    lonely = LiveHome.__new__(LiveHome)
    lonely.home, lonely.environ = tmp_path / "empty", live_home.environ
    over_pipes(lonely, talk)
    lonely.home = tmp_path / "new"
    lonely.home.mkdir()
    try:
        over_pipes(lonely, talk_after_start, "--start")
        assert started, "a supervisor ran"
        until(
            lambda: all_gone(started) and not processes_of(lonely.home), "it left with the client"
        )
    finally:
        for process in processes_of(lonely.home):
            process.kill()
