"""What coordinators and workers are launched with (ChildSpec.args)."""

from agiraph.ids import AgentId, RunId
from agiraph.models import Agent, Worker
from agiraph.record import Record


class CoordinatorArgs(Record):
    """A coordinator's first orders; after the first start the agent's own files count."""

    agent: Agent
    run: RunId
    budget_usd: float | None = None
    plan: str | None = None
    tools: tuple[str, ...] | None = None


class WorkerArgs(Record):
    """Who a worker is and whom it works for. `today` is kept, so that its prompt never changes."""

    agent: AgentId
    agent_name: str
    run: RunId
    worker: Worker
    model: str
    today: str
    input_dir: str | None = None
    budget_usd: float | None = None
