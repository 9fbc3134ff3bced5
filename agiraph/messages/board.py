"""Board: requests of workers to their coordinator."""

from typing import Literal

from agiraph.core.ids import NodeId
from agiraph.core.models import TeamRoster
from agiraph.core.node_changes import NodeRequest
from agiraph.core.specs import StageSpec, WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.messages.body import MessageBody


class ViewBoard(MessageBody):
    """Request the board. To a coordinator; answered by `board.state`.

    With `waiter`, only the rows of the nodes that it waits for: `nodes`, or all that it created.
    """

    TYPE = "board.view"
    nodes: tuple[str, ...] = ()
    waiter: NodeId | None = None


class BoardState(MessageBody):
    """The board in the form of the tool `check_board`, and the roster by name."""

    TYPE = "board.state"
    state: JsonObject


class AskRoster(MessageBody):
    """Request the roster of the team. Worker to its coordinator; answered by `board.roster`.

    If the worker does not wait for the answer, the request does not wake a parked coordinator, and
    is answered by a separate message of that type.
    """

    TYPE = "board.ask_roster"


class RosterChanged(MessageBody):
    """The current team. Coordinator to its workers, when it changes or when one requested it."""

    TYPE = "board.roster"
    roster: TeamRoster


class CreateNodeMessage(NodeRequest, MessageBody):
    """Add a node to the board. Worker to its coordinator; answered by `board.created`."""

    TYPE = "board.create"
    DURABLE = True
    cause: str
    parent_node: NodeId | None = None


class NodeCreatedReply(MessageBody):
    """The node was added to the board. Coordinator to the requester."""

    TYPE = "board.created"
    DURABLE = True
    node_id: NodeId
    name: str
    status: str


class HireWorker(WorkerSpec, MessageBody):
    """Add a worker to the team. Worker with the right to lead to its coordinator, for `holder`.

    `holder` is the worker's node. Answered by `board.changed`.
    """

    TYPE = "board.hire"
    DURABLE = True
    cause: str
    holder: NodeId


class LaunchTeam(MessageBody):
    """Open a stage below the node `holder`. Worker with the right to lead to its coordinator.

    Answered by `board.changed`.
    """

    TYPE = "board.launch"
    DURABLE = True
    cause: str
    holder: NodeId
    stage: StageSpec


class TeamChanged(MessageBody):
    """The result of a change of the team, as returned by the requester's tool."""

    TYPE = "board.changed"
    DURABLE = True
    result: JsonObject


class AwaitNodes(MessageBody):
    """Report when these nodes have ended; by default the sub-nodes of `waiter`.

    Worker to coordinator; answered by `board.ended`. Without any node the wait is for a message,
    for at most `seconds`. `is_timer`: the worker's model has asked for that time, which then also
    limits a wait for nodes.
    """

    TYPE = "board.await"
    DURABLE = True
    nodes: tuple[str, ...]
    waiter: NodeId
    seconds: float | None = None
    is_timer: bool = False


class CancelWait(MessageBody):
    """End a wait because a message came first. To the coordinator; `wait` is its message id."""

    TYPE = "board.leave"
    DURABLE = True
    waiter: NodeId
    wait: bytes


class NodesEnded(MessageBody):
    """A wait is over: `nodes` has one row for each awaited node, as in `check_board`.

    `why`: the awaited nodes have ended, its time is over, or nothing else in the run can continue.
    """

    TYPE = "board.ended"
    DURABLE = True
    nodes: tuple[JsonObject, ...]
    why: Literal["ended", "time", "standstill"] = "ended"


class SuggestNode(MessageBody):
    """A suggestion for further work. Worker to its coordinator, which decides."""

    TYPE = "board.suggest"
    DURABLE = True
    node_id: NodeId
    worker_name: str
    suggestion: str
