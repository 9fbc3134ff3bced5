"""Endpoints: the board, the workers and the files of an agent's current run."""

from fastapi import APIRouter

from actors.human.boards import board_view, node_detail, node_named, worker_view
from actors.human.files import browse
from actors.human.routes.asking import Door, Named, Offset
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
async def board(agent: Named, door: Door) -> BoardView:
    """Show all nodes and stages."""
    return board_view(door.boards.of(door.agents.run_of(agent)))


@router.get("/agents/{agent}/board/{node}")
async def node(agent: Named, node: str, door: Door) -> NodeDetail:
    """Show one node by id or name."""
    state = door.boards.of(door.agents.run_of(agent))
    return node_detail(state, node_named(state, node))


@router.get("/agents/{agent}/workers")
async def workers(agent: Named, door: Door) -> list[WorkerView]:
    """List the workers and what each does right now."""
    state = door.boards.of(door.agents.run_of(agent))
    return [
        worker_view(
            state, agent.id, worker, door.statuses.step_of(worker_address(agent.id, worker.id))
        )
        for worker in state.workers.values()
    ]


@router.get("/agents/{agent}/workspace")
@router.get("/agents/{agent}/workspace/{path:path}")
def workspace(agent: Named, door: Door, path: str = "", offset: Offset = 0) -> Folder | FileContent:
    """List a folder of the run, or read a file of it."""
    run = door.agents.run_of(agent)
    if run is None:
        raise ApiError(404, f"agent '{agent.name}' has no run yet")
    return browse(run.path, path, offset)
