"""Board tools: put work on the board, wait for it, see it."""

from pydantic import Field

from agiraph.core.specs import Names, NodeSpec, StageTerms
from agiraph.core.turns import JsonObject
from agiraph.tools.base import WORKERS, NoParams, ToolParams, tool
from agiraph.tools.ports import ToolContext, WaitOutcome


class CreateWorkNodeParams(NodeSpec, ToolParams):
    wait: bool = Field(default=False, description="whether to wait until the node has ended")

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens: only the coordinator gives them."""
        return None


class WaitParams(ToolParams):
    nodes: Names = Field(default=(), description="names or ids; left out: all you created")


@tool("Put a piece of work on the board; a worker picks it up.", kinds=WORKERS)
async def create_work_node(context: ToolContext, params: CreateWorkNodeParams) -> JsonObject:
    """Create a node and return {"node_id", "name", "status"}; with `wait`, also how it ended."""
    created = await context.team.create_node(context.call_id, params, params.terms())
    if not params.wait:
        return created
    outcome = await context.team.wait(context.call_id, (created["node_id"],))
    return created | _waited(outcome)


@tool("Wait until nodes have ended or a message arrives, whichever comes first.")
async def wait(context: ToolContext, params: WaitParams) -> JsonObject:
    """Return {"nodes", "interrupted_by_message"} once nodes have ended or a message is there."""
    return _waited(await context.team.wait(context.call_id, params.nodes))


def _waited(outcome: WaitOutcome) -> JsonObject:
    return {
        "nodes": list(outcome.nodes),
        "interrupted_by_message": outcome.interrupted_by_message,
    }


@tool("See all nodes and workers and their states.")
async def check_board(context: ToolContext, params: NoParams) -> JsonObject:
    """Return {"stage", "nodes": [...], "workers": [...]}."""
    return await context.team.view_board()
