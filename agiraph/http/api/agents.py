"""Agents, their runs and their processes, as the HTTP API takes and shows them."""

from typing import Literal, get_args

from pydantic import Field, field_validator

from agiraph.board.failure_class import FailureClass
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import AgentFacts, ServiceOutage
from agiraph.core.specs import Mode, RunSpec
from agiraph.http.api.base import ApiRequest, ApiView, FieldProblemView
from agiraph.http.api.team import TeamRequest

EntityAct = Literal["pause", "step", "resume", "interrupt", "restart", "stop", "kill"]
ENTITY_ACTS: tuple[EntityAct, ...] = get_args(EntityAct)


class RunRequest(RunSpec, ApiRequest):
    """The terms of any run.

    With a `team` the run is the work of its roles. `run` is the id of the run, in the form of
    `agiraph.core.ids.new_run_id`: a repeated request with the same id begins no second run, so a
    caller without an answer may repeat it.
    """

    team: TeamRequest | None = None
    run: str | None = Field(default=None, pattern=r"^\d{8}-\d{6}-[0-9a-f]{6,32}$")


class StartRunRequest(RunRequest):
    """POST /agents/{a}/runs: another goal for an agent whose run has ended.

    Models, mode and input folder stay as they were unless they are named; a budget is this run's.
    """


class CreateAgentRequest(RunRequest):
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


class CheckAgentRequest(CreateAgentRequest):
    """POST /agents/check: what POST /agents would be asked for; the goal may be missing yet."""

    goal: str = ""


class EstimateView(ApiView):
    """What a run may take: the least and the most, in tokens and US dollars.

    The most is null if only the least is known, the dollars if a price is not. `basis` is what it
    is based on, `text` all of it in words.
    """

    tokens: tuple[int, int | None]
    usd: tuple[float | None, float | None]
    basis: str
    text: str


class AgentCheckView(ApiView):
    """POST /agents/check: whether an agent could be created so; nothing was.

    `problems` keep it from that, `warnings` do not; `field` is that of the request. `name`, `model`
    and `worker_model` are what it would get, null where that cannot be said; `nodes` counts those
    of the plan.
    """

    is_possible: bool
    problems: tuple[FieldProblemView, ...] = ()
    warnings: tuple[FieldProblemView, ...] = ()
    name: str | None = None
    model: str | None = None
    worker_model: str | None = None
    nodes: int | None = None
    estimate: EstimateView | None = None


class AgentView(AgentFacts, ApiView):
    """An agent as listings show it; `result` is the final answer once the run has ended,
    `failure_class` the machine-readable cause of a failure, whose text is the `reason`.

    `status` is `waiting_for_human` while the coordinator, or the whole team, only waits for
    answers. `unread` counts its messages that the person has not read.

    `last_event` is the cursor of the last event of its log where one agent is asked for, in the
    overview, and in the answer to a request that begins a run (the last one before it); elsewhere
    0. `tokens` and `cost_usd` are what its current run has spent, those that are gone included,
    where one agent is asked for and in the overview; elsewhere, and while the broker is away, null.
    `is_estimate`: some of it was not counted by the service.

    `doing` and `doing_since` are its coordinator's, as in an `EntityView`; `process` is the state
    of the coordinator's process, null if there is none. `has_team`: its current run is the work of
    an Agentic Team. `outage` is the service whose repeated failure suspends the run, null if none
    does: then it is the `reason`, too, and the run continues by itself once the service is ready.
    """

    status: str
    failure_class: FailureClass | None = None
    has_team: bool = False
    last_event: int = 0
    open_questions: int = 0
    unread: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    is_estimate: bool = False
    doing: str = ""
    doing_since: float | None = None
    process: str | None = None
    outage: ServiceOutage | None = None


class RunView(ApiView):
    """One run of an agent: its goal and its outcome; `incomplete`, `failure_class` and `has_team`
    as of an `AgentView`.
    """

    id: RunId
    goal: str
    status: str
    mode: Mode
    model: str
    worker_model: str
    result: str | None = None
    reason: str | None = None
    failure_class: FailureClass | None = None
    incomplete: tuple[str, ...] = ()
    started_at: float
    ended_at: float | None = None
    is_current: bool = False
    has_team: bool = False


RunOrder = Literal["newest", "oldest", "longest", "costliest", "name"]


class FoundRunView(RunView):
    """A run of any agent, as GET /runs lists it; `result` is left out (null).

    `snippet` is the part of its result or its reason in which the words were found, '' if they are
    only in the agent's name and the goal. `tokens`, `cost_usd` and `is_estimate` as of an
    `AgentView`, for this run.
    """

    agent: AgentId
    agent_name: str
    snippet: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    is_estimate: bool = False


class RunsPageView(ApiView):
    """GET /runs: the first runs in the order that was asked for, and how many there are in all."""

    runs: tuple[FoundRunView, ...] = ()
    total: int = 0


class DeletedView(ApiView):
    """DELETE /archive/{a}: none of this agent's files is left. `freed_bytes`: what they held.

    `taught` is how many nodes of the context database came from it and stay there, `forgotten` how
    many were removed with it.
    """

    id: AgentId
    name: str
    freed_bytes: int = 0
    taught: int = 0
    forgotten: int = 0


class ArchivedView(ApiView):
    """DELETE /agents/{a}: where the agent's folder went."""

    id: AgentId
    path: str


class EntityView(ApiView):
    """A row of `ps`. `cpu` is a percentage of one core; `mailbox` counts waiting messages.

    `host` is the name of the host that it runs on, or `home`; empty while it has no process.

    `step` is what the entity itself says it does (`bash: make test`), `doing` the same told to
    people, with what its state adds (`waits for the model`), `doing_since` when that began.
    """

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
    is_estimate: bool = False
    step: str = ""
    restarts: int = 0
    cause: str | None = None
    doing: str = ""
    doing_since: float | None = None


class SteeredEntityView(ApiView):
    """One entity that was acted on, and the state that it is in now."""

    address: str
    state: str


class SteeredView(ApiView):
    """POST /agents/{a}/pause|resume|stop and /entities/{address}/{act}: every entity concerned."""

    act: EntityAct
    entities: tuple[SteeredEntityView, ...]
