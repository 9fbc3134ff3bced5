"""Stage tools: open a stage with its contract or with all its roles, and close it."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from agiraph.core.results import normal_checks
from agiraph.core.specs import StageSpec, StageTerms, as_object
from agiraph.core.turns import JsonObject
from agiraph.tools.base import COORDINATORS, Tool, ToolParams, tool
from agiraph.tools.board import CreateWorkNodeParams, create_work_node
from agiraph.tools.checking import require_syntax
from agiraph.tools.ports import ToolContext

REFLECT = "What of this stage will be of use after this run? Write it with memory_write now."


class StageTermsParams(StageTerms, ToolParams):
    """The terms of a stage that a node opens."""


class LaunchRolesParams(ToolParams):
    stage: Annotated[StageSpec, BeforeValidator(as_object)] = Field(
        description="the stage: name, goal, brief, roles, contract, workers to retire"
    )


class CreateStageNodeParams(CreateWorkNodeParams):
    stage: Annotated[StageTermsParams | None, BeforeValidator(as_object)] = Field(
        default=None,
        description="the name, goal, brief and contract of a stage; only with its first node",
    )

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens, None if none are given."""
        return self.stage


class ReconveneParams(ToolParams):
    assessment: str = Field(min_length=1, description="known facts, and weak or missing parts")
    decided: str = Field(default="", description="your decision and its reason")


@tool(
    "Open a stage with its workers and their nodes in one call.",
    kinds=COORDINATORS,
    for_leads=True,
    idempotent=True,
)
async def launch_roles(context: ToolContext, params: LaunchRolesParams) -> JsonObject:
    for role in params.stage.roles:
        await require_syntax(normal_checks(role.checks))
    return await context.team.launch_roles(context.call_id, params.stage)


@tool(
    "End the current stage with your assessment; the next node opens the next stage.",
    kinds=COORDINATORS,
    idempotent=True,
)
async def reconvene(context: ToolContext, params: ReconveneParams) -> JsonObject:
    """Close the stage; return it: {"stage", "nodes", "went_on_without", "reflect"}."""
    closed = await context.team.reconvene(context.call_id, params.assessment, params.decided)
    return {**closed, "reflect": REFLECT}


create_stage_node: Tool[CreateStageNodeParams] = Tool(
    create_work_node.name,
    create_work_node.description,
    CreateStageNodeParams,
    create_work_node.run,
    idempotent=True,
    kinds=COORDINATORS,
)
