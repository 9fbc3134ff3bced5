"""Every message body that travels the bus, one frozen record each, named by its TYPE.

Types are grouped by prefix. DURABLE ones are journaled by the router before it acknowledges them
and are delivered to the next incarnation if this one dies; passing ones may be dropped under
pressure. `docs/protocol.md` lists them all; a test holds that list against MESSAGES. The `link.`
types belong to the transport and are not here.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from agiraph.ids import Address, AgentId, NodeId, QuestionId, RunId
from agiraph.models import Assignment, DeliveryMode, Event
from agiraph.record import Record
from agiraph.turns import ModelRequest, ModelResponse, Usage

JsonObject = dict[str, Any]


class Body(Record):
    """Base of all message bodies."""

    TYPE: ClassVar[str]
    DURABLE: ClassVar[bool] = False


# --- control: the supervisor and the human steer a process ---------------------------------------


class Stop(Body):
    """Finish now: cancel what is in flight, record it, say bye, exit 0. Supervisor to any actor."""

    TYPE = "control.stop"
    reason: str = ""


class Pause(Body):
    """Stand still at the next yield point until resumed. Human gateway to coordinator or worker."""

    TYPE = "control.pause"
    DURABLE = True


class Resume(Body):
    """Go on after a pause. Human gateway to coordinator or worker."""

    TYPE = "control.resume"
    DURABLE = True


class Ok(Body):
    """It is done. The answer to a request that has nothing else to say."""

    TYPE = "control.ok"
    DURABLE = True


class RefusedReply(Body):
    """It cannot be done as asked. The answer to any request; `reason` is fit to show."""

    TYPE = "control.refused"
    DURABLE = True
    reason: str
    kind: str = "Refused"


class Addresses(Body):
    """The addresses that exist. Supervisor to router, whenever its table of children changes."""

    TYPE = "control.addresses"
    known: tuple[str, ...]


class AskDepths(Body):
    """How full are the mailboxes? Human gateway to router; answered by `control.depths`."""

    TYPE = "control.ask_depths"


class Depths(Body):
    """Messages and bytes waiting per address. Router to the one who asked."""

    TYPE = "control.depths"
    depths: dict[str, tuple[int, int]]


# --- child: the life of processes ----------------------------------------------------------------

ChildState = Literal[
    "starting", "ready", "backing_off", "stopping", "stopped", "failed", "parked", "exited"
]


class ChildSpec(Record):
    """What the supervisor needs to start a child and to know what to do when it ends.

    `args` is handed to the actor as it is. `owner` is told when the child is given up.
    More than `intensity` restarts within `period_seconds` mark the child failed.
    """

    address: Address
    kind: str
    args: JsonObject = Field(default_factory=dict)
    restart: Literal["permanent", "transient", "temporary"] = "transient"
    owner: Address | None = None
    intensity: int = 5
    period_seconds: float = 60.0
    ready_within_seconds: float = 15.0
    shutdown_seconds: float = 2.0


class ChildInfo(Record):
    """One row of the process table."""

    address: Address
    kind: str
    state: ChildState
    pid: int | None = None
    incarnation: int = 0
    restarts: int = 0
    started_at: float | None = None
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    cause: str | None = None


class StartChild(Body):
    """Start this child, or confirm that it runs. To the supervisor; answered by `child.started`."""

    TYPE = "child.start"
    DURABLE = True
    spec: ChildSpec


class ChildStarted(Body):
    """The child's process exists. Supervisor to the one who asked."""

    TYPE = "child.started"
    DURABLE = True
    address: Address
    incarnation: int


class ChildReady(Body):
    """I have read my state and take messages. Every actor to the supervisor."""

    TYPE = "child.ready"
    address: Address
    incarnation: int
    pid: int


class StopChild(Body):
    """Stop, kill or restart a child (`forget`: stop it and drop its address). To the supervisor."""

    TYPE = "child.stop"
    DURABLE = True
    address: Address
    how: Literal["stop", "kill", "restart", "forget"] = "stop"
    reason: str = ""


class ChildStopped(Body):
    """It is down (or, for `restart`, up again). Supervisor to the one who asked."""

    TYPE = "child.stopped"
    DURABLE = True
    address: Address
    state: ChildState


class ListChildren(Body):
    """Which processes are there? To the supervisor; answered by `child.table`."""

    TYPE = "child.list"


class ChildTable(Body):
    """All children, the supervisor itself and the spawner among them."""

    TYPE = "child.table"
    children: tuple[ChildInfo, ...]


class ChildFailed(Body):
    """A child was given up after too many restarts. Supervisor to the child's owner."""

    TYPE = "child.failed"
    DURABLE = True
    address: Address
    incarnation: int
    cause: str


class Attach(Body):
    """A person wants a console. Human gateway to supervisor; answered by `child.ticket`."""

    TYPE = "child.attach"


class Ticket(Body):
    """What a console needs to say hello to the router."""

    TYPE = "child.ticket"
    address: Address
    incarnation: int
    ticket: bytes
    router_url: str


# --- text: entities talk -------------------------------------------------------------------------


class Text(Body):
    """Free text between entities. `from_name` is how the receiver shows the sender."""

    TYPE = "text"
    DURABLE = True
    content: str
    from_name: str
    to_name: str = ""
    mode: DeliveryMode = "steer"


# --- board: what workers ask of the coordinator --------------------------------------------------


class ViewBoard(Body):
    """Show me the board. To a coordinator; answered by `board.state`."""

    TYPE = "board.view"


class BoardState(Body):
    """The board as `check_board` shows it, and the roster by name."""

    TYPE = "board.state"
    state: JsonObject


class CreateNode(Body):
    """Put a node on the board. Worker to its coordinator; answered by `board.created`."""

    TYPE = "board.create"
    DURABLE = True
    cause: str
    task: str
    name: str | None = None
    role: str | None = None
    refs: dict[str, str] = Field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    worker: str | None = None
    parent_node: NodeId | None = None


class NodeCreatedReply(Body):
    """The node stands on the board. Coordinator to the one who asked."""

    TYPE = "board.created"
    DURABLE = True
    node_id: NodeId
    name: str
    status: str


class AwaitNodes(Body):
    """Tell me when these nodes have ended. Worker to coordinator; answered by `board.ended`."""

    TYPE = "board.await"
    DURABLE = True
    nodes: tuple[str, ...]
    waiter: NodeId


class NodesEnded(Body):
    """The awaited nodes have ended: one row each, as in `check_board`."""

    TYPE = "board.ended"
    DURABLE = True
    nodes: tuple[JsonObject, ...]


class Suggest(Body):
    """A follow-up that a worker suggests. Worker to its coordinator, who decides."""

    TYPE = "board.suggest"
    DURABLE = True
    node_id: NodeId
    worker_name: str
    suggestion: str


# --- node: the life of a piece of work -----------------------------------------------------------


class AssignNode(Body):
    """Work on this. Coordinator to worker."""

    TYPE = "node.assign"
    DURABLE = True
    agent: AgentId
    run: RunId
    assignment: Assignment


class NodeStarted(Body):
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
    """The node's files stand in `published/`. Worker to coordinator; answered by `control.ok`."""

    TYPE = "node.publish"
    DURABLE = True
    node_id: NodeId
    attempt: int
    summary: str
    files: tuple[str, ...]


class FailNode(Body):
    """I cannot do this node. Worker to coordinator; answered by `control.ok`."""

    TYPE = "node.fail"
    DURABLE = True
    node_id: NodeId
    attempt: int
    reason: str


class CancelNode(Body):
    """Put this node down, its result is no longer wanted. Coordinator to worker."""

    TYPE = "node.cancel"
    DURABLE = True
    node_id: NodeId
    reason: str = ""


# --- model: calls through the broker -------------------------------------------------------------


class CallModel(Body):
    """Ask a model. Any entity to the broker; answered by `model.answer` or `model.failed`."""

    TYPE = "model.call"
    request: ModelRequest


class ModelAnswer(Body):
    """The model's whole answer."""

    TYPE = "model.answer"
    response: ModelResponse


class ModelFailed(Body):
    """The call failed for good (after the broker's own retries); `kind` is a FailureKind."""

    TYPE = "model.failed"
    kind: str
    message: str
    retryable: bool = False


class ModelDelta(Body):
    """A piece of text as it streams in. Broker to the asker; `call` is the request's message id.

    `restarted`: forget what streamed before, the call broke off and is tried again.
    """

    TYPE = "model.delta"
    call: bytes
    text: str
    restarted: bool = False


class CancelCall(Body):
    """Drop a call in flight. The asker to the broker; `call` is the request's message id."""

    TYPE = "model.cancel"
    call: bytes


class ListModels(Body):
    """Which providers and models are usable, and why not? To the broker."""

    TYPE = "model.list"


class ModelCatalog(Body):
    """A row a provider: name, usable, reason, default model, base_url; and the default."""

    TYPE = "model.catalog"
    providers: tuple[JsonObject, ...]
    default: str


class CheckModel(Body):
    """Could this model be called? To the broker; answered by `control.ok` or `control.refused`."""

    TYPE = "model.check"
    model: str


class AskUsage(Body):
    """What was spent, per entity of this run (all if empty)? To the broker."""

    TYPE = "model.ask_usage"
    run_id: str = ""


class UsageTable(Body):
    """Usage by entity address. Broker to the one who asked."""

    TYPE = "model.usage"
    by_entity: dict[str, Usage]
    total: Usage


# --- question: the human is asked ----------------------------------------------------------------


class AskQuestion(Body):
    """Ask the human. Entity to the human gateway; later answered by `question.answered`."""

    TYPE = "question.ask"
    DURABLE = True
    question_id: QuestionId
    agent: AgentId
    from_name: str
    question: str
    channel: str = "cli"


class QuestionAnswered(Body):
    """The human's answer. Human gateway to the one who asked."""

    TYPE = "question.answered"
    DURABLE = True
    question_id: QuestionId
    answer: str
    by: str


# --- event and status ----------------------------------------------------------------------------


class ReportEvents(Body):
    """Things that happened, in order. Any actor to the recorder, who writes them down."""

    TYPE = "event.report"
    DURABLE = True
    events: tuple[Event, ...]


class EventAppended(Body):
    """An event stands in the log. Recorder to the human gateway, which shows it to followers."""

    TYPE = "event.appended"
    event: Event


class Status(Body):
    """What an entity is doing now; the latest wins. Coordinator or worker to human gateway."""

    TYPE = "event.status"
    state: str
    step: str = ""
    node_id: NodeId | None = None


MESSAGES: tuple[type[Body], ...] = (
    *(Stop, Pause, Resume, Ok, RefusedReply, Addresses, AskDepths, Depths),
    *(StartChild, ChildStarted, ChildReady, StopChild, ChildStopped, ListChildren, ChildTable),
    *(ChildFailed, Attach, Ticket),
    Text,
    *(ViewBoard, BoardState, CreateNode, NodeCreatedReply, AwaitNodes, NodesEnded, Suggest),
    *(AssignNode, NodeStarted, NodeCheckpoint, PublishNode, FailNode, CancelNode),
    *(CallModel, ModelAnswer, ModelFailed, ModelDelta, CancelCall, ListModels, ModelCatalog),
    *(CheckModel, AskUsage, UsageTable),
    *(AskQuestion, QuestionAnswered),
    *(ReportEvents, EventAppended, Status),
)
