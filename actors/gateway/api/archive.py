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

GOING = ".deleting-"

router = APIRouter(tags=["archive"])

ARCHIVED = "archived"
STOPPED = "stopped"
ENDED = ("completed", "failed", "stopped")


@router.get("/archive", dependencies=[READ])
def archived(gateway: GatewayDep) -> list[AgentView]:
    """List the agents in the archive, oldest first."""
    return [agent_summary(agent, ARCHIVED) for agent in archived_agents(gateway)]


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
    restored = restore(gateway, agent)
    status = restored.status if restored.status in ENDED else STOPPED
    return agent_summary(restored, status)


@router.delete("/archive/{agent}", dependencies=[CONTROL])
def delete_for_good(agent: str, gateway: GatewayDep) -> DeletedView:
    """Delete an agent of the archive with everything it wrote."""
    return delete(gateway, agent)


def archived_agents(gateway: Gateway) -> list[Agent]:
    """Return the agents in the archive, oldest first."""
    return _shelf(gateway.home).all()


def restore(gateway: Gateway, named: str) -> Agent:
    """Bring an agent back, by its id or name; its processes stay down until it is resumed.

    Raises ApiError: 404 lists the archive, 409 if an agent of that id lives.
    """
    agent = _found(gateway, named)
    place = gateway.home.agent(agent.id).path
    if status_of(place) is not None:
        raise ApiError(409, f"there is an agent '{agent.id}' again: archive that one first")
    move(_folder(gateway.home) / agent.id, place)
    gateway.bells.restore(agent.id)
    return agent


def delete(gateway: Gateway, named: str) -> DeletedView:
    """Delete an agent of the archive for good, by its id or name; 404 lists the archive."""
    agent = _found(gateway, named)
    folder = _folder(gateway.home)
    going = folder / f"{GOING}{agent.id}"
    remove_tree(going)
    move(folder / agent.id, going)
    remove_tree(going)
    return DeletedView(id=agent.id, name=agent.name)


def sweep(home: Home) -> None:
    """Remove what a crash left of agents that were being deleted, as far as that can be done."""
    folder = _folder(home)
    with suppress(OSError):
        for left in entries(folder):
            if left.name.startswith(GOING):
                with suppress(OSError):
                    remove_tree(folder / left.name)


def _found(gateway: Gateway, named: str) -> Agent:
    """Return an agent of the archive; an id goes before a name."""
    agents = archived_agents(gateway)
    found = [agent for agent in agents if agent.id == named]
    found = found or [agent for agent in agents if agent.name == named]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(agent.id for agent in found)
        raise ApiError(409, f"several agents in the archive are called '{named}': name one ({ids})")
    known = ", ".join(f"{agent.name} ({agent.id})" for agent in agents) or "none"
    raise ApiError(404, f"there is no agent '{named}' in the archive (known: {known})")


def _folder(home: Home) -> Path:
    return home.agents / ARCHIVE


def _shelf(home: Home) -> AgentDirectory:
    return AgentDirectory(home, _folder(home))


async def archive(gateway: Gateway, agent: Agent) -> ArchivedView:
    """Stop an agent for good, withdraw its questions and move its folder away."""
    await stop_team(gateway, agent, "forget")
    path = gateway.agents.archive(agent)
    gateway.questions.withdraw(agent.id)
    gateway.forget(agent)
    return ArchivedView(id=agent.id, path=str(path))
