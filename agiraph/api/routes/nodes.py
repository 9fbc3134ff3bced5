"""Endpoints by which the person retries, cancels or reassigns a node."""

from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.agents import start_coordinator
from agiraph.api.routes.dependencies import AgentDep, CauseDep, GatewayDep
from agiraph.api.routes.entities import DOWN, child_at, children
from agiraph.api.strict_json import StrictRoute
from agiraph.core.ids import BROKER, SUPERVISOR, NodeId, coordinator_address
from agiraph.core.models import Agent
from agiraph.http.api import (
    ApiError,
    AssignNodeRequest,
    CancelNodeRequest,
    NodeDetailView,
    RetryNodeRequest,
)
from agiraph.http.errors import UNPROCESSABLE
from agiraph.messages.child import ChildStopped, StopChild
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel
from agiraph.messages.node import CancelByHuman, MoveByHuman, RetryNodeMessage
from agiraph.readmodel.boards import node_detail
from agiraph.readmodel.names import member_named, node_named
from agiraph.storage.run_lease import detach_agent

ORDER_SECONDS = 20.0
HumanNodeCommand = RetryNodeMessage | CancelByHuman | MoveByHuman

router = APIRouter(route_class=StrictRoute, dependencies=[CONTROL], tags=["work"])


@router.post("/agents/{agent}/board/{node}/retry")
async def retry(
    agent: AgentDep, node: str, request: RetryNodeRequest, gateway: GatewayDep, cause: CauseDep
) -> NodeDetailView:
    """Retry a node of the current run that failed, or whose result no node has used yet.

    A failed run continues.
    """
    id = _id_of(gateway, agent, node)
    detach_agent(gateway.home.path, agent.id)
    to = coordinator_address(agent.id)
    child = child_at(await children(gateway), to)
    if child is None:
        await start_coordinator(gateway, agent)
    elif child.state in DOWN:
        order = StopChild(address=to, how="restart", reason="a node is tried again")
        await gateway.bus.ask(SUPERVISOR, order, ChildStopped, within_seconds=ORDER_SECONDS)
    body = RetryNodeMessage(node=id, because=request.because)
    return await _carried_out(gateway, agent, id, body, cause)


@router.post("/agents/{agent}/board/{node}/cancel")
async def cancel(
    agent: AgentDep, node: str, request: CancelNodeRequest, gateway: GatewayDep, cause: CauseDep
) -> NodeDetailView:
    """Cancel a node that has not ended, and its open sub-nodes."""
    id = _id_of(gateway, agent, node)
    await _require_running(gateway, agent)
    body = CancelByHuman(node=id, because=request.because)
    return await _carried_out(gateway, agent, id, body, cause)


@router.post("/agents/{agent}/board/{node}/assign")
async def assign(
    agent: AgentDep, node: str, request: AssignNodeRequest, gateway: GatewayDep, cause: CauseDep
) -> NodeDetailView:
    """Assign a node to another worker, or to a worker with another model; retry a failed node.

    A node that is held moves when its worker has released it, in its next attempt.
    """
    id = _id_of(gateway, agent, node)
    worker = None
    if request.worker is not None:
        board = gateway.boards.get(gateway.agents.run_of(agent))
        found = member_named(agent, board, request.worker, "worker")
        if found is None:
            raise ApiError(UNPROCESSABLE, "the coordinator takes no nodes (possible: a worker)")
        worker = found.id
    if request.model is not None:
        asked = CheckModel(model=request.model)
        await gateway.bus.ask(BROKER, asked, Ok, refused=UNPROCESSABLE)
    await _require_running(gateway, agent)
    body = MoveByHuman(node=id, worker=worker, model=request.model, because=request.because)
    return await _carried_out(gateway, agent, id, body, cause)


def _id_of(gateway: Gateway, agent: Agent, node: str) -> NodeId:
    return node_named(gateway.boards.get(gateway.agents.run_of(agent)), node).id


async def _require_running(gateway: Gateway, agent: Agent) -> None:
    """Raise ApiError 409 unless the agent's coordinator runs or can be woken."""
    child = child_at(await children(gateway), coordinator_address(agent.id))
    if child is None or child.state in DOWN:
        state = child.state if child is not None else "not running"
        raise ApiError(409, f"agent '{agent.name}' is {state} (possible: resume it first)")


async def _carried_out(
    gateway: Gateway, agent: Agent, node: NodeId, body: HumanNodeCommand, cause: CallCause
) -> NodeDetailView:
    """Send an order to the coordinator; return the node after it was carried out."""
    verb = body.TYPE.partition(".")[2]
    message = cause.message(f"{verb} of {agent.id}/{node}")
    to = coordinator_address(agent.id)
    await gateway.bus.ask(to, body, Ok, within_seconds=ORDER_SECONDS, id=message)
    state = gateway.boards.get(gateway.agents.run_of(agent))
    return node_detail(state, state.nodes[node])
