"""The arguments with which coordinators and workers are launched (ChildSpec.args)."""

from agiraph.agent.records import RunBegan
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent, Worker
from agiraph.core.record import Record
from agiraph.core.specs import ResolvedRunSpec
from agiraph.core.turns import JsonObject


class CoordinatorArgs(Record):
    """The arguments of a coordinator: `agent` contains the terms of its run.

    The first run gets its arguments with the launch, a later run from its record. `began_at` is
    None in the first run, which began when the agent was created.
    """

    agent: Agent
    run: RunId
    tools: tuple[str, ...] | None = None
    began_at: float | None = None

    def of_run(self, began: RunBegan | None, planned: str | None = None) -> "CoordinatorArgs":
        """Return the arguments for the run that began last; None for `began`: the first run.

        `planned` is the plan that was made for the run.
        """
        terms = dict(began.spec if began is not None else self.agent.spec)
        run, began_at = (began.run, began.ts) if began is not None else (self.run, self.began_at)
        if planned is not None:
            terms["plan"] = planned
        agent = self.agent.model_copy(update={**terms, "run": run})
        return self.model_copy(update={"agent": agent, "run": run, "began_at": began_at})


class WorkerArgs(Record):
    """The arguments of a worker. `today` is stored, so that the worker's prompt never changes.

    So are `programs`, the lines of its prompt about the programs of the home's machine; a worker
    without them looks them up on its own machine. `spec` has no plan. `has_leader`: whether a model
    reads the messages to the coordinator.
    """

    agent: AgentId
    agent_name: str
    run: RunId
    spec: ResolvedRunSpec
    worker: Worker
    model: str
    today: str
    has_leader: bool = True
    programs: tuple[str, ...] = ()


def billing(run: RunId, spec: ResolvedRunSpec, trigger: str = "") -> JsonObject:
    """Return the fields of a model request that determine the budgets it is charged to.

    `trigger` is the trigger on which the sender acts at present, or whose firing led to its node.
    """
    return {"run_id": run, "trigger": trigger or spec.trigger}
