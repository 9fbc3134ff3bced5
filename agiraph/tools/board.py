"""Board tools: put work on the board, wait for it, see it."""

from typing import Any

from pydantic import Field, field_validator

from agiraph.board.commands import StageTerms
from agiraph.core.models import WorkMode
from agiraph.core.turns import JsonObject
from agiraph.tools.base import WORKERS, Names, NoParams, Tool, ToolParams, as_json
from agiraph.tools.ports import NewNode, ToolContext, WaitOutcome

CHECKS = "shell commands that must succeed in scratch/ before its result is published"


class CreateWorkNodeParams(ToolParams):
    """Parameters of `create_work_node`."""

    task: str = Field(min_length=1, description="what to do, in full: the worker sees only this")
    name: str | None = Field(default=None, description="a short name, unique in the run")
    role: str | None = Field(default=None, description="the kind of worker: researcher, writer ...")
    refs: dict[str, str] = Field(
        default_factory=dict,
        description="ref name to what it points to: a node, or node/published/file",
    )
    dependencies: Names = Field(
        default=(), description="nodes, by name or id, that must be completed first"
    )
    worker: str | None = Field(default=None, description="who is to do it; else any idle worker")
    mode: WorkMode | None = Field(
        default=None,
        description="single_inference: one model call without tools, its answer is the output",
    )
    checks: Names = Field(default=(), description=CHECKS)
    wait: bool = Field(default=False, description="whether to wait until the node has ended")

    @field_validator("refs", mode="before")
    @classmethod
    def _no_refs(cls, value: Any) -> Any:
        return {} if value is None else value

    def terms(self) -> StageTerms | None:
        """Return the terms of the stage that this node opens: only the coordinator gives them."""
        return None


class WaitParams(ToolParams):
    """Parameters of `wait`."""

    nodes: Names = Field(default=(), description="names or ids; left out: all that you created")


async def create_work_node(context: ToolContext, params: CreateWorkNodeParams) -> str:
    """Create a node and return {"node_id", "name", "status"}; with `wait`, also how it ended."""
    node = NewNode(
        task=params.task,
        name=params.name,
        role=params.role,
        refs=params.refs,
        dependencies=params.dependencies,
        worker=params.worker,
        mode=params.mode,
        stage=params.terms(),
        checks=params.checks,
    )
    created: JsonObject = await context.team.create_node(context.call_id, node)
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
    description="See all nodes and workers and how they stand.",
    params=NoParams,
    run=check_board,
    idempotent=True,
)
