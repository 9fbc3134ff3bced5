"""The pages of a board: written once for all changes of a moment, and again after a power cut."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from actors.coordinator.board_pages import BoardPages
from actors.coordinator.files import AgentFiles
from actors.coordinator.record import AgentRecord
from actors.entity.args import CoordinatorArgs
from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.core.clock import SystemClock
from agiraph.core.specs import NodeSpec
from agiraph.storage.home import Home
from tests.unit.board.board_driver import BoardDriver
from tests.unit.coordinator.test_agent_files import AGENT, RUN


@pytest.fixture
def files(tmp_path: Path) -> AgentFiles:
    return AgentFiles(Home(tmp_path / "home").agent(AGENT.id), RUN, AGENT)


@pytest.fixture
def record(files: AgentFiles) -> AgentRecord:
    runtime = cast(Any, SimpleNamespace(clock=SystemClock()))
    record = AgentRecord(runtime, files, CoordinatorArgs(agent=AGENT, run=RUN))
    record.open()
    return record


async def test_changes_made_together_are_written_once(
    files: AgentFiles, record: AgentRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, driver, written = BoardPages(files, record), BoardDriver(), asyncio.Event()
    write_plan, sizes = files.write_plan, list[int]()

    def noted(board: Board) -> None:
        sizes.append(len(board.nodes))
        write_plan(board)
        written.set()

    monkeypatch.setattr(files, "write_plan", noted)
    writing = asyncio.create_task(pages.run(lambda: driver.board))
    for number in range(5):
        spec = NodeSpec(task="look", name=f"n{number}")
        for event in driver.events(c.CreateNode(f"c{number}", spec)):
            pages.note(event)
    assert not pages.are_written
    async with asyncio.timeout(10):
        await written.wait()
    writing.cancel()
    assert sizes == [5]
    assert pages.are_written
    nodes = driver.board.nodes.values()
    assert all(files.run.node(node.folder).status.read_text().startswith("PEND") for node in nodes)
    assert "**n4**" in files.run.plan.read_text()
    assert record.agent.node_count == 5
    kept = files.load_agent()
    assert kept is not None
    assert kept.node_count == 5


def test_file_emptied_by_a_power_cut_is_written_again(files: AgentFiles) -> None:
    driver = BoardDriver()
    driver.node("look")
    [node] = driver.board.nodes.values()
    home = files.run.node(node.folder)
    files.write_spec(node)
    home.spec.write_text("")
    home.refs.write_text('{"mine": "x"}\n')
    files.write_spec(node)
    assert home.spec.read_text().startswith("# look\n")
    assert home.refs.read_text() == '{"mine": "x"}\n'


def test_the_coordinators_own_text_around_the_plan_stays(files: AgentFiles) -> None:
    driver = BoardDriver()
    files.write_plan(driver.board)
    files.run.plan.write_text(f"My thoughts.\n\n{files.run.plan.read_text()}")
    driver.node("look")
    files.write_plan(driver.board)
    text = files.run.plan.read_text()
    assert text.startswith("My thoughts.\n")
    assert "**look**" in text


def test_damaged_record_is_moved_aside_and_recreated(files: AgentFiles) -> None:
    files.home.record.write_text('{"id": "shop-1", "na')
    log = Mock()
    runtime = cast(Any, SimpleNamespace(clock=SystemClock(), log=log))
    record = AgentRecord(runtime, files, CoordinatorArgs(agent=AGENT, run=RUN))
    record.open()
    assert files.load_agent() == record.agent
    [aside] = files.home.path.glob("agent.json.corrupt-*")
    assert aside.read_text() == '{"id": "shop-1", "na'
    log.warning.assert_called_once()
