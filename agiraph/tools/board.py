"""Board tools: put work on the board, wait for it, see it."""

from pydantic import Field

from agiraph.core.specs import Names, NodeSpec, StageTerms
from agiraph.core.turns import JsonObject
from agiraph.tools.base import WORKERS, NoParams, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext, WaitOutcome


class CreateWorkNodeParams(NodeSpec, ToolParams):
    """Parameters of `create_work_node`."""

    wait: bool = Field(default=False, description="whether to wait until the node has ended")

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens: only the coordinator gives them."""
        return None


class WaitParams(ToolParams):
    """Parameters of `wait`."""

    nodes: Names = Field(default=(), description="names or ids; left out: all you created")


async def create_work_node(context: ToolContext, params: CreateWorkNodeParams) -> str:
    """Create a node and return {"node_id", "name", "status"}; with `wait`, also how it ended."""
    created = await context.team.create_node(context.call_id, params, params.terms())
    if not params.wait:
        return as_json(created)
    outcome = await context.team.wait(context.call_id, (created["node_id"],))
    return as_json(created | _waited(outcome))


async def wait(context: ToolContext, params: WaitParams) -> str:
    """Return {"nodes", "interrupted_by_message"} once nodes have ended or a message is there."""
    return as_json(_waited(await context.team.wait(context.call_id, params.nodes)))


def _waited(outcome: WaitOutcome) -> JsonObject:
    return {
        "nodes": list(outcome.nodes),
        "interrupted_by_message": outcome.interrupted_by_message,
    }


async def check_board(context: ToolContext, params: NoParams) -> str:
    """Return {"stage", "nodes": [...], "workers": [...]}."""
    return as_json(await context.team.view_board())


CREATE_WORK_NODE = Tool(
    name="create_work_node",
    description="Put a piece of work on the board; a worker picks it up.",
    params=CreateWorkNodeParams,
    run=create_work_node,
    idempotent=True,
    kinds=WORKERS,
)
WAIT = Tool(
    name="wait",
    description="Wait until nodes have ended or a message arrives, whichever comes first.",
    params=WaitParams,
    run=wait,
    idempotent=True,
)
CHECK_BOARD = Tool(
    name="check_board",
    description="See all nodes and workers and their states.",
    params=NoParams,
    run=check_board,
    idempotent=True,
)
