"""Endpoints: agents that were put away."""

from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter

from actors.gateway.api.dependencies import AgentDep, GatewayDep
from actors.gateway.api.lifecycle import stop_team
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.gateway import Gateway
from actors.gateway.state.agents import ARCHIVE, AgentDirectory, agent_summary
from agiraph.core.models import Agent
from agiraph.http.api import AgentView, ApiError, ArchivedView, DeletedView
from agiraph.storage.files import entries, move, remove_tree, status_of
from agiraph.storage.home import Home

DELETING = ".deleting-"

router = APIRouter(tags=["archive"])

ARCHIVED = "archived"
STOPPED = "stopped"
ENDED = ("completed", "failed", "stopped")


@router.get("/archive", dependencies=[READ])
def archived(gateway: GatewayDep) -> list[AgentView]:
    """List the agents in the archive, oldest first."""
    return [agent_summary(agent, ARCHIVED) for agent in _archived_agents(gateway)]


@router.post("/agents/{agent}/archive", dependencies=[CONTROL])
async def put_away(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive."""
    return await archive(gateway, agent)


@router.delete("/agents/{agent}", dependencies=[CONTROL])
async def put_away_too(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive; deleted it is from there."""
    return await archive(gateway, agent)


@router.post("/archive/{agent}/restore", dependencies=[CONTROL])
async def bring_back(agent: str, gateway: GatewayDep) -> AgentView:
    """Bring an agent back; `resume` or a new run starts its processes."""
    found = _find_archived(gateway, agent)
    folder = gateway.home.agent(found.id).path
    if status_of(folder) is not None:
        raise ApiError(409, f"there is an agent '{found.id}' again: archive that one first")
    move(_folder(gateway.home) / found.id, folder)
    gateway.signals.restore(found.id)
    return agent_summary(found, found.status if found.status in ENDED else STOPPED)


@router.delete("/archive/{agent}", dependencies=[CONTROL])
def delete_for_good(agent: str, gateway: GatewayDep) -> DeletedView:
    """Delete an agent of the archive with everything it wrote."""
    found = _find_archived(gateway, agent)
    folder = _folder(gateway.home)
    deleting = folder / f"{DELETING}{found.id}"
    remove_tree(deleting)
    move(folder / found.id, deleting)
    remove_tree(deleting)
    return DeletedView(id=found.id, name=found.name)


def remove_half_deleted(home: Home) -> None:
    """Remove what a crash left of agents that were being deleted, as far as that can be done."""
    folder = _folder(home)
    with suppress(OSError):
        for left in entries(folder):
            if left.name.startswith(DELETING):
                with suppress(OSError):
                    remove_tree(folder / left.name)


def _find_archived(gateway: Gateway, named: str) -> Agent:
    """Return an agent of the archive; an id goes before a name."""
    agents = _archived_agents(gateway)
    found = [agent for agent in agents if agent.id == named]
    found = found or [agent for agent in agents if agent.name == named]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(agent.id for agent in found)
        raise ApiError(409, f"several agents in the archive are called '{named}': name one ({ids})")
    known = ", ".join(f"{agent.name} ({agent.id})" for agent in agents) or "none"
    raise ApiError(404, f"there is no agent '{named}' in the archive (known: {known})")


def _archived_agents(gateway: Gateway) -> list[Agent]:
    return AgentDirectory(gateway.home, _folder(gateway.home)).all()


def _folder(home: Home) -> Path:
    return home.agents / ARCHIVE


async def archive(gateway: Gateway, agent: Agent) -> ArchivedView:
    """Stop an agent for good, withdraw its questions and move its folder away."""
    await stop_team(gateway, agent, "forget")
    path = gateway.agents.archive(agent)
    gateway.questions.withdraw(agent.id)
    gateway.signals.archive(agent.id)
    return ArchivedView(id=agent.id, path=str(path))
