"""Stage tools: open a stage with its contract or with all its roles, and close it."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from agiraph.core.specs import StageSpec, StageTerms, as_object
from agiraph.tools.base import COORDINATORS, Tool, ToolParams, as_json
from agiraph.tools.board import CREATE_WORK_NODE, CreateWorkNodeParams, create_work_node
from agiraph.tools.ports import ToolContext

REFLECT = "What of this stage will be of use after this run? Write it with memory_write now."


class NextStageParams(StageTerms, ToolParams):
    """The terms of a stage that nodes will open."""


class LaunchRolesParams(ToolParams):
    """Parameters of `launch_roles`."""

    stage: Annotated[StageSpec, BeforeValidator(as_object)] = Field(
        description="the stage: its name, its roles, its contract, which workers to retire"
    )


class CreateStageNodeParams(CreateWorkNodeParams):
    """Parameters of the coordinator's `create_work_node`."""

    stage: Annotated[NextStageParams | None, BeforeValidator(as_object)] = Field(
        default=None, description="only with a stage's first node: its name, goal and contract"
    )

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens, None if none are given."""
        return self.stage


class ReconveneParams(ToolParams):
    """Parameters of `reconvene`."""

    assessment: str = Field(min_length=1, description="what is known now, and what is thin")
    decided: str = Field(default="", description="what you decided, and why")
    next_stage: Annotated[NextStageParams | None, BeforeValidator(as_object)] = Field(
        default=None, description="what comes next: name, goal and contract of the next stage"
    )


async def launch_roles(context: ToolContext, params: LaunchRolesParams) -> str:
    """Open a stage; return {"stage", "contract", "nodes": [...], "workers": [...]}."""
    return as_json(await context.team.launch_roles(context.call_id, params.stage))


async def reconvene(context: ToolContext, params: ReconveneParams) -> str:
    """Close the stage; return it: {"stage", "nodes", "went_on_without", "reflect"}."""
    closed = await context.team.reconvene(
        context.call_id, params.assessment, params.decided, params.next_stage
    )
    return as_json({**closed, "reflect": REFLECT})


LAUNCH_ROLES = Tool(
    name="launch_roles",
    description="Open a stage: create or keep its workers and give each its node, in one call.",
    params=LaunchRolesParams,
    run=launch_roles,
    idempotent=True,
    kinds=COORDINATORS,
    for_leads=True,
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
