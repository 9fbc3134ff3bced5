"""Endpoints: agents that were put away."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import Door, Named
from actors.gateway.resources.archive import archived_agents, delete, restore
from actors.gateway.resources.lifecycle import archive
from actors.gateway.state.agents import agent_summary
from agiraph.http.api import AgentView, ArchivedView, DeletedView

router = APIRouter()

ARCHIVED = "archived"
STOPPED = "stopped"
ENDED = ("completed", "failed", "stopped")


@router.get("/archive")
def archived(door: Door) -> list[AgentView]:
    """List the agents in the archive, oldest first."""
    return [agent_summary(agent, ARCHIVED, 0) for agent in archived_agents(door)]


@router.post("/agents/{agent}/archive")
async def put_away(agent: Named, door: Door) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive."""
    return await archive(door, agent)


@router.delete("/agents/{agent}")
async def put_away_too(agent: Named, door: Door) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive; deleted it is from there."""
    return await archive(door, agent)


@router.post("/archive/{agent}/restore")
async def bring_back(agent: str, door: Door) -> AgentView:
    """Bring an agent back; `resume` or a new run starts its processes."""
    restored = restore(door, agent)
    status = restored.status if restored.status in ENDED else STOPPED
    return agent_summary(restored, status, 0)


@router.delete("/archive/{agent}")
def delete_for_good(agent: str, door: Door) -> DeletedView:
    """Delete an agent of the archive with everything it wrote."""
    return delete(door, agent)
