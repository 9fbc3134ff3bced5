"""Leading tools: actions of the coordinator on its team, its run and its cycles."""

from pydantic import Field

from agiraph.core.node_changes import NodeChanges
from agiraph.core.results import normal_checks
from agiraph.core.specs import MemoryText, Names, WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.tools.base import COORDINATORS, Duration, ToolParams, tool
from agiraph.tools.checking import require_syntax
from agiraph.tools.ports import ToolContext


class SpawnWorkerParams(WorkerSpec, ToolParams):
    """Parameters of `spawn_worker`."""


class AssignWorkerParams(ToolParams):
    node_id: str = Field(min_length=1, description="the node, by name or id")
    worker_id: str = Field(min_length=1, description="the worker, by name or id")


class UpdateNodeParams(NodeChanges, ToolParams):
    """The node, and what changes."""

    node_id: str = Field(min_length=1, description="the node, by name or id")
    worker: str | None = Field(
        default=None, min_length=1, description="another worker of the team for the node"
    )
    accept: str = Field(
        default="",
        description="accept the node's result although checks fail: the reason, which is recorded",
    )


class RetireWorkerParams(ToolParams):
    worker_id: str = Field(min_length=1, description="the worker, by name or id")


class CancelNodeParams(ToolParams):
    node_id: str = Field(min_length=1, description="the node, by name or id")
    reason: str = Field(
        default="", description="the reason; required for a node of the human's plan"
    )


class FinishParams(ToolParams):
    summary: MemoryText = Field(min_length=1, description="the final answer to the goal, complete")
    files: Names = Field(
        default=(), description="published files to deliver: NODE, or NODE/published/FILE"
    )


class EndCycleParams(ToolParams):
    notes: str = Field(
        min_length=1, description="completed work, and information for the next cycle"
    )
    next_in: Duration | None = Field(
        default=None, description="the time until the next cycle: 30s, 5m, 2h"
    )


@tool(
    "Create a worker with a name, a role and background knowledge.",
    kinds=COORDINATORS,
    for_leads=True,
    idempotent=True,
)
async def spawn_worker(context: ToolContext, params: SpawnWorkerParams) -> JsonObject:
    return await context.team.spawn_worker(context.call_id, params)


@tool("Give a pending node to a certain worker.", kinds=COORDINATORS, idempotent=True)
async def assign_worker(context: ToolContext, params: AssignWorkerParams) -> JsonObject:
    return await context.team.assign_worker(context.call_id, params.node_id, params.worker_id)


@tool(
    "Change a node that has not ended: its task, checks, limits, refs or worker.",
    kinds=COORDINATORS,
    idempotent=True,
)
async def update_node(context: ToolContext, params: UpdateNodeParams) -> JsonObject:
    """Change a node; return {"node_id", "name", "status", "changed"}."""
    await require_syntax(normal_checks(params.checks or ()))
    changes = NodeChanges.model_construct(**params.shared_with(NodeChanges))
    return await context.team.update_node(
        context.call_id, params.node_id, changes, worker=params.worker, accept=params.accept.strip()
    )


@tool("Remove an idle worker from the team.", kinds=COORDINATORS, idempotent=True)
async def retire_worker(context: ToolContext, params: RetireWorkerParams) -> JsonObject:
    return await context.team.retire_worker(context.call_id, params.worker_id)


@tool("Cancel a node if its result is no longer needed.", kinds=COORDINATORS, idempotent=True)
async def cancel_node(context: ToolContext, params: CancelNodeParams) -> JsonObject:
    return await context.team.cancel_node(context.call_id, params.node_id, params.reason)


@tool(
    "End the run with the final answer to the goal.",
    kinds=COORDINATORS,
    is_essential=True,
    idempotent=True,
)
async def finish(context: ToolContext, params: FinishParams) -> str:
    """End the run with its final answer; return its outcome."""
    return await context.team.finish(context.call_id, params.summary, params.files)


@tool(
    "End this cycle with notes for the next cycle, and sleep until it begins.",
    kinds=COORDINATORS,
    is_essential=True,
    idempotent=True,
)
async def end_cycle(context: ToolContext, params: EndCycleParams) -> JsonObject:
    return await context.team.end_cycle(context.call_id, params.notes, params.next_in)
