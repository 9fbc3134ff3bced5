"""The archive: agents that were put away, brought back, or deleted for good.

An agent in the archive has no process and no address. To be deleted its folder is first given a
name that nobody reads, in one step; what a crash leaves of it then goes at the next start.
"""

from contextlib import suppress
from pathlib import Path

from actors.gateway.gateway import Gateway
from actors.gateway.state.agents import ARCHIVE, AgentDirectory
from agiraph.core.models import Agent
from agiraph.http.api import ApiError, DeletedView
from agiraph.storage.files import entries, move, remove_tree, status_of
from agiraph.storage.home import Home

GOING = ".deleting-"


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
    gateway.bells.say_back(agent.id)
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
