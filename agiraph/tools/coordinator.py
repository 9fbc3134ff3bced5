"""Leading tools: what only the coordinator does with its team and the run."""

import json
from typing import Any

from pydantic import Field, field_validator

from agiraph.core.models import WorkerType, WorkMode
from agiraph.tools.base import COORDINATORS, Names, Tool, ToolParams, as_json
from agiraph.tools.ports import NewWorker, ToolContext


class SpawnWorkerParams(ToolParams):
    """Parameters of `spawn_worker`."""

    name: str = Field(min_length=1, description="a short name, unique in the team")
    type: WorkerType = Field(
        default="harnessed", description="harnessed: a model that we drive; autonomous: a command"
    )
    mode: WorkMode = Field(
        default="multi_turn",
        description="multi_turn: a loop with tools; single_inference: one model call, no tools",
    )
    model: str | None = Field(default=None, description="provider/model; else the run's own")
    agent_command: str | None = Field(default=None, description="the command of an autonomous one")
    role: str | None = Field(default=None, description="what it is: researcher, writer ...")
    tools: Names | None = Field(default=None, description="the tools it may use; else all")
    memory: str = Field(default="", description="what it should know before it starts")

    @field_validator("memory", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Take as text the object that `memory` may be, too."""
        if isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False, indent=2)
        return "" if value is None else value

    @field_validator("tools", mode="wrap")
    @classmethod
    def _none_is_all(cls, value: Any, handler: Any) -> Any:
        return None if value is None else handler(value)


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
    """Create a worker; return {"worker_id", "name"}, and {"warnings"} of an outside agent."""
    worker = NewWorker(
        name=params.name,
        type=params.type,
        model=params.model,
        agent_command=params.agent_command,
        role=params.role,
        tools=params.tools,
        memory=params.memory,
        mode=params.mode,
    )
    return as_json(await context.team.spawn_worker(context.call_id, worker))


async def assign_worker(context: ToolContext, params: AssignWorkerParams) -> str:
    """Give a node to a worker; return {"node_id", "worker_id", "status"}."""
    return as_json(
        await context.team.assign_worker(context.call_id, params.node_id, params.worker_id)
    )


async def retire_worker(context: ToolContext, params: RetireWorkerParams) -> str:
    """Let an idle worker go; return {"worker_id", "status"}."""
    return as_json(await context.team.retire_worker(context.call_id, params.worker_id))


async def cancel_node(context: ToolContext, params: CancelNodeParams) -> str:
    """Cancel a node that has not ended; return {"node_id", "status"}."""
    return as_json(await context.team.cancel_node(context.call_id, params.node_id))


async def finish(context: ToolContext, params: FinishParams) -> str:
    """End the run with its final answer."""
    await context.team.finish(context.call_id, params.summary)
    return "The run is finished; your summary stands in _output.md."


SPAWN_WORKER = Tool(
    name="spawn_worker",
    description="Create a worker with a name, a role and what it should know.",
    params=SpawnWorkerParams,
    run=spawn_worker,
    idempotent=True,
    kinds=COORDINATORS,
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
    description="Let an idle worker go for good.",
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
