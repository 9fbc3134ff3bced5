"""Endpoints: agents that were put away."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import GatewayDep, AgentDep
from actors.gateway.resources.archive import archived_agents, delete, restore
from actors.gateway.resources.lifecycle import archive
from actors.gateway.state.agents import agent_summary
from agiraph.http.api import AgentView, ArchivedView, DeletedView

router = APIRouter(tags=["archive"])

ARCHIVED = "archived"
STOPPED = "stopped"
ENDED = ("completed", "failed", "stopped")


@router.get("/archive")
def archived(gateway: GatewayDep) -> list[AgentView]:
    """List the agents in the archive, oldest first."""
    return [agent_summary(agent, ARCHIVED, 0) for agent in archived_agents(gateway)]


@router.post("/agents/{agent}/archive")
async def put_away(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive."""
    return await archive(gateway, agent)


@router.delete("/agents/{agent}")
async def put_away_too(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive; deleted it is from there."""
    return await archive(gateway, agent)


@router.post("/archive/{agent}/restore")
async def bring_back(agent: str, gateway: GatewayDep) -> AgentView:
    """Bring an agent back; `resume` or a new run starts its processes."""
    restored = restore(gateway, agent)
    status = restored.status if restored.status in ENDED else STOPPED
    return agent_summary(restored, status, 0)


@router.delete("/archive/{agent}")
def delete_for_good(agent: str, gateway: GatewayDep) -> DeletedView:
    """Delete an agent of the archive with everything it wrote."""
    return delete(gateway, agent)
