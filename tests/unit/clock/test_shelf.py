"""The shelf: what stands among agents' folders and is none of them hides itself alone."""

import os
from pathlib import Path

from actors.clock.shelf import Shelf
from agiraph.ids import AgentId
from agiraph.models import Event
from agiraph.storage.files import replace_file
from agiraph.storage.home import Home
from agiraph.triggers.book import Book, Bounds
from tests.fakes.line import SilentLog

ADA, ODD = AgentId("ada-1"), AgentId("odd-1")
BOUNDS = Bounds(late_seconds=60, per_minute=10)


def test_an_odd_agent_is_told_and_hides_nobody_else(tmp_path: Path) -> None:
    home, log, told = Home(tmp_path), SilentLog(), list[Event]()
    replace_file(home.agent(ADA).triggers, Book(ADA, BOUNDS).write())
    (home.agents / "link-1").symlink_to(home.agent(ADA).path)
    os.mkfifo(home.agents / "pipe-1")
    home.agent(ODD).triggers.mkdir(parents=True)
    shelf = Shelf(home, BOUNDS, log, told.append, lambda: 1.0)
    shelf.load()
    shelf.load_again()
    assert set(shelf.books) == {ADA}
    assert [line.split(" {")[0] for line in log.lines] == [
        *["no folder of an agent, passed over"] * 2,
        "an agent is set aside",
    ]
    assert [event.agent_id for event in told] == [ODD]
