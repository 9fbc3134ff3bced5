"""Endpoints: board and workers of an agent's run, by default of its current one."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import At, GatewayDep, AgentDep, RunDep
from actors.gateway.state.boards import board_view, node_detail, node_named, worker_view
from agiraph.core.ids import worker_address
from agiraph.http.api import (
    BoardView,
    NodeDetailView,
    WorkerView,
)

router = APIRouter(tags=["work"])


@router.get("/agents/{agent}/board")
async def board(agent: AgentDep, run: RunDep, gateway: GatewayDep, at: At = None) -> BoardView:
    """Show all nodes and stages, as they are or as they were `at` an earlier `seq`."""
    if at is not None:
        return board_view(gateway.boards.at(run, at), at)
    return gateway.boards.view(run)


@router.get("/agents/{agent}/board/{node}")
async def node(agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep) -> NodeDetailView:
    """Show one node by id or name."""
    state = gateway.boards.of(run)
    return node_detail(state, node_named(state, node))


@router.get("/agents/{agent}/workers")
async def workers(agent: AgentDep, run: RunDep, gateway: GatewayDep) -> list[WorkerView]:
    """List the workers and what each does right now."""
    state = gateway.boards.of(run)
    return [
        worker_view(
            state, agent.id, worker, gateway.statuses.step_of(worker_address(agent.id, worker.id))
        )
        for worker in state.workers.values()
    ]
