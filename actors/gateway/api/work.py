"""Endpoints: board and workers of an agent's run, by default of its current one."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import At, Door, Named, RunNamed
from actors.gateway.state.boards import board_view, node_detail, node_named, worker_view
from agiraph.core.ids import worker_address
from agiraph.http.api import (
    BoardView,
    NodeDetailView,
    WorkerView,
)

router = APIRouter()


@router.get("/agents/{agent}/board")
async def board(agent: Named, run: RunNamed, door: Door, at: At = None) -> BoardView:
    """Show all nodes and stages, as they are or as they were `at` an earlier `seq`."""
    if at is not None:
        return board_view(door.boards.at(run, at), at)
    return door.boards.view(run)


@router.get("/agents/{agent}/board/{node}")
async def node(agent: Named, run: RunNamed, node: str, door: Door) -> NodeDetailView:
    """Show one node by id or name."""
    state = door.boards.of(run)
    return node_detail(state, node_named(state, node))


@router.get("/agents/{agent}/workers")
async def workers(agent: Named, run: RunNamed, door: Door) -> list[WorkerView]:
    """List the workers and what each does right now."""
    state = door.boards.of(run)
    return [
        worker_view(
            state, agent.id, worker, door.statuses.step_of(worker_address(agent.id, worker.id))
        )
        for worker in state.workers.values()
    ]
