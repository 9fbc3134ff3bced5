"""What the HTTP API takes and gives: one frozen record per request and per answer.

The gateway (`actors/human`) and the client (`agiraph.client`) both speak these and nothing else.
Every error is `{"detail": text}`. Where JSON says `from`, Python says `sender`. Lists come as JSON
arrays; what can grow without end comes in pages with a cursor: pass `next` as `after` to go on.
"""

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from agiraph.errors import AgiraphError, Unavailable
from agiraph.ids import AgentId, NodeId, QuestionId, RunId, WorkerId
from agiraph.models import DeliveryMode, Event, Mode
from agiraph.record import Record
from agiraph.triggers.records import MissedPolicy, TriggerStatus, TriggerType
from agiraph.turns import Usage

JsonObject = dict[str, Any]

EntityAct = Literal["stop", "kill", "restart", "pause", "resume"]
ENTITY_ACTS: tuple[EntityAct, ...] = ("stop", "kill", "restart", "pause", "resume")


class NotReachable(Unavailable):
    """No gateway answers there: no supervisor runs on that home, or it is just restarting."""


class ApiError(AgiraphError):
    """The gateway refused: `status` is the HTTP status, `detail` (also the text) says why."""

    def __init__(self, status: int, detail: str) -> None:
        """Keep the status and the reason."""
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Request(Record):
    """Base of all requests: an unknown field is a mistake that the caller should hear of."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class View(Record):
    """Base of all answers; fields may be filled by their Python name or their JSON name."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


# --- requests ------------------------------------------------------------------------------------


class RunRequest(Request):
    """What any run is asked for. Models are `provider/name`; `input` is an absolute path.

    `cycle_seconds` is for infinite mode: from the end of a cycle to the next one.
    `plan` is the text of a plan file. `run` is an id for the run (as `agiraph.ids.new_run_id` makes
    them): asked again with it, it is the same run, so a caller who got no answer may ask again.
    """

    goal: str = Field(min_length=1)
    model: str | None = None
    worker_model: str | None = None
    mode: Mode | None = None
    input: str | None = None
    plan: str | None = None
    budget_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    cycle_seconds: float | None = Field(default=None, ge=1, allow_inf_nan=False)
    run: str | None = Field(default=None, pattern=r"^\d{8}-\d{6}-[0-9a-f]{6,32}$")


class NewRun(RunRequest):
    """POST /agents/{a}/runs: another goal for an agent whose run has ended.

    Models, mode and input folder stay as they were unless they are named; a budget is this run's.
    """


class CreateAgent(RunRequest):
    """POST /agents. `tools` overrides the default tool set."""

    mode: Mode = "finite"
    name: str | None = Field(default=None, min_length=1, max_length=64)
    tools: tuple[str, ...] | None = None

    @field_validator("name")
    @classmethod
    def _is_speakable(cls, name: str | None) -> str | None:
        if name is not None and (not name.isprintable() or "/" in name):
            raise ValueError("must be printable and hold no '/'")
        return name


class SendText(Request):
    """POST /agents/{a}/send. `to` is a worker's name or id, `coordinator` (default) or `*`."""

    message: str = Field(min_length=1)
    to: str | None = None
    mode: DeliveryMode = "steer"


class Nudge(Request):
    """POST /agents/{a}/nudge: an instruction for the coordinator at its next yield point."""

    message: str = Field(min_length=1)


class Respond(Request):
    """POST /agents/{a}/respond. Without `question_id`: the only open question of that agent."""

    response: str = Field(min_length=1)
    question_id: QuestionId | None = None


class MemoryQuery(Request):
    """POST /agents/{a}/memory/search: words that the notes may hold."""

    query: str = Field(min_length=1, max_length=2000)


class Answer(Request):
    """POST /questions/{id}/respond."""

    response: str = Field(min_length=1)


class NewTrigger(Request):
    """POST /agents/{a}/triggers. `action` is a text that the agent is told, or an object of `type`
    and `payload`; `config` is the type's own, as docs/triggers.md has them.
    """

    type: TriggerType
    config: JsonObject = Field(default_factory=dict)
    action: str | JsonObject
    name: str = ""


# --- agents --------------------------------------------------------------------------------------


class AgentSummary(View):
    """An agent as listings show it; `result` is the final answer once the run has ended.

    `last_event` is the cursor of the last event of its log, where `agiraph.api` hands one out: in
    the answer to a request that begins a run.
    """

    id: AgentId
    name: str
    goal: str
    mode: Mode
    model: str
    worker_model: str
    status: str
    run: RunId | None = None
    input_dir: str | None = None
    result: str | None = None
    reason: str | None = None
    last_event: int = 0
    current_stage: str | None = None
    node_count: int = 0
    worker_count: int = 0
    open_questions: int = 0
    cycle: int = 0
    next_cycle_at: float | None = None
    created_at: float
    updated_at: float


class RunView(View):
    """One run of an agent: its goal and what came of it."""

    id: RunId
    goal: str
    status: str
    mode: Mode
    model: str
    worker_model: str
    result: str | None = None
    reason: str | None = None
    started_at: float
    ended_at: float | None = None
    is_current: bool = False


class Archived(View):
    """DELETE /agents/{a}: where the agent's folder went."""

    id: AgentId
    path: str


# --- conversation and questions ------------------------------------------------------------------


class Sent(View):
    """POST send and nudge: the router has journaled one message to each of `to` (their names)."""

    id: str
    to: tuple[str, ...]
    ts: float


class ConversationMessage(View):
    """One entry of the thread between a person and an agent's entities.

    `seq` is its cursor. `kind`: text, nudge, question, answer, or notice (from the machinery).
    """

    seq: int
    id: str
    agent: str
    sender: str = Field(alias="from")
    to: str
    content: str
    ts: float
    kind: str = "text"
    question_id: str | None = None


class ConversationPage(View):
    """A stretch of the thread, oldest first; `next` is the cursor for the following one."""

    messages: tuple[ConversationMessage, ...]
    next: int


class QuestionView(View):
    """A question to the human and what became of it. `sender` is the asker's name."""

    id: QuestionId
    agent: AgentId
    agent_name: str = ""
    sender: str = Field(alias="from")
    question: str
    channel: str = "cli"
    asked_at: float
    status: Literal["open", "answered", "withdrawn"] = "open"
    answer: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None


class DeadLetterView(View):
    """A message that ended its receiver again and again and was set aside."""

    id: str
    agent: str
    to: str
    sender: str = Field(alias="from")
    type: str
    cause: str
    at: float
    size: int


class MessageView(View):
    """One text between two entities, as the run's message log keeps it (names, not addresses)."""

    seq: int
    id: str
    sender: str = Field(alias="from")
    to: str
    content: str
    ts: float


# --- triggers ------------------------------------------------------------------------------------


class TriggerView(View):
    """A trigger: what it waits for (`type`, `config`), what it does (`action`), how it stands.

    `skipped` counts what did not fire: quiet heartbeats, missed times, events over the rate.
    """

    id: str
    agent: AgentId
    name: str
    type: TriggerType
    config: JsonObject
    action: JsonObject
    status: TriggerStatus
    reason: str = ""
    missed: MissedPolicy = "once"
    next_due: float | None = None
    last_due: float | None = None
    last_fired_at: float | None = None
    fired: int = 0
    skipped: int = 0
    created_at: float
    created_by: str = ""


# --- board and workers ---------------------------------------------------------------------------


class NodeView(View):
    """A node of the board. `assigned_worker` is a name; `result_preview` 200 characters at most."""

    id: NodeId
    name: str
    role: str
    task: str
    status: str
    assigned_worker: str | None = None
    dependencies: tuple[str, ...] = ()
    parent_node: str | None = None
    children: tuple[str, ...] = ()
    stage: int = 0
    attempt: int = 0
    summary: str | None = None
    reason: str | None = None
    published: tuple[str, ...] = ()
    folder: str = ""
    result_preview: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None


class NodeDetail(NodeView):
    """A node with its references and the path of its folder under the run, for `workspace`."""

    refs: dict[str, str] = Field(default_factory=dict)
    path: str = ""


class StageView(View):
    """A stage of the run."""

    name: str
    nodes: tuple[str, ...]
    status: str
    assessment: str | None = None


class BoardView(View):
    """All nodes and stages of the current run; `current_stage` is an index, -1 before the first."""

    run: RunId | None = None
    nodes: tuple[NodeView, ...] = ()
    stages: tuple[StageView, ...] = ()
    current_stage: int = -1


class WorkerView(View):
    """A worker. `node` is the name of the node it holds; `step` what it does right now."""

    id: WorkerId
    name: str
    type: str
    role: str
    model: str | None = None
    status: str
    node: str | None = None
    node_id: NodeId | None = None
    address: str
    step: str = ""


# --- files ---------------------------------------------------------------------------------------


class FileEntry(View):
    """One row of a folder; `path` is under the run's folder. Links are shown, never followed."""

    path: str
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    modified_at: float = 0.0


class Folder(View):
    """GET workspace on a folder: its entries, folders first, by name."""

    path: str
    entries: tuple[FileEntry, ...]
    is_truncated: bool = False


class FileContent(View):
    """GET workspace on a file: the bytes from `offset`, as text, or base64 if they are no UTF-8.

    `is_truncated` says that the file goes on; read on at `offset + returned`.
    """

    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    size: int
    offset: int = 0
    returned: int
    is_truncated: bool = False


# --- memory --------------------------------------------------------------------------------------


class MemoryEntry(View):
    """A file of an agent's memory; `path` as the agent names it: `MEMORY.md`, `knowledge/x.md`."""

    path: str
    size: int
    modified_at: float


class MemoryHit(View):
    """A section of a memory that fits a query; a higher `score` fits better."""

    path: str
    heading: str
    score: float
    text: str


# --- events --------------------------------------------------------------------------------------


class EventPage(View):
    """A stretch of the event log, oldest first; `next` is the `seq` to pass as `after`."""

    events: tuple[Event, ...]
    next: int


# --- processes, models, money --------------------------------------------------------------------


class EntityRow(View):
    """A row of `ps`. `cpu` is a percentage of one core; `mailbox` counts waiting messages."""

    address: str
    kind: str
    name: str
    state: str
    pid: int | None = None
    incarnation: int = 0
    host: str = ""
    cpu: float = 0.0
    memory_bytes: int = 0
    mailbox: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    step: str = ""
    restarts: int = 0
    cause: str | None = None


class ActedOn(View):
    """One entity that was acted on, and the state that it is in now."""

    address: str
    state: str


class Acted(View):
    """POST /agents/{a}/pause|resume|stop and /entities/{address}/{act}: every entity concerned."""

    act: EntityAct
    entities: tuple[ActedOn, ...]


class ModelsView(View):
    """GET /models: a row a provider (name, usable, reason, default_model, base_url)."""

    providers: tuple[JsonObject, ...]
    default: str


class UsageView(View):
    """GET /usage: tokens and money by entity address, and in all."""

    by_entity: dict[str, Usage]
    total: Usage


class ConsoleTicket(View):
    """POST /consoles: what a console needs to say hello to the router; `ticket` is hexadecimal."""

    address: str
    incarnation: int
    ticket: str
    router_url: str


class Health(View):
    """GET /health."""

    status: Literal["ok"] = "ok"
    version: str
    home: str
    pid: int
    agents: int
    open_questions: int
