"""Stage tools: open a stage with its contract or with all its roles, and close it."""

import json
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, model_validator

from agiraph.board.commands import StageRole, StageTerms
from agiraph.core.models import CheckpointPolicy, WorkMode
from agiraph.tools.base import COORDINATORS, Names, Tool, ToolParams, as_json
from agiraph.tools.board import CHECKS, CREATE_WORK_NODE, CreateWorkNodeParams, create_work_node
from agiraph.tools.ports import NewStage, ToolContext

MODE = (
    "multi_turn: a loop with tools; single_inference: one model call without tools, "
    "whose answer is the node's output"
)


def _as_object(value: Any) -> Any:
    """Take an object that a model wrote as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _as_policy(value: Any) -> Any:
    """Take the older name of the strictest policy."""
    return "all_must_complete" if value == "all_must_checkpoint" else value


Policy = Annotated[CheckpointPolicy, BeforeValidator(_as_policy)]


REFLECT = (
    "What of this stage will be of use after this run? Write it with memory_write before you go on."
)


class ContractParams(ToolParams):
    """What a stage promises; what is left out is as the run has it."""

    max_iterations_per_node: int | None = Field(
        default=None, ge=1, description="model turns a worker may take on one node"
    )
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="the stage's time; then it goes on without the rest"
    )
    checkpoint_policy: Policy | None = Field(
        default=None, description="when it goes on: all nodes ended, most or any completed"
    )


class NextStageParams(ContractParams):
    """The terms of a stage that nodes will open."""

    name: str | None = Field(default=None, description="a short name: Research, Synthesis ...")
    goal: str = Field(default="", description="what the stage is to find out or to make")

    def terms(self) -> StageTerms:
        """Return the terms as the board takes them."""
        return StageTerms(**self.model_dump())


class RoleParams(ToolParams):
    """One worker of a stage and what it does there."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str = Field(min_length=1, description="who; a name on the team goes on, others are hired")
    prompt: str = Field(
        min_length=1,
        description="what it does in this stage, in full: its node's task",
        validation_alias=AliasChoices("prompt", "task"),
    )
    title: str | None = Field(
        default=None,
        description="what it is: Market Analyst, writer ...",
        validation_alias=AliasChoices("title", "role"),
    )
    model: str | None = Field(default=None, description="provider/model; else the run's own")
    mode: WorkMode | None = Field(default=None, description=MODE)
    type: Literal["harnessed", "autonomous", "api", "agentic"] = Field(
        default="harnessed",
        description="harnessed: a model that we drive; autonomous: a command",
        validation_alias=AliasChoices("type", "node_type"),
    )
    agent_command: str | None = Field(
        default=None,
        description="the command of an autonomous one",
        validation_alias=AliasChoices("agent_command", "agent"),
    )
    tools: Names | None = Field(default=None, description="the tools it may use; else all")
    memory: str = Field(default="", description="what a new one should know before it starts")
    node: str | None = Field(default=None, description="its node's name; else NAME-STAGE")
    refs: dict[str, str] = Field(
        default_factory=dict, description="ref name to a node or a role of this stage, or its file"
    )
    dependencies: Names = Field(
        default=(), description="nodes, or roles of this stage, that must be completed first"
    )
    checks: Names = Field(default=(), description=CHECKS)

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        """Take a role that has only an `id`, or both; drop what the scopes decide by themselves."""
        value = _as_object(value)
        if not isinstance(value, dict):
            return value
        dropped = ("id", "workspace_reads", "workspace_writes")
        rest = {key: given for key, given in value.items() if key not in dropped}
        return rest if rest.get("name") or "id" not in value else {**rest, "name": value["id"]}

    def role(self) -> StageRole:
        """Return the role as the board takes it."""
        is_autonomous = self.type in ("autonomous", "agentic")
        return StageRole(
            name=" ".join(self.name.split()),
            task=self.prompt,
            title=self.title,
            node=self.node,
            model=self.model,
            mode=self.mode,
            type="autonomous" if is_autonomous else "harnessed",
            agent_command=self.agent_command,
            tools=self.tools,
            memory=self.memory,
            refs=self.refs,
            dependencies=self.dependencies,
            checks=self.checks,
        )


class StageParams(ToolParams):
    """A stage with all its roles."""

    name: str | None = Field(default=None, description="a short name: Research, Synthesis ...")
    goal: str = Field(default="", description="what the stage is to find out or to make")
    roles: tuple[RoleParams, ...] = Field(
        min_length=1, description="who works in it, one node each"
    )
    contract: ContractParams | None = Field(
        default=None, description="what the stage promises; else as the run has it"
    )
    retire: Names = Field(default=(), description="workers to let go first; their outputs stay")

    def new_stage(self) -> NewStage:
        """Return the stage as the team takes it."""
        contract = self.contract or ContractParams()
        return NewStage(
            terms=StageTerms(name=self.name, goal=self.goal, **contract.model_dump()),
            roles=tuple(role.role() for role in self.roles),
            retire=self.retire,
        )


class LaunchRolesParams(ToolParams):
    """Parameters of `launch_roles`."""

    stage: Annotated[StageParams, BeforeValidator(_as_object)] = Field(
        description="the stage: its name, its roles, its contract, whom to let go"
    )


class CreateStageNodeParams(CreateWorkNodeParams):
    """Parameters of the coordinator's `create_work_node`."""

    stage: Annotated[NextStageParams | None, BeforeValidator(_as_object)] = Field(
        default=None, description="only with a stage's first node: its name, goal and contract"
    )

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens, None if none are given."""
        return self.stage.terms() if self.stage else None


class ReconveneParams(ToolParams):
    """Parameters of `reconvene`."""

    assessment: str = Field(min_length=1, description="what is known now, and what is thin")
    decided: str = Field(default="", description="what you decided, and why")
    next_stage: Annotated[NextStageParams | None, BeforeValidator(_as_object)] = Field(
        default=None, description="what comes next: name, goal and contract of the next stage"
    )


async def launch_roles(context: ToolContext, params: LaunchRolesParams) -> str:
    """Open a stage; return {"stage", "contract", "nodes": [...], "workers": [...]}."""
    stage = params.stage.new_stage()
    return as_json(await context.team.launch_roles(context.call_id, stage))


async def reconvene(context: ToolContext, params: ReconveneParams) -> str:
    """Close the stage; return it: {"stage", "nodes", "went_on_without", "reflect"}."""
    terms = params.next_stage.terms() if params.next_stage else None
    closed = await context.team.reconvene(context.call_id, params.assessment, params.decided, terms)
    return as_json({**closed, "reflect": REFLECT})


LAUNCH_ROLES = Tool(
    name="launch_roles",
    description="Open a stage: hire or keep its workers and give each its node, in one call.",
    params=LaunchRolesParams,
    run=launch_roles,
    idempotent=True,
    kinds=COORDINATORS,
)
CREATE_STAGE_NODE = Tool(
    name=CREATE_WORK_NODE.name,
    description=CREATE_WORK_NODE.description,
    params=CreateStageNodeParams,
    run=create_work_node,
    idempotent=True,
    kinds=COORDINATORS,
)
RECONVENE = Tool(
    name="reconvene",
    description="End the current stage with your assessment; the next node opens the next stage.",
    params=ReconveneParams,
    run=reconvene,
    idempotent=True,
    kinds=COORDINATORS,
)
