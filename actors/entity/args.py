"""What coordinators and workers are launched with (ChildSpec.args)."""

from pydantic import Field

from agiraph.agent.records import RunBegan
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent, Worker
from agiraph.core.money import RunTerms
from agiraph.core.record import Record
from agiraph.core.turns import JsonObject


class CoordinatorArgs(Record):
    """A coordinator's orders: the first run's come with its launch, a later one's from its record.

    `began_at` is None in the first run, which began when the agent was created.
    """

    agent: Agent
    run: RunId
    budget_usd: float | None = None
    terms: RunTerms = Field(default_factory=RunTerms)
    plan: str | None = None
    tools: tuple[str, ...] | None = None
    began_at: float | None = None

    def of_run(self, began: RunBegan | None, planned: str | None = None) -> "CoordinatorArgs":
        """Return the orders of the run that was begun last; None: of the first.

        `planned` is the plan that was made for it.
        """
        if planned is not None:
            return self.of_run(began).model_copy(update={"plan": planned})
        if began is None:
            return self
        of_agent = began.model_dump(
            include={
                *("run", "goal", "mode", "model", "worker_model", "input_dir", "cycle_seconds"),
            }
        )
        agent = self.agent.model_copy(update=of_agent)
        of_run = {name: getattr(began, name) for name in ("run", "budget_usd", "terms", "plan")}
        return self.model_copy(update={**of_run, "agent": agent, "began_at": began.ts})


class WorkerArgs(Record):
    """Who a worker is and whom it works for. `today` is kept, so that its prompt never changes.

    `has_leader`: whether a model reads what is written to the coordinator.
    """

    agent: AgentId
    agent_name: str
    run: RunId
    worker: Worker
    model: str
    today: str
    input_dir: str | None = None
    terms: RunTerms = Field(default_factory=RunTerms)
    has_leader: bool = True


def billing(run: RunId, terms: RunTerms, trigger: str = "") -> JsonObject:
    """Return the fields of a model request that say to whose account it goes.

    `trigger` is the one that the asker acts on just now, or whose firing led to its node, if any.
    """
    return {"run_id": run, "trigger": trigger or terms.trigger}
