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

    `is_reconvened`: each of its stages is one of the board, and opens when the coordinator has
    reconvened the one before; else all of them are one stage of the board, and `max_stages` counts
    them as one.
    """

    goal: str | None = None
    workers: tuple[WorkerSpec, ...] = ()
    nodes: tuple[PlanNode, ...]
    contract: StageContract = StageContract()
    max_stages: int | None = None
    may_reconvene: bool = True
    is_reconvened: bool = False
