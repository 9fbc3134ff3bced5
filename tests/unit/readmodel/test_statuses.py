"""The last word of each entity."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agiraph.agent.hold import WaitState
from agiraph.api.routes.entities import describe_activity
from agiraph.core.ids import Address
from agiraph.core.models import Activity
from agiraph.messages.child import ChildInfo
from agiraph.messages.event import EntityStatus
from agiraph.readmodel.activities import EntityActivities
from agiraph.readmodel.statuses import StatusReader


def test_the_latest_word_wins_and_an_older_incarnation_is_not_believed() -> None:
    statuses = EntityActivities()
    said = [(2, "one"), (2, "two"), (2, "two"), (1, "ghost")]
    news = [
        statuses.record("a/w", i, EntityStatus(doing=Activity(state="busy", step=step)))
        for i, step in said
    ]
    assert news == [True, True, False, False]
    latest = statuses.get("a/w")
    assert latest is not None
    assert latest.doing.step == "two"
    assert statuses.get("a/w", 3) is None
    assert statuses.get("a/other") is None


def test_what_is_said_again_began_when_it_was_said_first() -> None:
    statuses = EntityActivities()
    for at, step in ((10.0, "bash"), (15.0, "bash"), (20.0, "thinking")):
        statuses.record("a/w", 1, EntityStatus(doing=Activity(state="busy", step=step)), at)
        doing = statuses.get("a/w")
        assert doing is not None
        assert doing.since == (10.0 if step == "bash" else 20.0)


def test_people_are_told_what_is_done_in_words() -> None:
    for state, step, words in (
        ("busy", "bash: make test", "bash: make test"),
        ("waiting_for_human", "Which one?", "waits for you: Which one?"),
        ("waiting_for_nodes", "tables", "waits for tables"),
        ("waiting_for_nodes", "", "waits for its nodes or a message"),
        ("idle", "", ""),
    ):
        assert describe_activity(Activity.model_validate({"state": state, "step": step})) == words
    thinks = Activity(state="busy", step="thinking (anthropic/x)", model="anthropic/x")
    assert describe_activity(thinks) == "waits for the model (anthropic/x)"


def test_what_holds_an_entity_is_read_once_for_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []

    def load(path: Path) -> WaitState:
        reads.append(path)
        return WaitState(is_paused=True)

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
        assert activity.doing.state == "paused"
    assert reads == [home.hold]
