"""Endpoints: an agent's long-term memory."""

from fastapi import APIRouter, Response
from starlette.requests import Request

from actors.gateway.api.dependencies import AgentDep, GatewayDep
from actors.gateway.api.files import ASKED, SHOWN, As, Shown, show
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import Gateway
from agiraph.core.errors import Refused, unknown
from agiraph.core.models import Agent
from agiraph.http.api import (
    ApiError,
    FileContentView,
    MemoryEntryView,
    MemoryHitView,
    SearchMemoryRequest,
)
from agiraph.memory.memory_files import FOLDER, MAIN, MemoryFiles
from agiraph.memory.search import search
from agiraph.storage.files import status_of

router = APIRouter(tags=["memory"])


@router.get("/agents/{agent}/memory", dependencies=[READ])
def files(agent: AgentDep, gateway: GatewayDep) -> list[MemoryEntryView]:
    """List the files of an agent's memory."""
    return memory_files(gateway, agent)


@router.post("/agents/{agent}/memory/search", dependencies=[READ])
def find(agent: AgentDep, query: SearchMemoryRequest, gateway: GatewayDep) -> list[MemoryHitView]:
    """Return the sections that fit a query, the best first."""
    return search_memory(gateway, agent, query.query)


@router.get(
    "/agents/{agent}/memory/{path:path}",
    dependencies=[READ],
    response_model=FileContentView,
    responses=SHOWN,
    openapi_extra=ASKED,
)
def read(
    request: Request, agent: AgentDep, path: str, gateway: GatewayDep, how: As = "json"
) -> Shown | Response:
    """Read one file."""
    if how == "json":
        return memory_file(gateway, agent, path)
    return show(
        gateway.agents.home_of(agent).path, memory_path(gateway, agent, path), how, 0, request
    )


def memory_files(gateway: Gateway, agent: Agent) -> list[MemoryEntryView]:
    """Return the files of an agent's memory, MEMORY.md first."""
    home = gateway.agents.home_of(agent)
    entries = []
    for name in _shelf(gateway, agent).names():
        found = status_of(home.path / (name if name == MAIN else f"{FOLDER}{name}"))
        if found is not None:  # else it was removed since it was listed
            entries.append(
                MemoryEntryView(path=name, size=found.st_size, modified_at=found.st_mtime)
            )
    return entries


def memory_file(gateway: Gateway, agent: Agent, path: str) -> FileContentView:
    """Return one file of an agent's memory; ApiError 404 lists the known."""
    shelf, home = _shelf(gateway, agent), gateway.agents.home_of(agent)
    name = _name_of(shelf, path)
    try:
        text = shelf.read(name, lambda scoped: home.path / scoped)
    except Refused as error:
        raise ApiError(404, str(error)) from None
    size = len(text.encode())
    return FileContentView(path=name, content=text, size=size, returned=size)


def memory_path(gateway: Gateway, agent: Agent, path: str) -> str:
    """Return where a memory file lies under the agent's home; ApiError 404 lists the known."""
    name = _name_of(_shelf(gateway, agent), path)
    return name if name == MAIN else f"{FOLDER}{name}"


def _name_of(shelf: MemoryFiles, path: str) -> str:
    try:
        name, names = shelf.name_of(path), shelf.names()
        if name not in names:
            raise unknown("memory file", path, names)
    except Refused as error:
        raise ApiError(404, str(error)) from None
    return name


def search_memory(gateway: Gateway, agent: Agent, query: str) -> list[MemoryHitView]:
    """Return the sections of an agent's memory that fit a query, the best first."""
    bounds = gateway.config.memory
    documents = _shelf(gateway, agent).documents()
    found = search(documents, query, inline_limit=-1, limit=bounds.search_results)
    return [
        MemoryHitView(path=hit.path, heading=hit.heading, score=hit.score, text=hit.text)
        for hit in found.hits
    ]


def _shelf(gateway: Gateway, agent: Agent) -> MemoryFiles:
    return MemoryFiles.of_agent(gateway.agents.home_of(agent), gateway.config.memory)
