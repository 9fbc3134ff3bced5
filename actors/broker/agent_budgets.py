"""AgentBudgets: which runs an agent has, and what each may spend, as the agent's record says.

A caller names its run; what the run may spend is no matter of the caller's.
"""

from pydantic import ValidationError

from agiraph.core.ids import AgentId, agent_of, is_plain_name
from agiraph.core.models import Agent
from agiraph.core.money import Budget, RunTerms
from agiraph.core.turns import ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.storage.files import is_folder, read_bytes
from agiraph.storage.home import Home


class AgentBudgets:
    """Reads `agent.json`, which the agent's coordinator writes before anybody calls for the run."""

    def __init__(self, home: Home) -> None:
        """Know the agents of this home."""
        self._home = home

    def billed(self, request: ModelRequest) -> ModelRequest:
        """Return a request on the terms of its run; ProviderError if its agent has no such run.

        For a run that is over nothing is said: what it was begun on is known to `Limits`.
        """
        agent = agent_of(request.entity) or AgentId("")
        if not self.has_run(agent, request.run_id):
            told = f"agent '{agent}' has no run '{request.run_id}' that could be charged"
            raise ProviderError("bad_request", told)
        record = self._record(agent)
        if record is None or record.run != request.run_id:
            terms: dict[str, object] = {"budget_usd": None, "budgets": (), "record": False}
        else:
            terms = _terms(record, request.trigger)
        return request.model_copy(update=terms)

    def has_run(self, agent: str, run: str) -> bool:
        """Whether a run is one of an agent's."""
        if not (is_plain_name(agent) and is_plain_name(run)):
            return False
        record = self._record(agent)
        is_current = record is not None and record.run == run
        return is_current or is_folder(self._home.agent(AgentId(agent)).run(run).path)

    def _record(self, agent: str) -> Agent | None:
        try:
            return Agent.model_validate_json(read_bytes(self._home.agent(AgentId(agent)).record))
        except (OSError, ValidationError):
            return None


def _terms(record: Agent, trigger: str) -> dict[str, object]:
    terms: RunTerms = record.terms
    tokens = (Budget(scope="run", key=record.run or "", tokens=terms.tokens),)
    return {
        "budget_usd": record.budget_usd,
        "budgets": tokens if terms.tokens else (),
        "trigger": trigger or terms.trigger,
        "record": terms.record,
    }
