"""The epoch of every conversation here is `e`: keys are then known beforehand."""

import pytest


@pytest.fixture(autouse=True)
def epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agiraph.agent.conversation.new_epoch", lambda: "e")
