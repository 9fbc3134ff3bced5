"""The shelf: what stands among agents' folders and is none of ours hides itself alone."""

import os
from pathlib import Path

import pytest

from actors.clock.shelf import Shelf
from agiraph.errors import Corrupt
from agiraph.ids import AgentId
from agiraph.storage.files import make_folder, replace_file
from agiraph.storage.home import Home
from agiraph.triggers.book import Book, Bounds
from tests.fakes.line import SilentLog

ADA, BOB, ODD = AgentId("ada-1"), AgentId("bob-1"), AgentId("odd-1")
BOUNDS = Bounds(late_seconds=60, per_minute=10)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for agent in (ADA, BOB):
        replace_file(home.agent(agent).triggers, Book(agent, BOUNDS).write())
    return home


def test_an_odd_agent_is_told_and_hides_nobody_else(home: Home, tmp_path: Path) -> None:
    (home.agents / "link-1").symlink_to(home.agent(ADA).path)
    os.mkfifo(home.agents / "pipe-1")
    home.agent(ODD).triggers.mkdir(parents=True)
    log = SilentLog()
    shelf = Shelf(home, BOUNDS, log)
    shelf.load()
    assert set(shelf.books) == {ADA, BOB}
    assert [line.split(" {")[0] for line in log.lines] == [
        *["no folder of an agent, passed over"] * 2,
        "triggers cannot be used",
    ]
    with pytest.raises(Corrupt, match="is a folder where a file belongs"):
        shelf.book(ODD)


def test_a_book_whose_file_was_exchanged_is_put_aside_and_the_others_go_on(home: Home) -> None:
    log = SilentLog()
    shelf = Shelf(home, BOUNDS, log)
    shelf.load()
    home.agent(ADA).triggers.unlink()
    make_folder(home.agent(ADA).triggers / "inside")
    for agent in (ADA, BOB):
        shelf.save(shelf.book(agent))
    assert set(shelf.books) == {BOB}
    assert len(log.lines) == 1
    with pytest.raises(Corrupt):
        shelf.book(ADA)
