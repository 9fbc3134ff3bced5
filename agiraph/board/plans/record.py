"""Plan: the one record that both forms of a plan file become."""

from agiraph.core.models import StageContract
from agiraph.core.record import Record
from agiraph.core.specs import NodeSpec, WorkerSpec


class PlanNode(NodeSpec):
    """A node of the plan. `dependencies` and `worker` are names of this plan."""

    name: str
    stage: str | None = None


class Plan(Record):
    """A checked plan: names are unique, every dependency is before the node that needs it.

    `max_stages` counts its own stages as one, which is what they are on the board.
    """

    goal: str | None = None
    workers: tuple[WorkerSpec, ...] = ()
    nodes: tuple[PlanNode, ...]
    contract: StageContract = StageContract()
    max_stages: int | None = None
    may_reconvene: bool = True
