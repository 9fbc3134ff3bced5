"""AgentBudgets: the runs of an agent, and their budgets, from the agent's record.

A caller names its run, but cannot state the run's budget.
"""

from pydantic import ValidationError

from agiraph.core.ids import AgentId, agent_of, is_plain_name
from agiraph.core.models import Agent
from agiraph.core.money import Budget
from agiraph.core.turns import ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.storage.files import is_folder, read_bytes, status_of
from agiraph.storage.home import Home
from agiraph.storage.walk import etag_of

MOST_KEPT = 100


class AgentBudgets:
    """Reads `agent.json`, which the agent's coordinator writes before the run's first call."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._kept: dict[str, tuple[str, Agent]] = {}
        """Each agent's record as last read, with the etag of its file."""

    def billed(self, request: ModelRequest) -> ModelRequest:
        """Return a request with the terms of its run. Raises ProviderError if the agent has no such
        run.

        The record has no terms of an earlier run: those are in BudgetLimits.
        """
        agent = agent_of(request.entity) or AgentId("")
        record = self._record(agent)
        if not self._has_run(agent, request.run_id, record):
            text = f"agent '{agent}' has no run '{request.run_id}' that could be charged"
            raise ProviderError("bad_request", text)
        if record is None or record.run != request.run_id:
            return request.model_copy(update={"budget_usd": None, "budgets": (), "record": False})
        tokens = Budget(scope="run", key=request.run_id, tokens=record.budget_tokens)
        return request.model_copy(
            update={
                "budget_usd": record.budget_usd,
                "budgets": (tokens,) if record.budget_tokens else (),
                "trigger": request.trigger or record.trigger,
                "record": record.record,
            }
        )

    def has_run(self, agent: str, run: str) -> bool:
        """Whether an agent has this run."""
        return self._has_run(agent, run, self._record(agent))

    def _has_run(self, agent: str, run: str, record: Agent | None) -> bool:
        if not (is_plain_name(agent) and is_plain_name(run)):
            return False
        is_current = record is not None and record.run == run
        return is_current or is_folder(self._home.agent(AgentId(agent)).run(run).path)

    def _record(self, agent: str) -> Agent | None:
        if not is_plain_name(agent):
            return None
        path = self._home.agent(AgentId(agent)).record
        try:
            status = status_of(path)
            etag = etag_of(status) if status is not None else ""
            kept = self._kept.get(agent)
            if kept is not None and kept[0] == etag:
                return kept[1]
            record = Agent.model_validate_json(read_bytes(path))
        except (OSError, ValidationError):
            return None
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[agent] = etag, record
        return record
