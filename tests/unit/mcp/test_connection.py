"""A server that connects and then says nothing more is given up, and why is told."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.tools.mcp import connection
from actors.tools.mcp.connection import McpConnection
from agiraph.core.clock import SystemClock
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.storage.home import Home
from tests.fakes.line import SilentLog

TOOL = {"name": "add", "inputSchema": {"type": "object"}}


class Page:
    """A page of a server's tools; the last one."""

    tools = (SimpleNamespace(model_dump=lambda **_: TOOL),)
    next_cursor = None


class MuteLink:
    """A connection that stands, over which tools are listed as often as is allowed."""

    lists = 0
    open_links = 0

    def __init__(self, *_: object) -> None:
        self.client = self
        self.is_up = True
        self.server_capabilities = SimpleNamespace(tools=True, resources=None, prompts=None)
        self.server_info = None
        self.instructions = ""

    async def open(self, *_: object) -> None:
        MuteLink.open_links += 1

    async def close(self) -> None:
        MuteLink.open_links -= 1

    def reject(self) -> None:
        raise AssertionError("nobody says that it knows this connection no more")

    async def list_tools(self, **_: object) -> Page:
        if not MuteLink.lists:
            await asyncio.Event().wait()
        MuteLink.lists -= 1
        return Page()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpConnection:
    monkeypatch.setattr(connection, "McpSession", MuteLink)
    monkeypatch.setattr(MuteLink, "lists", 0)
    monkeypatch.setattr(MuteLink, "open_links", 0)
    home = Home(tmp_path)
    home.system.tools.mkdir(parents=True)
    config = SimpleNamespace(mcp=SimpleNamespace(start_seconds=0.01))
    runtime: Any = SimpleNamespace(home=home, config=config, clock=SystemClock(), log=SilentLog())
    return McpConnection(runtime, "mute", McpServerConfig(url="http://127.0.0.1:9/mcp"), {})


async def known(kept: McpConnection, *, afresh: bool = True) -> str:
    async with asyncio.timeout(20):
        return (await kept.known(afresh=afresh)).problem


def test_a_server_that_never_lists_its_tools_is_unusable_and_let_go(kept: McpConnection) -> None:
    problem = asyncio.run(known(kept))
    assert problem == "server 'mute' cannot be used: it did not list its tools within 0.01 s"
    assert MuteLink.open_links == 0


def test_one_that_stops_answering_is_told_of_and_what_is_known_of_it_stays(
    kept: McpConnection,
) -> None:
    MuteLink.lists = 1
    problem = asyncio.run(known(kept))
    assert problem == "server 'mute' cannot be used: it did not list its tools within 0.01 s"
    assert [tool.name for tool in kept.catalog.tools] == ["mute__add"]
    assert kept.catalog.problem == ""
