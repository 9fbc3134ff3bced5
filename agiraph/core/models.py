"""The main records: agent, run, node, worker, stage, contract, message, event, question."""

from typing import Any, Final, Literal, get_args

from pydantic import Field

from agiraph.core.ids import AgentId, NodeId, QuestionId, RunId, WorkerId
from agiraph.core.node_changes import NodeMove, NodeUpdate
from agiraph.core.persistent_map import PersistentMap
from agiraph.core.record import Record, UnixTime
from agiraph.core.results import Evidence
from agiraph.core.specs import (
    CheckpointPolicy,
    ForEach,
    Mode,
    PlannedTerms,
    ResolvedRunSpec,
    WorkerSpec,
    WorkMode,
)

AgentStatus = Literal[
    "idle",
    "working",
    "waiting_for_human",
    "standing_still",
    "paused",
    "completed",
    "failed",
    "stopped",
]
RunStatus = Literal["running", "completed", "failed", "stopped"]
NodeStatus = Literal[
    "pending", "assigned", "running", "blocked", "completed", "failed", "cancelled", "skipped"
]
WorkerStatus = Literal[
    "idle",
    "busy",
    "waiting_for_human",
    "waiting_for_nodes",
    "waiting_for_message",
    "paused",
    "parked",
    "stopped",
]
CancelledBy = Literal["", "coordinator", "human"]
"""Who cancelled a node; "": the board, by a rule or at the end of the run."""

StageStatus = Literal["planning", "running", "reconvening", "completed"]
StageOver = Literal["majority", "any", "timeout"]
"""Why a stage ended before all its nodes: its policy was met, or its timeout passed."""

DeliveryMode = Literal["steer", "interrupt", "followup"]

SpanKind = Literal["node", "outside", "model", "tool", "wait", "human", "paused", "down"]
"""The kind of a bar on an entity's timeline."""

Urgency = Literal["normal", "urgent"]
QuestionKind = Literal["question", "approval", "budget"]
BUDGET: Final = "budget"
"""A question whether more may be spent."""

QuestionStatus = Literal["open", "answered", "expired", "withdrawn"]
Outcome = Literal["answered", "expired", "withdrawn"]
"""The possible outcomes of a question."""

AgentEnding = Literal["completed", "failed", "stopped"]
ENDED_AGENT: Final[frozenset[str]] = frozenset(get_args(AgentEnding))
ENDED_NODE: frozenset[NodeStatus] = frozenset({"completed", "failed", "cancelled", "skipped"})
HELD_NODE: tuple[NodeStatus, ...] = ("assigned", "running", "blocked")
"""The statuses of a node that has a worker."""


# For processes that are ready; `busy` is executing its own work.
ActivityState = Literal[
    "", "idle", "busy", "paused", "waiting_for_human", "waiting_for_nodes", "waiting_for_message",
    "waiting_for_room", "waiting_for_service", "standing_still",
]  # fmt: skip


class EntityState(Record):
    """The state of an entity, which its process records and sends with each heartbeat.

    `step` describes it for people, `model` is the model that is called, `since` the time at which
    the state began (Unix time, 0 if unknown).
    """

    state: ActivityState = ""
    step: str = ""
    model: str = ""
    since: float = 0.0

    def after(self, before: "EntityState", now: float) -> "EntityState":
        """Return this state with `since`: that of `before` if they are equal, otherwise `now`."""
        is_same = (self.state, self.step, self.model) == (before.state, before.step, before.model)
        return self.model_copy(update={"since": before.since if is_same else now})

    def __str__(self) -> str:
        return f"{self.state}: {self.step}" if self.step else ""


class WaitingEntity(Record):
    """One line of a standstill: a waiting entity, its reason (`waits`), and since when.

    `entity` is its name, '' for a node without a worker; `node` is the name of its node, '' for the
    coordinator.
    """

    entity: str
    node: str
    waits: str
    since: float


class Standstill(Record):
    """A run in which nothing can happen any more without outside help.

    `notices` counts the notices to its coordinator. `for_human`: the coordinator itself waits for
    the person, so the person is notified instead.
    """

    since: float
    waiting: tuple[WaitingEntity, ...]
    notices: int = 0
    for_human: bool = False


class ServiceOutage(Record):
    """A service that cannot be kept running; the runs that need it are suspended.

    It failed `faults` times in quick succession, most recently because of `cause`. `is_lasting`: it
    has failed so often that a command stops waiting for the run.
    """

    service: str
    faults: int
    cause: str
    is_lasting: bool = False

    @property
    def text(self) -> str:
        """Return the outage as text."""
        return f"the service '{self.service}' cannot be kept running {self._failures}"

    @property
    def awaited(self) -> str:
        """Return the text that describes how an entity waits for the service."""
        return f"for the service '{self.service}', which cannot be kept running {self._failures}"

    @property
    def _failures(self) -> str:
        return f"({self.faults} failures in a row, the last: {self.cause})"


class AgentFacts(Record):
    """The data of an agent that is shown besides its status.

    `created_by` is the token that created it, '' if none. `reason` explains a failure or stop;
    `incomplete` names the nodes of the plan that a completed run did not complete. In infinite mode
    `cycle` is the current or last cycle, and `next_cycle_at` the start of the next one while it
    sleeps. `standstill` is set while its run cannot continue without outside help.
    """

    id: AgentId
    name: str
    goal: str
    mode: Mode = "finite"
    model: str
    worker_model: str
    run: RunId | None = None
    input: str | None = None
    result: str | None = None
    reason: str | None = None
    incomplete: tuple[str, ...] = ()
    created_by: str = ""
    created_at: float
    updated_at: float
    current_stage: str | None = None
    node_count: int = 0
    nodes_ended: int = 0
    worker_count: int = 0
    cycle: int = 0
    next_cycle_at: float | None = None
    standstill: Standstill | None = None


class Agent(AgentFacts, ResolvedRunSpec):
    """A long-lived conversational entity, with the terms of its current run.

    Its record, from which the broker reads the budgets, is written often and has no `plan`: the
    conversation's journal contains it.
    """

    status: AgentStatus = "idle"


class StageContract(Record):
    """The contract of a stage: its limits, the limits of its nodes, and when it is complete.

    None: unlimited. `timeout_seconds` limits the stage from its start, `node_timeout_seconds` each
    node. `max_compactions_per_node`: how often a worker's conversation can be compacted on one
    node; when the context is full after that, the worker has one last turn.
    `max_iterations_per_node` limits the turns of a model in our loop, `max_calls_per_node` the
    calls of an external agent.
    """

    max_iterations_per_node: int = Field(default=60, ge=1)
    max_tokens_per_node: int | None = Field(default=None, ge=1)
    max_cost_usd_per_node: float | None = Field(default=None, gt=0)
    max_calls_per_node: int | None = Field(default=None, ge=1)
    max_compactions_per_node: int | None = Field(default=None, ge=0)
    node_timeout_seconds: float = Field(default=1800, gt=0)
    timeout_seconds: float | None = Field(default=None, gt=0)
    checkpoint_policy: CheckpointPolicy = "all_must_complete"


class StagePlan(Record):
    """The plan of a stage. From this stage on, the run may have at most `max_stages` stages.

    All its workers get its `brief`.
    """

    name: str
    contract: StageContract = StageContract()
    goal: str = ""
    brief: str = ""
    max_stages: int | None = None


class Stage(StagePlan):
    """A group of nodes that runs in parallel until the team reconvenes.

    planning: its nodes are being created; running: the coordinator waits for them; reconvening: it
    is `over` (its policy was met, or its timeout passed) and continued without its `stragglers`.
    `cause` identifies the event that opened it, `closed_by` the event that closed it; the same
    cause gives the same stage.
    """

    nodes: PersistentMap[NodeId, None] = Field(default_factory=PersistentMap)
    status: StageStatus = "planning"
    assessment: str | None = None
    decided: str = ""
    over: StageOver | None = None
    stragglers: tuple[NodeId, ...] = ()
    started_at: float | None = None
    cause: str = ""
    closed_by: str = ""


class NodeResult(Record):
    """The result of a node: a summary, and the `files` in its `published/`.

    A partial result says in `missing` which work is not done; `bound` is the limit that ended it,
    if any. `evidence`: the results of its checks, and hashes of the files. `value` is the value of
    its `result.json`, None if it is missing or invalid. `insight` is a fact or method that may be
    useful after the run.
    """

    summary: str
    files: tuple[str, ...] = ()
    missing: str = ""
    insight: str = ""
    bound: str = ""
    evidence: Evidence | None = None
    value: Any = None


class WorkNode(PlannedTerms):
    """One unit of work with its own folder.

    `refs` maps a ref name to a path under the run, `nodes/{folder}/published/...`. `cause` is the
    id of the message or tool call that created it: the same cause gives the same node. `missing`,
    `bound` and `evidence` are copied from its `NodeResult`; `published` are its files. `left` are
    the files in `scratch/` when it failed, `details` the last lines of its worker's process or its
    error. `plan_stage` is the name of its stage in the plan file, `enough` how many nodes of the
    stage are needed. `trigger` is the trigger whose firing created it; its budget limits the node's
    calls. `failed_before` is the reason why the last attempt failed, `retried_by` the cause of the
    retry. `move` is its next worker or model, used as soon as its worker has released it; `update`
    counts the changes of its terms. `completed_before` is the last completed attempt, if the node
    is repeated; the results of that attempt are set aside. The board has used `retried` of its
    `retries`, and does not assign it before the time `not_before`. `when` maps dependencies to
    their conditions, `edges` to the results of the conditions. A node with `for_each` has `copies`;
    `copy_of` refers back to it.
    """

    id: NodeId
    name: str
    role: str = "worker"
    status: NodeStatus = "pending"
    dependencies: tuple[NodeId, ...] = ()
    refs: dict[str, str] = Field(default_factory=dict)
    wanted_worker: WorkerId | None = None
    assigned_worker: WorkerId | None = None
    parent_node: NodeId | None = None
    children: tuple[NodeId, ...] = ()
    stage: int = 0
    mode: WorkMode = "multi_turn"
    summary: str | None = None
    reason: str | None = None
    published: tuple[str, ...] = ()
    missing: str = ""
    insight: str = ""
    bound: str = ""
    left: tuple[str, ...] = ()
    details: str = ""
    attempt: int = 0
    cause: str = ""
    plan_stage: str = ""
    enough: CheckpointPolicy = "all_must_complete"
    cancelled_by: CancelledBy = ""
    evidence: Evidence | None = None
    trigger: str = ""
    failed_before: str = ""
    retried_by: str = ""
    move: NodeMove | None = None
    update: NodeUpdate = NodeUpdate()
    completed_before: int = 0
    retried: int = 0
    not_before: float = 0.0
    value: Any = None
    when: dict[NodeId, str] = Field(default_factory=dict)
    edges: dict[NodeId, bool] = Field(default_factory=dict)
    for_each: ForEach | None = None
    copies: tuple[NodeId, ...] = ()
    copy_of: NodeId | None = None

    @property
    def folder(self) -> str:
        """Its directory name below `nodes/`: its name, which is a slug and unique in the run."""
        return self.name

    @property
    def has_ended(self) -> bool:
        """Whether the node has ended; only a retry changes it after that."""
        return self.status in ENDED_NODE

    def refers_to(self, other: "WorkNode") -> bool:
        """Whether one of its refs points to a published file of the other node."""
        return any(path.split("/")[1:2] == [other.folder] for path in self.refs.values())


class Worker(WorkerSpec):
    """A worker: identity, model and tools, independent of any node.

    Its directory under `workers/` is named after its id: `{name}-{id}`.
    """

    id: WorkerId
    role: str = "worker"
    identity: str = ""
    status: WorkerStatus = "idle"
    node: NodeId | None = None
    cause: str = ""


class WorktreeOrder(Record):
    """The git worktree of a node: branch `branch` of the run's `repository` (a path), from `base`.

    `base` is a commit; `result` is the branch with the merged changes.
    """

    repository: str
    branch: str
    base: str
    result: str


class TeamMember(Record):
    """A worker on the team, as others address it."""

    id: WorkerId
    name: str


class TeamRoster(Record):
    """The members of a team. The roster of a run with the highest `version` is the newest."""

    version: int = 0
    members: tuple[TeamMember, ...] = ()


class Assignment(Record):
    """The data that a worker needs to start a node; `worktree` is None if it uses none.

    `ref_files` are the files of each ref with their sizes in bytes. `stage`, `stage_goal` and
    `stage_brief` describe the node's stage. `shared_keys` are the keys of the shared context now.
    `cycle_began_at` is the start of the cycle of an infinite run, else 0. `today` is the date of
    the assignment (UTC). `notes` is a section of its prompt with notes from earlier work
    (`agiraph.knowledge.relevant`), "" if there are none.
    """

    node: WorkNode
    spec: str
    contract: StageContract
    attempt: int = 1
    ref_files: dict[str, dict[str, int]] = Field(default_factory=dict)
    team: tuple[str, ...] = ()
    goal: str = ""
    stage: str = ""
    stage_goal: str = ""
    stage_brief: str = ""
    shared_keys: tuple[str, ...] = ()
    input_dir: str | None = None
    worktree: WorktreeOrder | None = None
    today: str = ""
    cycle_began_at: float = 0.0
    notes: str = ""
    roster: TeamRoster = TeamRoster()


class Message(Record):
    """Free text from one entity to another, as recorded in the message log."""

    id: str
    from_id: str
    to_id: str
    content: str
    ts: float
    mode: DeliveryMode = "steer"


class Event(Record):
    """An event for people, logs and triggers. `seq` is its line number in events.jsonl.

    `key` identifies an event that may be reported again after a crash ('': no key).
    """

    type: str
    agent_id: AgentId
    ts: UnixTime
    entity: str = ""
    run_id: RunId | None = None
    node_id: NodeId | None = None
    data: dict[str, Any] = Field(default_factory=dict)
    seq: int = 0
    key: str = ""


class ProposedAction(Record):
    """An action that needs the human's approval, and the rule that requires it.

    `tool` is a tool name, `stage`, `spend`, or `budget` (to raise it, in the unit that `subject`
    names). `subject` is the part that the rule's pattern is compared with: a command, a path, an
    address. `remember` is the pattern that "allow always" will allow. `shortage` is the identity of
    the shortage (`agiraph.core.money.Shortage`), for `spend` how many multiples of the rule's limit
    are spent. `digest` identifies the action: it is computed from the tool and all its arguments.
    `diff` is the change to a file, `arguments` all arguments as JSON if `subject` and `diff` do not
    contain them; both are for people.
    """

    tool: str
    subject: str = ""
    rule: str = ""
    remember: str = ""
    shortage: str = ""
    digest: str = ""
    diff: str = ""
    arguments: str = ""

    def is_same(self, other: "ProposedAction") -> bool:
        """Whether this is exactly the same action."""
        mine, theirs = ((one.tool, one.subject, one.shortage, one.digest) for one in (self, other))
        return mine == theirs


class QuestionFacts(Record):
    """A question and its outcome.

    `options` are short suggested answers. A question without an answer at `deadline_at` is expired,
    which is neither an answer nor a refusal: `default` is used then, if given. `about` is the
    action that needs approval. `run` is its run, None if its coordinator asked after the end of the
    run. `answered_by` is the person who answered, `answered_at` the time, `answered_via` the
    channel.
    """

    id: QuestionId
    agent: AgentId
    question: str
    asked_at: float
    channel: str = "cli"
    options: tuple[str, ...] = ()
    deadline_at: float | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    kind: QuestionKind = "question"
    about: ProposedAction | None = None
    run: RunId | None = None
    status: QuestionStatus = "open"
    answer: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None
    answered_via: str | None = None


class Question(QuestionFacts):
    """A question from an entity to the human."""

    from_id: str
