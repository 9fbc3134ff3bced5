"""Specs: the terms of a run, a node, a worker and a stage; each field is declared once, here.

Tool parameters, requests, messages, commands, plans, journal records and the views of the HTTP API
inherit or contain these classes, so a new field is available everywhere. The descriptions appear in
the schemas of tools, which models read, and of the HTTP API.
"""

import json
import re
from typing import Annotated, Any, ClassVar, Final, Literal

import pydantic
from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field

from agiraph.core.expressions import check_expression
from agiraph.core.record import Record
from agiraph.core.results import check_schema
from agiraph.core.roles import RoleTeamTerms
from agiraph.core.turns import json_in
from agiraph.core.worker_models import limit_of, read_worker_models

WorkerType = Literal["harnessed", "autonomous"]
Mode = Literal["finite", "infinite"]
"""Whether a run ends when its goal is reached, or works toward it in cycles."""

WorkMode = Literal["multi_turn", "single_inference"]
"""How a node is done: in a loop with tools, or with a single model call without tools."""

PlanningMode = Literal["dynamic", "static", "hybrid"]
"""When the nodes of a run are planned: during the run by its coordinator; all before the first
step; or a skeleton before it, with further planning below each manager."""

Leader = Literal["model", "plan"]
"""The leader of a run: its coordinator's model, or its plan, which is executed unchanged."""

WhenSpent = Literal["ask", "stop"]
"""The reaction of an entity without remaining budget: ask the human for more, or fail."""

NotesOf = Literal["project", "all", "none"]
"""The projects whose notes from earlier work are included in the prompts of a run."""

CheckpointPolicy = Literal["all_must_complete", "majority", "any"]
Author = Literal["model", "person"]
"""The author of an `agent_command`."""

MOST_LABELS: Final = 8
LONGEST_LABEL: Final = 32
MOST_RETRIES: Final = 10
LONGEST_DELAY: Final = 24 * 3600.0
LABEL: Final = re.compile(r"\w[\w.:/-]*")

# --- how models and people write values ---------------------------------------------------------


def _as_names(value: object) -> object:
    """Return a text, or a text with a JSON list, which models also write, as a list of names."""
    if not isinstance(value, str):
        return () if value is None else value
    read = json_in(value)
    return tuple(read) if isinstance(read, list) else (value,) if value.strip() else ()


def _as_tools(value: object) -> object:
    return None if value is None else _as_names(value)


def _as_refs(value: object) -> object:
    return {} if value is None else value


def _as_memory(value: object) -> object:
    """Return JSON text for a `memory` that a model wrote as an object; other values unchanged."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, indent=2)
    return "" if value is None else value


def _as_policy(value: object) -> object:
    """Return the current name of a policy for the older name of the strictest one."""
    return "all_must_complete" if value == "all_must_checkpoint" else value


def _as_type(value: object) -> object:
    """Return the current name of a worker type for its older name."""
    return {"api": "harnessed", "agentic": "autonomous"}.get(str(value), value)


def as_object(value: object) -> object:
    """Return the object in a JSON text that a model wrote in place of an object."""
    return json_in(value) if isinstance(value, str) else value


def _check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels without duplicates; raises ValueError for too many or invalid labels."""
    unique = tuple(dict.fromkeys(label.strip() for label in labels))
    if len(unique) > MOST_LABELS:
        raise ValueError(f"a node may have {MOST_LABELS} labels, not {len(unique)}")
    for label in unique:
        if len(label) > LONGEST_LABEL or not LABEL.fullmatch(label):
            raise ValueError(
                f"{label[:60]!r} cannot be a label (possible: 1 to {LONGEST_LABEL} letters, "
                "digits and . _ : / -, a letter or digit first)"
            )
    return unique


def _check_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if schema is None else check_schema(schema)


Names = Annotated[tuple[str, ...], BeforeValidator(_as_names)]
Labels = Annotated[Names, AfterValidator(_check_labels)]
Refs = Annotated[dict[str, str], BeforeValidator(_as_refs)]
AnyWorkerType = Annotated[WorkerType, BeforeValidator(_as_type)]
Policy = Annotated[CheckpointPolicy, BeforeValidator(_as_policy)]
ToolNames = Annotated[tuple[str, ...] | None, BeforeValidator(_as_tools)]
OutputSchema = Annotated[
    dict[str, Any] | None, BeforeValidator(as_object), AfterValidator(_check_schema)
]
MemoryText = Annotated[str, BeforeValidator(_as_memory)]

TIMEOUT: Final = AliasChoices("timeout_seconds", "timeout")
CAN_LEAD: Final = "whether the worker may hire workers and open stages below its own nodes"
HOST: Final = "the name of its machine; default: any suitable machine"
HOST_LABELS: Final = "required labels of its machine: gpu, has:docker ..."
ABOUT_MACHINES: Final = ("host", "host_labels")
"""Fields that have an effect only in a home with several machines."""

RunSchema = Annotated[dict[str, Any], AfterValidator(check_schema)]
"""A JSON Schema for the answer of a run; {}: any JSON value."""

# --- runs ----------------------------------------------------------------------------------------


class RunSpec(Record):
    """The terms of a run, as requested. None: from the settings, or from the previous run.

    A plan is written, and can be approved or be the only result, only in a run whose `planning` is
    static or hybrid. A run that is led by its `plan` has no leading model: its result is the result
    of the plan's last nodes, or with `summary` a text about them by the coordinator's model.
    """

    goal: str = Field(min_length=1)
    mode: Mode | None = Field(default=None, description="infinite: it works in cycles")
    model: str | None = Field(default=None, description="provider/model of the coordinator")
    worker_model: str | None = Field(
        default=None, description="model of the workers, or models, `any` or `<=DOLLARS`"
    )
    input: str | None = Field(default=None, description="the absolute path of its input folder")
    plan: str | None = Field(default=None, description="the text of a plan file")
    budget_usd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="the limit for the cost of its model calls, in US dollars",
    )
    budget_tokens: int | None = Field(default=None, ge=1, description="the limit for its tokens")
    when_spent: WhenSpent | None = Field(
        default=None,
        description="at the end of its budget; ask: ask its human for more; stop: the run fails",
    )
    record: bool = Field(
        default=False, description="whether its model calls are recorded, to be replayed"
    )
    output_schema: RunSchema | None = Field(
        default=None,
        description="a JSON Schema; its answer must be one JSON value that fits ({}: any)",
    )
    mcp_servers: tuple[str, ...] = Field(
        default=(), description="servers of tools, by name, that all its entities may use"
    )
    cycle_seconds: float | None = Field(
        default=None,
        ge=1,
        allow_inf_nan=False,
        description="in infinite mode: the time from the end of a cycle to the next one",
    )
    planning: PlanningMode | None = Field(
        default=None,
        description="when its nodes are planned; dynamic: during the run; static: all before "
        "the first step; hybrid: only the parts before the first step",
    )
    approve_plan: bool = Field(default=False, description="whether its human must approve its plan")
    plan_only: bool = Field(default=False, description="whether it ends with its plan")
    leader: Leader = Field(
        default="model",
        description="model: the coordinator's model leads; plan: the plan is carried out unchanged",
    )
    summary: bool = Field(
        default=False,
        description="with the leader `plan`: whether the coordinator's model writes the result",
    )
    notes: NotesOf | None = Field(
        default=None, description="the projects whose notes of earlier work enter its prompts"
    )


class ResolvedRunSpec(RunSpec):
    """The terms of a run that has begun, with its team at the start.

    `worker_model` is the usual model of its workers, `worker_models` the text by which the human
    limits their models ('': no limit). `trigger` is the trigger that started it.
    """

    mode: Mode = "finite"
    model: str
    worker_model: str
    worker_models: str = ""
    roles: RoleTeamTerms | None = None
    trigger: str = ""

    @property
    def spec(self) -> "ResolvedRunSpec":
        """Return only the terms, without the other fields of a subclass such as Agent."""
        terms = {name: getattr(self, name) for name in ResolvedRunSpec.model_fields}
        return ResolvedRunSpec.model_construct(**terms)

    def followed_by(self, asked: RunSpec) -> "ResolvedRunSpec":
        """Return the terms of the next run; `asked` replaces mode, models, input and cycles.

        Workers use a model that is given for the coordinator alone.
        """
        stay = {
            "mode": self.mode,
            "model": self.model,
            "input": self.input,
            "cycle_seconds": self.cycle_seconds,
        }
        missing = {name: value for name, value in stay.items() if not getattr(asked, name)}
        last = "" if asked.model else self.worker_models
        limit = last if asked.worker_model is None else limit_of(asked.worker_model)
        [model, *_] = read_worker_models(limit).names or (asked.model or self.worker_model,)
        workers = {"worker_model": model, "worker_models": limit}
        return ResolvedRunSpec.model_validate(dict(asked) | missing | workers)


# --- nodes and workers ---------------------------------------------------------------------------


class NodeTerms(Record):
    """The terms for the work on a node.

    `type`, `agent_command` and `model` describe the worker that does it (None: any worker).
    `max_iterations` and `timeout_seconds` replace the limits of the stage's contract. `tools`
    restricts the tools of its worker; `output_schema` is a JSON Schema for its `result.json`. The
    board repeats a failed node up to `retries` times.
    """

    task: str = Field(min_length=1, description="the work, in full: the worker sees only this")
    role: str | None = Field(default=None, description="the kind of worker: researcher, writer ...")
    mode: WorkMode | None = Field(
        default=None,
        description="single_inference: one model call without tools; its answer is the output",
    )
    type: WorkerType | None = Field(
        default=None,
        description="harnessed: a model in Agiraph's loop; autonomous: an external agent",
    )
    agent_command: str | None = Field(
        default=None, description="the name of an external agent: claude-code, codex ..."
    )
    model: str | None = Field(
        default=None, description="provider/model; default: the worker's model"
    )
    checks: Names = Field(
        default=(),
        description="shell commands that must succeed in its folder before it is published",
    )
    labels: Labels = Field(default=(), description="short words to find the node: backend, urgent")
    max_iterations: int | None = Field(
        default=None, ge=1, description="the limit for model turns; default: the limit of the stage"
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        description="the time limit; default: the limit of the stage",
        validation_alias=TIMEOUT,
    )
    tools: ToolNames = Field(
        default=None, description="the tools for this node; default: its worker's tools"
    )
    output_schema: OutputSchema = Field(
        default=None, description="a JSON Schema; the node must publish a result.json that fits"
    )
    retries: int = Field(
        default=0, ge=0, le=MOST_RETRIES, description="how often the node is repeated if it fails"
    )
    retry_delay_seconds: float = Field(
        default=0, ge=0, le=LONGEST_DELAY, description="the delay before each repetition"
    )


class PlannedTerms(NodeTerms):
    """The terms of a plan's node. `optional`: the run can be completed without it."""

    optional: bool = False


class ForEach(Record):
    """The list whose items a node is repeated for: in the result of the node `node`.

    `items` is an expression on this result, `item` the name of the placeholder in the task.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True
    )

    node: str = Field(min_length=1)
    items: Annotated[str, AfterValidator(check_expression)] = Field(
        default="result", validation_alias=AliasChoices("in", "items")
    )
    item: str = Field(
        default="item", pattern=r"^[A-Za-z_]\w{0,31}$", validation_alias=AliasChoices("as", "item")
    )


class NodeSpec(NodeTerms):
    """A node as requested; other nodes and its worker are given by name or id."""

    name: str | None = Field(default=None, description="a short name, unique in the run")
    refs: Refs = Field(
        default_factory=dict, description="a node, or node/published/file, by ref name"
    )
    dependencies: Names = Field(
        default=(),
        description="nodes, by name or id, that must be completed first",
        validation_alias=AliasChoices("dependencies", "deps"),
    )
    worker: str | None = Field(
        default=None, description="the worker's name; new: hire one; default: any idle worker"
    )


class WorkerSpec(Record):
    """A worker as requested. `model` None: the model of the run; `tools` None: all tools."""

    name: str = Field(min_length=1, description="a short name, unique in the team")
    type: WorkerType = Field(
        default="harnessed",
        description="harnessed: a model in Agiraph's loop; autonomous: an external agent",
    )
    mode: WorkMode = Field(
        default="multi_turn",
        description="multi_turn: a loop with tools; single_inference: one model call, no tools",
    )
    model: str | None = Field(default=None, description="provider/model; default: the run's model")
    agent_command: str | None = Field(
        default=None,
        description="the name of an external agent, if it is autonomous",
    )
    role: str | None = Field(default=None, description="the kind of worker: researcher, writer ...")
    tools: ToolNames = Field(default=None, description="the tools of the worker; default: all")
    memory: MemoryText = Field(default="", description="the worker's knowledge at the start")
    can_lead: bool = Field(default=False, description=CAN_LEAD)
    host: str | None = Field(default=None, description=HOST)
    host_labels: Names = Field(default=(), description=HOST_LABELS)


class AskedAgent(Record):
    """A request for an external agent, as the worker `name` with this role.

    `model` is the model for the agent, None for the model of the run.
    """

    command: str
    author: Author
    name: str
    role: str = "worker"
    model: str | None = None


# --- stages --------------------------------------------------------------------------------------


class ContractTerms(Record):
    """The requested terms of a stage's contract; None keeps the value of the run.

    `max_stages` limits the run from this stage on; a stage of a lead cannot have it.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    max_iterations_per_node: int | None = Field(
        default=None, ge=1, description="model turns a worker may take on one node"
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        description="the time limit of the stage; then unfinished nodes are cancelled",
        validation_alias=TIMEOUT,
    )
    checkpoint_policy: Policy | None = Field(
        default=None,
        description="when the stage is complete: all nodes ended, a majority or any completed",
    )
    max_stages: int | None = Field(
        default=None, ge=1, description="the limit for stages of the run, including this stage"
    )


class StageText(Record):
    """The texts about a stage."""

    name: str | None = Field(default=None, description="a short name: Research, Synthesis ...")
    goal: str = Field(default="", description="the result of the stage")
    brief: str = Field(
        default="", description="the text that every worker of the stage gets with its task"
    )


class StageTerms(ContractTerms, StageText):
    """The requested terms of a stage that a node will open."""


class RoleSpec(NodeTerms):
    """One worker of a stage and its node in the stage.

    `name` is the worker: a worker on the team continues, any other is hired. `role` is its title
    and `task` its prompt. `dependencies` and values of `refs` may name roles of the same stage.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True
    )

    name: str = Field(
        min_length=1, description="the worker; a name on the team continues, a new name is hired"
    )
    task: str = Field(
        min_length=1,
        description="its work in this stage, in full: the task of its node",
        validation_alias=AliasChoices("prompt", "task"),
    )
    role: str | None = Field(
        default=None,
        description="the kind of worker: Market Analyst, writer ...",
        validation_alias=AliasChoices("title", "role"),
    )
    type: AnyWorkerType | None = Field(
        default=None,
        description="harnessed: a model in Agiraph's loop; autonomous: an external agent",
        validation_alias=AliasChoices("type", "node_type"),
    )
    agent_command: str | None = Field(
        default=None,
        description="the name of an external agent, if it is autonomous",
        validation_alias=AliasChoices("agent_command", "agent"),
    )
    tools: ToolNames = Field(default=None, description="the tools of the worker; default: all")
    memory: MemoryText = Field(default="", description="the knowledge of a new worker at the start")
    can_lead: bool = Field(default=False, description=CAN_LEAD)
    host: str | None = Field(default=None, description=HOST)
    host_labels: Names = Field(default=(), description=HOST_LABELS)
    node: str | None = Field(default=None, description="the name of its node; default: NAME-STAGE")
    refs: Refs = Field(
        default_factory=dict, description="a node, a role of this stage, or its file, by ref name"
    )
    dependencies: Names = Field(
        default=(),
        description="nodes, or roles of this stage, that must be completed first",
        validation_alias=AliasChoices("dependencies", "deps"),
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        """Accept a role that has only an `id`; drop keys that the scopes determine themselves."""
        value = as_object(value)
        if not isinstance(value, dict):
            return value
        dropped = ("id", "workspace_reads", "workspace_writes")
        rest = {key: given for key, given in value.items() if key not in dropped}
        named = rest if rest.get("name") or "id" not in value else {**rest, "name": value["id"]}
        if isinstance(named.get("name"), str):
            named = {**named, "name": " ".join(named["name"].split())}
        return named


class StageSpec(StageText):
    """A stage with all its roles."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    roles: tuple[RoleSpec, ...] = Field(
        min_length=1, description="the workers of the stage, each with one node"
    )
    contract: Annotated[ContractTerms | None, BeforeValidator(as_object)] = Field(
        default=None, description="the contract; default: the run's contract"
    )
    retire: Names = Field(
        default=(), description="workers to remove first; their published files stay"
    )

    @property
    def terms(self) -> StageTerms:
        """The requested terms of the stage, without its roles."""
        contract = dict(self.contract) if self.contract else {}
        return StageTerms(**self.shared_with(StageText), **contract)
