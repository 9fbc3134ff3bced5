"""Node: assignment, progress and end of a node."""

from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Assignment, NodeResult
from agiraph.messages.body import MessageBody


class AssignNodeMessage(MessageBody):
    """Assign a node. Coordinator to worker."""

    TYPE = "node.assign"
    DURABLE = True
    agent: AgentId
    run: RunId
    assignment: Assignment


class NodeStartedMessage(MessageBody):
    """The worker began the node. Worker to coordinator."""

    TYPE = "node.started"
    DURABLE = True
    node_id: NodeId
    attempt: int


class NodeCheckpoint(MessageBody):
    """A milestone with a summary; the node continues. Worker to coordinator."""

    TYPE = "node.checkpoint"
    DURABLE = True
    node_id: NodeId
    summary: str


class PublishNode(NodeResult, MessageBody):
    """The node's files are in `published/`. Worker to coordinator; answered by `control.ok`.

    `commit`: its changes in its git worktree, merged before the node is completed.
    """

    TYPE = "node.publish"
    DURABLE = True
    node_id: NodeId
    attempt: int
    commit: str = ""


class FailNodeMessage(MessageBody):
    """The node cannot be done. Worker to coordinator; `left` are the files in its `scratch/`.

    `details` are the last lines of the error's traceback.
    """

    TYPE = "node.fail"
    DURABLE = True
    node_id: NodeId
    attempt: int
    reason: str
    left: tuple[str, ...] = ()
    details: str = ""


class CancelNodeMessage(MessageBody):
    """Stop working on this node; its result is no longer needed. Coordinator to worker.

    With `is_moved` the node is to be given to another worker: the worker sends `node.released`.
    """

    TYPE = "node.cancel"
    DURABLE = True
    node_id: NodeId
    reason: str = ""
    is_moved: bool = False


class NodeUpdatedMessage(MessageBody):
    """The terms of the worker's node have changed. Coordinator to the worker that holds it.

    A worker that knows of the changes (`assignment.node.update`) ignores it.
    """

    TYPE = "node.updated"
    DURABLE = True
    assignment: Assignment


class NodeReleasedMessage(MessageBody):
    """The worker has released a node that is to be moved: none of its processes writes there now.

    Worker to coordinator.
    """

    TYPE = "node.released"
    DURABLE = True
    node_id: NodeId
    attempt: int


class RetryNodeMessage(MessageBody):
    """Try a failed node again. Human gateway to coordinator; answered by `control.ok`.

    Refused if it has not failed (or is completed and in use), or its stage or its run is over.
    `because` is the human's reason.
    """

    TYPE = "node.retry"
    DURABLE = True
    node: str
    because: str = ""


class CancelByHuman(MessageBody):
    """Cancel a node. Human gateway to coordinator; answered by `control.ok`.

    Refused if it has ended in another way. `because` is the human's reason.
    """

    TYPE = "node.cancel_by_human"
    DURABLE = True
    node: str
    because: str = ""


class MoveByHuman(MessageBody):
    """Give a node to another worker, or to a worker with another model. Human to coordinator.

    Sent by the human gateway; answered by `control.ok`. Refused if it has ended and cannot be tried
    again, or if no worker could do it with these terms. `worker` is an id. `because` is the human's
    reason.
    """

    TYPE = "node.move_by_human"
    DURABLE = True
    node: str
    worker: str | None = None
    model: str | None = None
    because: str = ""


class SubNodeEnded(MessageBody):
    """A sub-node ended without a result. Coordinator to the worker that holds `holder`."""

    TYPE = "node.sub_ended"
    DURABLE = True
    holder: NodeId
    node_id: NodeId
    name: str
    status: str
    reason: str = ""
