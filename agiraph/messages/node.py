"""Node: the life of a piece of work."""

from agiraph.core.evidence import Evidence
from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Assignment
from agiraph.messages.body import Body


class AssignNodeMessage(Body):
    """Work on this. Coordinator to worker."""

    TYPE = "node.assign"
    DURABLE = True
    agent: AgentId
    run: RunId
    assignment: Assignment


class NodeStartedMessage(Body):
    """I have begun. Worker to coordinator."""

    TYPE = "node.started"
    DURABLE = True
    node_id: NodeId
    attempt: int


class NodeCheckpoint(Body):
    """A milestone, with a summary; the node goes on. Worker to coordinator."""

    TYPE = "node.checkpoint"
    DURABLE = True
    node_id: NodeId
    summary: str


class PublishNode(Body):
    """The node's files stand in `published/`. Worker to coordinator; answered by `control.ok`.

    `missing`: what a result in part lacks; `bound`: the bound of the node that cut it short.
    `commit`: what it has changed in its git worktree, to be merged before the node is completed.
    `evidence`: how the node's checks ended, and hashes of the files.
    """

    TYPE = "node.publish"
    DURABLE = True
    node_id: NodeId
    attempt: int
    summary: str
    files: tuple[str, ...]
    missing: str = ""
    bound: str = ""
    commit: str = ""
    evidence: Evidence | None = None


class OfferInsight(Body):
    """This may be of use to the agent after this run. Worker to coordinator, who decides."""

    TYPE = "node.insight"
    DURABLE = True
    node_id: NodeId
    insight: str


class FailNodeMessage(Body):
    """I cannot do this node. Worker to coordinator; `left` are the files in its `scratch/`."""

    TYPE = "node.fail"
    DURABLE = True
    node_id: NodeId
    attempt: int
    reason: str
    left: tuple[str, ...] = ()


class CancelNodeMessage(Body):
    """Put this node down, its result is no longer wanted. Coordinator to worker."""

    TYPE = "node.cancel"
    DURABLE = True
    node_id: NodeId
    reason: str = ""


class SubNodeEnded(Body):
    """A sub-node of yours ended without a result. Coordinator to the worker that holds `holder`."""

    TYPE = "node.sub_ended"
    DURABLE = True
    holder: NodeId
    node_id: NodeId
    name: str
    status: str
    reason: str = ""
