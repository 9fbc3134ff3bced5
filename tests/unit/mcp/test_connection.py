"""A server that connects and does not list its tools is given up, with the reason."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.tools.mcp import connection
from actors.tools.mcp.connection import McpConnection
from agiraph.core.clock import SystemClock
from agiraph.settings.mcp_servers import McpServerConfig
from agiraph.storage.home import Home
from tests.fakes.fake_runtime import SilentLog

TOOL = {"name": "add", "inputSchema": {"type": "object"}}
PAGE = SimpleNamespace(tools=(SimpleNamespace(model_dump=lambda **_: TOOL),), next_cursor=None)
PROBLEM = "server 'mute' cannot be used: it did not list its tools within 0.01 s"


class MuteSession:
    """A session that is up, over which tools are listed `lists` times."""

    lists = 0
    open_sessions = 0
    is_up = True
    server_capabilities = SimpleNamespace(tools=True, resources=None, prompts=None)
    server_info = None
    instructions = ""
    left_out: tuple[str, ...] = ()

    def __init__(self, *_: object) -> None:
        self.client = self

    async def open(self, *_: object) -> None:
        MuteSession.open_sessions += 1

    async def close(self) -> None:
        MuteSession.open_sessions -= 1

    def reject(self) -> None:
        raise AssertionError("the server has not said that it does not know the session")

    async def list_tools(self, **_: object) -> SimpleNamespace:
        if not MuteSession.lists:
            await asyncio.Event().wait()
        MuteSession.lists -= 1
        return PAGE


@pytest.fixture
def mute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpConnection:
    monkeypatch.setattr(connection, "McpSession", MuteSession)
    monkeypatch.setattr(MuteSession, "lists", 0)
    monkeypatch.setattr(MuteSession, "open_sessions", 0)
    home = Home(tmp_path)
    home.system.tools.mkdir(parents=True)
    config = SimpleNamespace(mcp=SimpleNamespace(start_seconds=0.01))
    runtime: Any = SimpleNamespace(home=home, config=config, clock=SystemClock(), log=SilentLog())
    return McpConnection(runtime, "mute", McpServerConfig(url="http://127.0.0.1:9/mcp"), {})


async def test_a_server_that_never_lists_its_tools_is_unusable_and_closed(
    mute: McpConnection,
) -> None:
    assert (await mute.current_catalog(refresh=True)).problem == PROBLEM
    assert MuteSession.open_sessions == 0


async def test_changes_reported_after_each_listing_cause_few_listings(
    mute: McpConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    MuteSession.lists = 100
    await mute.current_catalog(refresh=False)
    pauses, has_paused = list[float](), asyncio.Event()
    list_tools = MuteSession.list_tools

    async def list_and_report(session: MuteSession, **more: object) -> SimpleNamespace:
        listed = await list_tools(session, **more)
        mute.report_change()
        return listed

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        has_paused.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(MuteSession, "list_tools", list_and_report)
    monkeypatch.setattr(asyncio, "sleep", pause)
    mute.report_change()
    following = asyncio.create_task(mute.follow_changes())
    async with asyncio.timeout(20):
        await has_paused.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert pauses == [connection.LIST_SECONDS]
    assert MuteSession.lists == 98


async def test_server_that_stops_answering_has_a_problem_and_keeps_its_catalog(
    mute: McpConnection,
) -> None:
    MuteSession.lists = 1
    assert (await mute.current_catalog(refresh=True)).problem == PROBLEM
    assert [tool.name for tool in mute.catalog.tools] == ["mute__add"]
    assert mute.catalog.problem == ""
