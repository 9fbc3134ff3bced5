"""The budget of a run is in its agent's record at that moment."""

import os
from pathlib import Path

import pytest

from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.core.turns import ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.spending import agent_budgets
from agiraph.spending.agent_budgets import AgentBudgets
from agiraph.storage.files import replace_file
from agiraph.storage.home import Home

REQUEST = ModelRequest(
    model="a/b", system="", turns=(), max_tokens=10, entity="shop/coordinator", run_id="r1"
)


def record(home: Home, usd: float) -> None:
    """Write the record of an agent whose run has this budget."""
    about = {"id": AgentId("shop"), "name": "shop", "goal": "Build it", "model": "a/b"}
    now = {"created_at": 0.0, "updated_at": 0.0, "worker_model": "a/b"}
    agent = Agent.model_validate({**about, **now, "run": RunId("r1"), "budget_usd": usd})
    replace_file(home.agent(agent.id).record, agent.model_dump_json())


def test_a_changed_record_counts_from_the_next_call(tmp_path: Path) -> None:
    home = Home(tmp_path)
    budgets = AgentBudgets(home)
    for usd in (1.0, 2.0, 3.0):
        record(home, usd)
        assert [budgets.billed(REQUEST).budget_usd for _ in range(2)] == [usd, usd]
    os.unlink(home.agent(AgentId("shop")).record)
    with pytest.raises(ProviderError, match="no run 'r1'"):
        budgets.billed(REQUEST)


def test_unchanged_record_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    budgets = AgentBudgets(home)
    record(home, 1.0)
    budgets.billed(REQUEST)
    monkeypatch.delattr(agent_budgets, "read_bytes")
    assert budgets.billed(REQUEST).budget_usd == 1.0
