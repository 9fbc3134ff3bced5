"""The latest status of each entity."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agiraph.api.routes.entities import describe_activity
from agiraph.core.ids import Address
from agiraph.core.models import EntityState
from agiraph.messages.child import ChildInfo
from agiraph.readmodel.activities import EntityActivities
from agiraph.readmodel.statuses import StatusReader


def test_latest_status_wins_and_older_incarnations_are_ignored() -> None:
    statuses = EntityActivities()
    said = [(2, "one"), (2, "two"), (2, "two"), (1, "ghost")]
    news = [statuses.record("a/w", i, EntityState(state="busy", step=step)) for i, step in said]
    assert news == [True, True, False, False]
    latest = statuses.get("a/w")
    assert latest is not None
    assert latest.step == "two"
    assert statuses.get("a/w", 3) is None
    assert statuses.get("a/other") is None


def test_state_that_is_reported_again_keeps_the_time_of_its_beginning() -> None:
    state = EntityState()
    for at, step in ((10.0, "bash"), (15.0, "bash"), (20.0, "thinking")):
        state = EntityState(state="busy", step=step).after(state, at)
        assert state.since == (10.0 if step == "bash" else 20.0)


def test_activity_is_described_in_words() -> None:
    for state, step, words in (
        ("busy", "bash: make test", "bash: make test"),
        ("waiting_for_human", "Which one?", "waits for you: Which one?"),
        ("waiting_for_nodes", "tables", "waits for tables"),
        ("waiting_for_nodes", "", "waits for its nodes or a message"),
        ("idle", "", ""),
    ):
        doing = EntityState.model_validate({"state": state, "step": step})
        assert describe_activity(doing) == words
    thinks = EntityState(state="busy", step="thinking (anthropic/x)", model="anthropic/x")
    assert describe_activity(thinks) == "waits for the model (anthropic/x)"


def test_hold_of_an_entity_is_read_once_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []

    def load(path: Path) -> EntityState:
        reads.append(path)
        return EntityState(state="paused")

    monkeypatch.setattr("agiraph.readmodel.statuses.load_hold", load)
    home, address = SimpleNamespace(hold=Path("held")), Address("shop-1/coordinator")
    agents: Any = SimpleNamespace(
        get=lambda _id: "shop-1", home_of=lambda _agent: home, run_of=lambda _agent: None
    )
    boards: Any = None
    table = [ChildInfo(address=address, kind="coordinator", state="parked")]
    reader = StatusReader(agents, boards, EntityActivities(), set(), table)
    for _ in range(2):
        activity = reader.activity(address)
        assert activity is not None
        assert activity.state == "paused"
    assert reads == [home.hold]
