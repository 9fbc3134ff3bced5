"""Node tools: what a worker reports about its node."""

from pydantic import Field

from agiraph.tools.base import WORKERS, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext


class CheckpointParams(ToolParams):
    """Parameters of `checkpoint`."""

    summary: str = Field(min_length=1, description="what you produced or reached, with the facts")


class PublishParams(CheckpointParams):
    """Parameters of `publish`."""

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
    """Parameters of `suggest_next`."""

    suggestion: str = Field(min_length=1, description="what should be done, and why")


async def publish(context: ToolContext, params: PublishParams) -> str:
    """Complete the node; return {"published": [file, ...]}."""
    files = await context.team.publish(
        context.call_id, params.summary, params.missing, params.insight
    )
    return as_json({"published": list(files)})


async def checkpoint(context: ToolContext, params: CheckpointParams) -> str:
    """Report a milestone to the coordinator."""
    await context.team.checkpoint(context.call_id, params.summary)
    return "The coordinator has your checkpoint. Continue."


async def suggest_next(context: ToolContext, params: SuggestNextParams) -> str:
    """Send a suggestion to the coordinator, which decides."""
    await context.team.suggest_next(context.call_id, params.suggestion)
    return "The coordinator has your suggestion. Continue with your node."


PUBLISH = Tool(
    name="publish",
    description="Finish your node: scratch/ becomes published/, and others can use it.",
    params=PublishParams,
    run=publish,
    idempotent=True,
    kinds=WORKERS,
    is_essential=True,
)
CHECKPOINT = Tool(
    name="checkpoint",
    description="Tell the coordinator that you reached a milestone; your node continues.",
    params=CheckpointParams,
    run=checkpoint,
    idempotent=True,
    kinds=WORKERS,
)
SUGGEST_NEXT = Tool(
    name="suggest_next",
    description="Suggest follow-up work to the coordinator, which decides about it.",
    params=SuggestNextParams,
    run=suggest_next,
    idempotent=True,
    kinds=WORKERS,
)
