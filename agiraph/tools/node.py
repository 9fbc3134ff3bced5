"""Node tools: what a worker reports about its node."""

from pydantic import Field

from agiraph.core.turns import JsonObject
from agiraph.tools.base import WORKERS, ToolParams, tool
from agiraph.tools.ports import ToolContext


class CheckpointParams(ToolParams):
    summary: str = Field(min_length=1, description="what you produced or reached, with the facts")


class PublishParams(CheckpointParams):
    missing: str = Field(
        default="",
        description="what is not done, and how to continue; left out: the result is complete",
    )
    learned: str = Field(
        default="",
        description="what you have learned that will help you on your next nodes; for you alone",
    )
    insight: str = Field(
        default="",
        description="a fact or method that the coordinator should remember after this run",
    )


class SuggestNextParams(ToolParams):
    suggestion: str = Field(min_length=1, description="what should be done, and why")


@tool(
    "Finish your node: scratch/ becomes published/, and others can use it.",
    kinds=WORKERS,
    is_essential=True,
)
async def publish(context: ToolContext, params: PublishParams) -> JsonObject:
    """Complete the node; return {"published": [file, ...]}."""
    files = await context.team.publish(
        context.call_id, params.summary, params.missing, params.insight
    )
    return {"published": list(files)}


@tool("Tell the coordinator that you reached a milestone; your node continues.", kinds=WORKERS)
async def checkpoint(context: ToolContext, params: CheckpointParams) -> str:
    """Report a milestone to the coordinator."""
    await context.team.checkpoint(context.call_id, params.summary)
    return "The coordinator has your checkpoint. Continue."


@tool("Suggest follow-up work to the coordinator, which decides about it.", kinds=WORKERS)
async def suggest_next(context: ToolContext, params: SuggestNextParams) -> str:
    """Send a suggestion to the coordinator, which decides."""
    await context.team.suggest_next(context.call_id, params.suggestion)
    return "The coordinator has your suggestion. Continue with your node."
