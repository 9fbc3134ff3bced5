"""Plan: the one record that both forms of a plan file become."""

from agiraph.core.models import StageContract, WorkerType
from agiraph.core.record import Record


class PlanWorker(Record):
    """A worker that the plan names, spawned before any node is created."""

    name: str
    role: str = "worker"
    type: WorkerType = "harnessed"
    model: str | None = None
    agent_command: str | None = None


class PlanNode(Record):
    """A node of the plan. `dependencies` and `worker` are names of this plan.

    `model` is the one its file asks for; its worker has it.
    """

    name: str
    role: str
    task: str
    dependencies: tuple[str, ...] = ()
    worker: str | None = None
    model: str | None = None
    stage: str | None = None
    checks: tuple[str, ...] = ()


class Plan(Record):
    """A checked plan: names are unique, every dependency stands before the node that needs it."""

    goal: str | None = None
    workers: tuple[PlanWorker, ...] = ()
    nodes: tuple[PlanNode, ...]
    contract: StageContract = StageContract()
