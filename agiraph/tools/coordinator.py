"""Leading tools: what only the coordinator does with its team and the run."""

from pydantic import Field

from agiraph.core.specs import WorkerSpec
from agiraph.tools.base import COORDINATORS, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext


class SpawnWorkerParams(WorkerSpec, ToolParams):
    """Parameters of `spawn_worker`."""


class AssignWorkerParams(ToolParams):
    """Parameters of `assign_worker`."""

    node_id: str = Field(min_length=1, description="the node, by name or id")
    worker_id: str = Field(min_length=1, description="the worker, by name or id")


class RetireWorkerParams(ToolParams):
    """Parameters of `retire_worker`."""

    worker_id: str = Field(min_length=1, description="the worker, by name or id")


class CancelNodeParams(ToolParams):
    """Parameters of `cancel_node`."""

    node_id: str = Field(min_length=1, description="the node, by name or id")


class FinishParams(ToolParams):
    """Parameters of `finish`."""

    summary: str = Field(min_length=1, description="the final answer to the goal, complete")


async def spawn_worker(context: ToolContext, params: SpawnWorkerParams) -> str:
    """Create a worker; return {"worker_id", "name"}, and {"warnings"} of an external agent."""
    return as_json(await context.team.spawn_worker(context.call_id, params))


async def assign_worker(context: ToolContext, params: AssignWorkerParams) -> str:
    """Give a node to a worker; return {"node_id", "worker_id", "status"}."""
    return as_json(
        await context.team.assign_worker(context.call_id, params.node_id, params.worker_id)
    )


async def retire_worker(context: ToolContext, params: RetireWorkerParams) -> str:
    """Remove an idle worker; return {"worker_id", "status"}."""
    return as_json(await context.team.retire_worker(context.call_id, params.worker_id))


async def cancel_node(context: ToolContext, params: CancelNodeParams) -> str:
    """Cancel a node that has not ended; return {"node_id", "status"}."""
    return as_json(await context.team.cancel_node(context.call_id, params.node_id))


async def finish(context: ToolContext, params: FinishParams) -> str:
    """End the run with its final answer."""
    await context.team.finish(context.call_id, params.summary)
    return "The run is finished; your summary is in _output.md."


SPAWN_WORKER = Tool(
    name="spawn_worker",
    description="Create a worker with a name, a role and what it should know.",
    params=SpawnWorkerParams,
    run=spawn_worker,
    idempotent=True,
    kinds=COORDINATORS,
    for_leads=True,
)
ASSIGN_WORKER = Tool(
    name="assign_worker",
    description="Give a pending node to a certain worker.",
    params=AssignWorkerParams,
    run=assign_worker,
    idempotent=True,
    kinds=COORDINATORS,
)
RETIRE_WORKER = Tool(
    name="retire_worker",
    description="Remove an idle worker from the team.",
    params=RetireWorkerParams,
    run=retire_worker,
    idempotent=True,
    kinds=COORDINATORS,
)
CANCEL_NODE = Tool(
    name="cancel_node",
    description="Cancel a node whose result is no longer wanted.",
    params=CancelNodeParams,
    run=cancel_node,
    idempotent=True,
    kinds=COORDINATORS,
)
FINISH = Tool(
    name="finish",
    description="End the run: the goal is reached and this is the final answer.",
    params=FinishParams,
    run=finish,
    idempotent=True,
    kinds=COORDINATORS,
    is_essential=True,
)
