"""The nouns of the domain: agent, run, node, worker, stage, contract, message, event, question."""

from typing import Any, Final, Literal, get_args

from pydantic import Field

from agiraph.core.ids import AgentId, NodeId, QuestionId, RunId, WorkerId
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
"""Who cancelled a node; "": the board, because of a rule or of the end of the run."""

StageStatus = Literal["planning", "running", "reconvening", "completed"]
StageOver = Literal["majority", "any", "timeout"]
"""Why a stage was over before all its nodes had ended: its policy was met, or its time is up."""

DeliveryMode = Literal["steer", "interrupt", "followup"]

SpanKind = Literal["node", "outside", "model", "tool", "wait", "human", "paused", "down"]
"""What a bar of an entity's time line is."""

Urgency = Literal["normal", "urgent"]
QuestionKind = Literal["question", "approval", "budget"]
BUDGET: Final = "budget"
"""A question whether more may be spent."""

QuestionStatus = Literal["open", "answered", "expired", "withdrawn"]
Outcome = Literal["answered", "expired", "withdrawn"]
"""What can become of a question."""

AgentEnding = Literal["completed", "failed", "stopped"]
ENDED_AGENT: Final[frozenset[str]] = frozenset(get_args(AgentEnding))
ENDED_NODE: frozenset[NodeStatus] = frozenset({"completed", "failed", "cancelled", "skipped"})
HELD_NODE: tuple[NodeStatus, ...] = ("assigned", "running", "blocked")
"""A node that a worker has."""


# Of processes that are ready; `busy` does something itself.
ActivityState = Literal[
    "", "idle", "busy", "paused", "waiting_for_human", "waiting_for_nodes", "waiting_for_message",
    "waiting_for_room", "waiting_for_service", "standing_still",
]  # fmt: skip


class EntityState(Record):
    """The state of an entity, which its process writes and sends with each heartbeat.

    `step` describes it for people, `model` is the model that is called, `since` the time at which
    the state began (Unix time, 0 if that is unknown).
    """

    state: ActivityState = ""
    step: str = ""
    model: str = ""
    since: float = 0.0

    def after(self, before: "EntityState", now: float) -> "EntityState":
        """Return this state with the time at which it began, after the state `before`."""
        is_same = (self.state, self.step, self.model) == (before.state, before.step, before.model)
        return self.model_copy(update={"since": before.since if is_same else now})

    def __str__(self) -> str:
        return f"{self.state}: {self.step}" if self.step else ""


class WaitingEntity(Record):
    """One line of a standstill: an entity that waits, for what (`waits`), and since when.

    `entity` is its name, '' for a node that no worker has; `node` is the name of its node, '' for
    the coordinator.
    """

    entity: str
    node: str
    waits: str
    since: float


class Standstill(Record):
    """Nothing in a run can happen by itself any more.

    `notices` counts the notices that its coordinator has been given. `for_human`: the coordinator
    itself waits for the person, who is told instead.
    """

    since: float
    waiting: tuple[WaitingEntity, ...]
    notices: int = 0
    for_human: bool = False


class ServiceOutage(Record):
    """A service that cannot be kept running: the runs that need it are suspended until it can.

    It exited by its own fault `faults` times in close succession, the last time because of `cause`.
    `is_lasting`: it has failed so often that a command does not wait for the run any longer.
    """

    service: str
    faults: int
    cause: str
    is_lasting: bool = False

    @property
    def text(self) -> str:
        """Return the outage in words."""
        return f"the service '{self.service}' cannot be kept running {self._failures}"

    @property
    def awaited(self) -> str:
        """Return the wait of an entity for the service, in words."""
        return f"for the service '{self.service}', which cannot be kept running {self._failures}"

    @property
    def _failures(self) -> str:
        return f"({self.faults} failures in a row, the last: {self.cause})"


class AgentFacts(Record):
    """What is known of an agent, and shown, besides its status.

    `created_by` is the token by which it was created, '' if by none. `reason` is why it failed or
    was stopped; `incomplete` names the nodes of the plan that a completed run did not complete. In
    infinite mode `cycle` is the one that it is in or has ended last, `next_cycle_at` when the next
    one begins while it sleeps. `standstill` is there while nothing in its run can happen by itself.
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
    conversation's journal has it.
    """

    status: AgentStatus = "idle"


class StageContract(Record):
    """What a stage promises: what it and its nodes may take and when it counts as done.

    None: no bound. `timeout_seconds` is the stage's time from its start, `node_timeout_seconds`
    that of each node. `max_compactions_per_node`: how often a worker's conversation may be
    compacted on one node; a context that is full after that is the worker's last turn.
    `max_iterations_per_node` bounds the turns of a model that we drive, `max_calls_per_node` the
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
    """What a stage is to be. From it on the run may have `max_stages` stages in all."""

    name: str
    contract: StageContract = StageContract()
    goal: str = ""
    max_stages: int | None = None


class Stage(StagePlan):
    """A group of nodes that runs in parallel until the team reconvenes.

    planning: its nodes are being created; running: the coordinator waits for them; reconvening:
    it is `over` (its policy was met, or its time is up) and continued without its `stragglers`.
    `cause` is what opened it and `closed_by` what closed it; the same cause, the same stage.
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
    """What a node came to: a summary, and the `files` that stand in its `published/`.

    A result in part names what is `missing`; `bound` is the bound that cut it short, if one did.
    `evidence`: the outcomes of its checks, and hashes of the files. `value` is what its
    `result.json` holds, None if there is none that can be read.
    """

    summary: str
    files: tuple[str, ...] = ()
    missing: str = ""
    bound: str = ""
    evidence: Evidence | None = None
    value: Any = None


class NodeMove(Record):
    """Where the human has a node go: to this worker, to any with this model, or both.

    `cause` is the message that asked for it, `because` the human's reason.
    """

    cause: str
    worker: WorkerId | None = None
    model: str | None = None
    because: str = ""


class WorkNode(PlannedTerms):
    """The workpiece: one unit of work with its own folder of truth.

    `refs` maps a ref name to a path under the run, `nodes/{folder}/published/...`.
    `folder` is the node's directory name, `{name}-{role}-{id}`.
    `cause` is the id of the message or tool call that created it: the same cause, the same node.
    `missing`, `bound` and `evidence` are those of its `NodeResult`, whose files are `published`.
    `left` are the files that stood in `scratch/` when it failed, `details` the last lines of its
    worker's process or of its error. `plan_stage` names the stage of the plan file that it is
    of, and `enough` how many of those are needed, if not all. `cancelled_by` is who cancelled it.
    `trigger` is the one whose firing led to it: its budget holds for the node's calls.
    `failed_before` is why its last attempt ended if it is tried again, `retried_by` the cause of
    that. `move` is where it goes as soon as its
    worker has let go of it. `completed_before` is the last attempt that was completed, if it is
    done once more: what that has published is put aside. Of its `retries` the board has used
    `retried`, and it is not assigned before the time `not_before`.

    `when` maps dependencies to the conditions on which they count, `edges` to whether they do, once
    that is decided. One with `for_each` becomes `copies`, each of which is the `copy_of` it.
    """

    id: NodeId
    name: str
    role: str = "worker"
    folder: str
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
    def has_ended(self) -> bool:
        """Whether nothing more happens to this node, unless it is tried again."""
        return self.status in ENDED_NODE

    def refers_to(self, other: "WorkNode") -> bool:
        """Whether one of its refs leads to what another node publishes."""
        return any(path.split("/")[1:2] == [other.folder] for path in self.refs.values())


class Worker(WorkerSpec):
    """The one who works: identity, model and tools, independent of any node.

    Its directory under `workers/` is called by its id: `{name}-{id}`.
    """

    id: WorkerId
    role: str = "worker"
    identity: str = ""
    status: WorkerStatus = "idle"
    node: NodeId | None = None
    cause: str = ""


class WorktreeOrder(Record):
    """The git worktree that a node works in: on the branch `branch` of the run's `repository` (a
    path), from the commit `base` on. What has been merged is on the branch `result`.
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
    """Who is on a team. Of two rosters of a run the one with the higher `version` is newer."""

    version: int = 0
    members: tuple[TeamMember, ...] = ()


class Assignment(Record):
    """All that a worker needs to start on a node; `worktree` is None if it works in none.

    `stage` and `stage_goal` are those of the node's stage, `context_keys` what stood in the shared
    context when it was assigned. `cycle_began_at` is when the cycle of an infinite run began, else
    0. `today` is the date on which it was given (UTC). `notes` is what earlier work has taught, as
    a section of its prompt (`agiraph.context.relevant`), "" if nothing.
    """

    node: WorkNode
    spec: str
    contract: StageContract
    attempt: int = 1
    team: tuple[str, ...] = ()
    goal: str = ""
    stage: str = ""
    stage_goal: str = ""
    context_keys: tuple[str, ...] = ()
    input_dir: str | None = None
    worktree: WorktreeOrder | None = None
    today: str = ""
    cycle_began_at: float = 0.0
    notes: str = ""
    roster: TeamRoster = TeamRoster()


class Message(Record):
    """Free text from one entity to another, as the message log keeps it."""

    id: str
    from_id: str
    to_id: str
    content: str
    ts: float
    mode: DeliveryMode = "steer"


class Event(Record):
    """Something that happened, for people, logs and triggers. `seq` is its line in events.jsonl.

    `key` makes an event that is reported again after a crash the same event ('': none is).
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
    """An action that needs the human's word: what would be done, and by which rule it is asked.

    `tool` is a tool's name or `stage` or `spend` (or `budget`: more may be spent of it, in the unit
    that `subject` names), `subject` what of it the rule's pattern looks at (a command, a path, an
    address), `remember` the pattern that "allow always" will allow. `shortage` is the identity of
    what is short (`agiraph.core.money.Shortage`), for `spend` how many whole limits of the rule are
    spent. `digest` distinguishes the action from
    every other one, also of the same subject: it follows from the tool and all its arguments.
    `diff` is how a file would change, `arguments` all arguments of the call as JSON if `subject`
    and `diff` do not contain them; both are for people.
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
        """Whether this is the very same action."""
        mine, theirs = ((one.tool, one.subject, one.shortage, one.digest) for one in (self, other))
        return mine == theirs


class QuestionFacts(Record):
    """What was asked, and what became of it.

    `options` are short ready answers. Not answered by `deadline_at`, it is expired, which is no
    answer and no refusal: `default` holds then, if there is one. `about` is an approval's deed.
    `run` is the run that it belongs to, None if its coordinator asked after the end of the run.
    Of an answer it is known who gave it (`answered_by`), when, and over which channel (`_via`).
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
    """Something that an entity asked the human."""

    from_id: str
