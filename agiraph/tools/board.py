"""Board tools: create nodes, wait for them, view the board, report on the own node."""

from dataclasses import asdict
from typing import Annotated

from pydantic import BeforeValidator, Field

from agiraph.core.node_changes import NodeRequest
from agiraph.core.results import normal_checks
from agiraph.core.specs import Names, StageTerms, as_object
from agiraph.core.turns import JsonObject
from agiraph.tools.base import WORKERS, NoParams, ToolParams, tool
from agiraph.tools.checking import require_syntax
from agiraph.tools.ports import ToolContext, WaitOutcome

LONGEST_WAIT_SECONDS = 3600


class CreateWorkNodeParams(NodeRequest, ToolParams):
    wait: bool = Field(default=False, description="whether to wait until the node has ended")

    def terms(self) -> StageTerms | None:
        """Return None: only coordinators give the terms of a stage that a node opens."""
        return None


class WaitParams(ToolParams):
    nodes: Names = Field(
        default=(), description="names or ids of nodes; default: all nodes that you created"
    )
    timeout_seconds: float | None = Field(
        default=None,
        ge=1,
        le=LONGEST_WAIT_SECONDS,
        description="the longest wait (default: 600 without nodes, otherwise no limit)",
    )


@tool("Create a node on the board; a worker does it.", kinds=WORKERS, idempotent=True)
async def create_work_node(context: ToolContext, params: CreateWorkNodeParams) -> JsonObject:
    """Create a node and return {"node_id", "name", "status"}; with `wait`, also its end."""
    await require_syntax(normal_checks(params.checks))
    created = await context.team.create_node(context.call_id, params, params.terms())
    if not params.wait:
        return created
    outcome = await context.team.wait(context.call_id, (created["node_id"],))
    return created | _shown(outcome)


@tool("Wait until nodes have ended or a message arrives.", idempotent=True)
async def wait(context: ToolContext, params: WaitParams) -> JsonObject:
    """Return {"nodes", "interrupted_by_message"} after nodes have ended or a message has arrived.

    {"note"} says why the wait ended otherwise.
    """
    return _shown(await context.team.wait(context.call_id, params.nodes, params.timeout_seconds))


def _shown(outcome: WaitOutcome) -> JsonObject:
    shown = asdict(outcome)
    if not outcome.note:
        del shown["note"]
    return shown


@tool("List all nodes and workers with their states.", idempotent=True)
async def check_board(context: ToolContext, params: NoParams) -> JsonObject:
    return await context.team.view_board()


class CheckpointParams(ToolParams):
    summary: str = Field(min_length=1, description="your results, with the facts")


class PublishParams(CheckpointParams):
    missing: str = Field(
        default="",
        description="the undone part, and how to continue; leave out if the result is complete",
    )
    learned: str = Field(
        default="",
        description="for you: lessons for your next nodes; added to your memory.md",
    )
    insight: str = Field(
        default="",
        description="for others: a fact or method that is useful after this run, with its source",
    )
    result: Annotated[JsonObject | None, BeforeValidator(as_object)] = Field(
        default=None, description="only if your node has a JSON Schema: its result.json"
    )


class SuggestNextParams(ToolParams):
    suggestion: str = Field(min_length=1, description="the work, and its reason")


@tool(
    "Finish your node: its files become published/, and others can use them.",
    kinds=WORKERS,
    is_essential=True,
    idempotent=True,
)
async def publish(context: ToolContext, params: PublishParams) -> JsonObject:
    """Complete the node; return {"published": [file, ...]}, and the checks that passed."""
    return await context.team.publish(
        context.call_id, params.summary, params.missing, params.insight, result=params.result
    )


@tool("Run the checks of your node without publishing.", kinds=WORKERS, idempotent=True)
async def run_checks(context: ToolContext, params: NoParams) -> str:
    """Return the result of each check, with the output of those that failed."""
    return await context.team.run_checks(context.call_id)


@tool(
    "Report a milestone of your node to the coordinator.",
    kinds=WORKERS,
    idempotent=True,
)
async def checkpoint(context: ToolContext, params: CheckpointParams) -> str:
    """Report a milestone to the coordinator."""
    await context.team.checkpoint(context.call_id, params.summary)
    return "The coordinator has your checkpoint. Continue."


@tool(
    "Suggest follow-up work to the coordinator.",
    kinds=WORKERS,
    idempotent=True,
)
async def suggest_next(context: ToolContext, params: SuggestNextParams) -> str:
    """Send a suggestion to the coordinator, which decides."""
    await context.team.suggest_next(context.call_id, params.suggestion)
    return "The coordinator has your suggestion. Continue with your node."
