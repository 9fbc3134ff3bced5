"""Board: what workers ask of the coordinator."""

from agiraph.core.ids import NodeId
from agiraph.core.models import TeamRoster
from agiraph.core.specs import NodeSpec, StageSpec, WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.messages.body import Body


class ViewBoard(Body):
    """Show me the board. To a coordinator; answered by `board.state`.

    With `waiter` only the rows of what it waits for: `nodes`, or all that it created.
    """

    TYPE = "board.view"
    nodes: tuple[str, ...] = ()
    waiter: NodeId | None = None


class BoardState(Body):
    """The board as `check_board` shows it, and the roster by name."""

    TYPE = "board.state"
    state: JsonObject


class AskRoster(Body):
    """Who is on the team? Worker to its coordinator; asked, it is answered by `board.roster`.

    Posted, which wakes no coordinator that is parked, it is answered by a message of that type.
    """

    TYPE = "board.ask_roster"


class RosterChanged(Body):
    """The team as it is now. Coordinator to its workers, when it changes or one has asked."""

    TYPE = "board.roster"
    roster: TeamRoster


class CreateNodeMessage(NodeSpec, Body):
    """Put a node on the board. Worker to its coordinator; answered by `board.created`."""

    TYPE = "board.create"
    DURABLE = True
    cause: str
    parent_node: NodeId | None = None


class NodeCreatedReply(Body):
    """The node stands on the board. Coordinator to the one who asked."""

    TYPE = "board.created"
    DURABLE = True
    node_id: NodeId
    name: str
    status: str


class HireWorker(WorkerSpec, Body):
    """Add a worker to the team. Worker that may lead to its coordinator, for the node `holder`.

    Answered by `board.changed`.
    """

    TYPE = "board.hire"
    DURABLE = True
    cause: str
    holder: NodeId


class LaunchTeam(Body):
    """Open a stage below the node `holder`. Worker that may lead to its coordinator.

    Answered by `board.changed`.
    """

    TYPE = "board.launch"
    DURABLE = True
    cause: str
    holder: NodeId
    stage: StageSpec


class TeamChanged(Body):
    """What became of the team, as the tool of the one who asked returns it."""

    TYPE = "board.changed"
    DURABLE = True
    result: JsonObject


class AwaitNodes(Body):
    """Tell me when these nodes have ended. Worker to coordinator; answered by `board.ended`."""

    TYPE = "board.await"
    DURABLE = True
    nodes: tuple[str, ...]
    waiter: NodeId


class CancelWait(Body):
    """I no longer wait: a message came first. Worker to its coordinator; `wait` is the id asked."""

    TYPE = "board.leave"
    DURABLE = True
    waiter: NodeId
    wait: bytes


class NodesEnded(Body):
    """The awaited nodes have ended: one row each, as in `check_board`."""

    TYPE = "board.ended"
    DURABLE = True
    nodes: tuple[JsonObject, ...]


class SuggestNode(Body):
    """A follow-up that a worker suggests. Worker to its coordinator, who decides."""

    TYPE = "board.suggest"
    DURABLE = True
    node_id: NodeId
    worker_name: str
    suggestion: str
