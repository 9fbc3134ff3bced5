"""The trigger store: a foreign file among agents' folders hides only itself."""

import os
from pathlib import Path

from actors.scheduler.trigger_store import TriggerStore
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.storage.files import replace_file
from agiraph.storage.home import Home
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet
from tests.fakes.fake_runtime import SilentLog

ADA, ODD = AgentId("ada-1"), AgentId("odd-1")
BOUNDS = FiringLimits(late_seconds=60, per_minute=10)


def test_irregular_agent_is_reported_and_does_not_hide_others(tmp_path: Path) -> None:
    home, log, told = Home(tmp_path), SilentLog(), list[Event]()
    replace_file(home.agent(ADA).triggers, TriggerSet(ADA, BOUNDS).write())
    (home.agents / "link-1").symlink_to(home.agent(ADA).path)
    os.mkfifo(home.agents / "pipe-1")
    home.agent(ODD).triggers.mkdir(parents=True)
    shelf = TriggerStore(home, BOUNDS, log, told.append, lambda: 1.0)
    shelf.load()
    shelf.load_again()
    assert set(shelf.trigger_sets) == {ADA}
    assert [line.split(" {")[0] for line in log.lines] == [
        *["no folder of an agent, passed over"] * 2,
        "an agent's triggers cannot be used",
    ]
    assert [event.agent_id for event in told] == [ODD]
