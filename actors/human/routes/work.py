"""Endpoints: board, workers and files of an agent's run, by default of its current one."""

from fastapi import APIRouter

from actors.human.boards import board_view, node_detail, node_named, worker_view
from actors.human.files import browse
from actors.human.routes.asking import Door, Named, Offset, RunNamed
from agiraph.api import (
    ApiError,
    BoardView,
    FileContent,
    Folder,
    NodeDetail,
    WorkerView,
)
from agiraph.ids import worker_address

router = APIRouter()


@router.get("/agents/{agent}/board")
async def board(agent: Named, run: RunNamed, door: Door) -> BoardView:
    """Show all nodes and stages."""
    return board_view(door.boards.of(run))


@router.get("/agents/{agent}/board/{node}")
async def node(agent: Named, run: RunNamed, node: str, door: Door) -> NodeDetail:
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


@router.get("/agents/{agent}/workspace")
@router.get("/agents/{agent}/workspace/{path:path}")
def workspace(
    agent: Named, run: RunNamed, door: Door, path: str = "", offset: Offset = 0
) -> Folder | FileContent:
    """List a folder of the run, or read a file of it."""
    if run is None:
        raise ApiError(404, f"agent '{agent.name}' has no run yet")
    return browse(run.path, path, offset)
