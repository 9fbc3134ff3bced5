"""Agents, their runs and their processes, as records of the HTTP API."""

from typing import Literal, get_args

from pydantic import Field, field_validator

from agiraph.board.failure_class import FailureClass
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import AgentFacts, ServiceOutage
from agiraph.core.specs import Mode, RunSpec
from agiraph.http.api.base import ApiRequest, ApiView, FieldProblemView
from agiraph.http.api.roles import RoleTeamRequest

EntityAct = Literal["pause", "step", "resume", "interrupt", "restart", "stop", "kill"]
ENTITY_ACTS: tuple[EntityAct, ...] = get_args(EntityAct)


class RunRequest(RunSpec, ApiRequest):
    """The terms of any run.

    With `roles` a team of roles does the work. `run` is the id of the run, in the form of
    `agiraph.core.ids.new_run_id`: a repeated request with the same id begins no second run, so a
    caller without an answer may repeat it.
    """

    roles: RoleTeamRequest | None = None
    run: str | None = Field(default=None, pattern=r"^\d{8}-\d{6}-[0-9a-f]{6,32}$")


class StartRunRequest(RunRequest):
    """POST /agents/{a}/runs: another goal for an agent whose run has ended.

    Models, mode and input folder stay unchanged unless they are named; a budget applies to this
    run.
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
    """POST /agents/check: a request for POST /agents; the goal may still be missing."""

    goal: str = ""


class EstimateView(ApiView):
    """The estimated cost of a run: the least and the most, in tokens and US dollars.

    The most is null if only the least is known, the dollars if a price is unknown. `basis` is the
    data of the estimate, `text` the whole estimate as a sentence.
    """

    tokens: tuple[int, int | None]
    usd: tuple[float | None, float | None]
    basis: str
    text: str


class AgentCheckView(ApiView):
    """POST /agents/check: whether an agent could be created from a request; none was created.

    `problems` prevent it, `warnings` do not; `field` is a field of the request. `name`, `model` and
    `worker_model` are the resulting values, null where they are unknown; `nodes` counts the nodes
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
    """An agent in listings; `result` is the final answer once the run has ended.

    `failure_class` is the machine-readable cause of a failure, `reason` its text. `status` is
    `waiting_for_human` while the coordinator, or the whole team, only waits for answers. `unread`
    counts its messages that the person has not read.

    `last_event` is the cursor of the last event of its log in the answer for a single agent, in the
    overview, and in the answer to a request that begins a run (the last event before it); elsewhere
    0. `tokens` and `cost_usd` are the spending of its current run, workers that have left included,
    in the answer for a single agent and in the overview; elsewhere, and while the broker is away,
    null. `is_estimate`: the service has not counted all of it.

    `doing` and `doing_since` are its coordinator's, as in an `EntityView`; `process` is the state
    of the coordinator's process, null if there is none. `has_roles`: an Agentic Team does the work
    of its current run. `outage` is the service whose repeated failure suspends the run, otherwise
    null: it is also the `reason` then, and the run continues once the service is ready.
    """

    status: str
    failure_class: FailureClass | None = None
    has_roles: bool = False
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
    """One run of an agent: its goal and its outcome.

    `incomplete`, `failure_class` and `has_roles` have the same meaning as in an `AgentView`.
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
    has_roles: bool = False


RunOrder = Literal["newest", "oldest", "longest", "costliest", "name"]


class FoundRunView(RunView):
    """A run of any agent in GET /runs; its `result` is omitted (null).

    `snippet` is the part of its result or its reason that contains the words, '' if they are only
    in the agent's name and the goal. `tokens`, `cost_usd` and `is_estimate` have the same meaning
    as in an `AgentView`, for this run.
    """

    agent: AgentId
    agent_name: str
    snippet: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    is_estimate: bool = False


class RunsPageView(ApiView):
    """GET /runs: the first runs in the requested order, and the number of all matches."""

    runs: tuple[FoundRunView, ...] = ()
    total: int = 0


class DeletedView(ApiView):
    """DELETE /archive/{a}: all files of this agent are deleted. `freed_bytes`: their size.

    `taught` is the number of nodes that it added to the knowledge database and that stay there,
    `forgotten` the number of nodes that were removed with it.
    """

    id: AgentId
    name: str
    freed_bytes: int = 0
    taught: int = 0
    forgotten: int = 0


class ArchivedView(ApiView):
    """DELETE /agents/{a}: the new place of the agent's folder."""

    id: AgentId
    path: str


class EntityView(ApiView):
    """A row of `ps`. `cpu` is a percentage of one core; `mailbox` counts waiting messages.

    `host` is the name of the host that it runs on, or `home`; empty while it has no process. `step`
    is the entity's own description of its activity (`bash: make test`), `doing` a description for
    people that includes its state (`waits for the model`), `doing_since` its beginning.
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
    """One entity that was acted on, and its new state."""

    address: str
    state: str


class SteeredView(ApiView):
    """POST /agents/{a}/pause|resume|stop and /entities/{address}/{act}: every entity concerned."""

    act: EntityAct
    entities: tuple[SteeredEntityView, ...]
