"""Board, nodes and workers of an agent's run, by default of its current one."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import After, AgentDep, At, GatewayDep, Limit, RunDep
from actors.gateway.api.files import find_node_of, run_begun
from actors.gateway.auth.scopes import READ
from actors.gateway.file_browser import browse
from actors.gateway.state.boards import board_view, node_detail, node_named, worker_view
from actors.recorder.event_log import EventLog
from agiraph.core.ids import worker_address
from agiraph.core.models import WorkNode
from agiraph.http.api import (
    ApiError,
    BoardView,
    EventPageView,
    FileContentView,
    NodeDetailView,
    RefView,
    WorkerView,
)
from agiraph.storage.home import RunHome

router = APIRouter()


@router.get("/agents/{agent}/board/{node}/refs", dependencies=[READ], tags=["files"])
def refs(agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep) -> list[RefView]:
    """List what a node is given to read: results of other nodes, by the names it knows them by."""
    home = run_begun(agent, run)
    return ref_views(home, find_node_of(gateway, home, node))


@router.get("/agents/{agent}/board/{node}/log", dependencies=[READ], tags=["files"])
def log(
    agent: AgentDep,
    run: RunDep,
    node: str,
    gateway: GatewayDep,
    after: After = 0,
    limit: Limit = 1000,
) -> EventPageView:
    """Page through what a node's worker did, step by step."""
    home = run_begun(agent, run)
    events = EventLog(home.node(find_node_of(gateway, home, node).folder).log).page(after, limit)
    return EventPageView(events=tuple(events), next=events[-1].seq if events else after)


@router.get("/agents/{agent}/board", dependencies=[READ], tags=["work"])
async def board(agent: AgentDep, run: RunDep, gateway: GatewayDep, at: At = None) -> BoardView:
    """Show all nodes and stages, as they are or as they were `at` an earlier `seq`."""
    if at is not None:
        return board_view(gateway.boards.at(run, at), at)
    return gateway.boards.view(run)


@router.get("/agents/{agent}/board/{node}", dependencies=[READ], tags=["work"])
async def node(agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep) -> NodeDetailView:
    """Show one node by id or name."""
    state = gateway.boards.get(run)
    return node_detail(state, node_named(state, node))


@router.get("/agents/{agent}/workers", dependencies=[READ], tags=["work"])
async def workers(agent: AgentDep, run: RunDep, gateway: GatewayDep) -> list[WorkerView]:
    """List the workers and what each does right now."""
    state, unread = gateway.boards.get(run), gateway.messages.unread(agent.id)
    return [
        worker_view(
            state,
            agent.id,
            worker,
            gateway.worker_status(agent, worker),
            gateway.activities.step_of(worker_address(agent.id, worker.id)),
            unread.get(worker.name, 0),
        )
        for worker in state.workers.values()
    ]


def ref_views(run: RunHome, node: WorkNode) -> list[RefView]:
    """Return a node's references, in the order in which they were given."""
    return [_ref_view(run, name, path) for name, path in node.refs.items()]


def _ref_view(run: RunHome, name: str, path: str) -> RefView:
    """Return one reference; a path outside of the run, or of nothing yet, has no file behind it."""
    try:
        found = browse(run.path, path, limit=1)
    except ApiError:
        return RefView(name=name, path=path)
    size = found.size if isinstance(found, FileContentView) else None
    return RefView(name=name, path=path, is_there=True, size=size)
