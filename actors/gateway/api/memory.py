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
    home = gateway.agents.home_of(agent)
    entries = []
    for name in _memory_of(gateway, agent).names():
        found = status_of(home.path / _path_of(name))
        if found is not None:  # else it was removed since it was listed
            entries.append(
                MemoryEntryView(path=name, size=found.st_size, modified_at=found.st_mtime)
            )
    return entries


@router.post("/agents/{agent}/memory/search", dependencies=[READ])
def find(agent: AgentDep, query: SearchMemoryRequest, gateway: GatewayDep) -> list[MemoryHitView]:
    """Return the sections that fit a query, the best first."""
    documents = _memory_of(gateway, agent).documents()
    limit = gateway.config.memory.search_results
    found = search(documents, query.query, inline_limit=-1, limit=limit)
    return [
        MemoryHitView(path=hit.path, heading=hit.heading, score=hit.score, text=hit.text)
        for hit in found.hits
    ]


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
    home, files = gateway.agents.home_of(agent), _memory_of(gateway, agent)
    name = _name_of(files, path)
    if how != "json":
        return show(home.path, _path_of(name), how, 0, request)
    try:
        text = files.read(name, lambda scoped: home.path / scoped)
    except Refused as error:
        raise ApiError(404, str(error)) from None
    size = len(text.encode())
    return FileContentView(path=name, content=text, size=size, returned=size)


def _name_of(files: MemoryFiles, path: str) -> str:
    """Return the name of a memory file; ApiError 404 lists the known."""
    try:
        name, names = files.name_of(path), files.names()
        if name not in names:
            raise unknown("memory file", path, names)
    except Refused as error:
        raise ApiError(404, str(error)) from None
    return name


def _path_of(name: str) -> str:
    """Return where a memory file lies under the agent's home."""
    return name if name == MAIN else f"{FOLDER}{name}"


def _memory_of(gateway: Gateway, agent: Agent) -> MemoryFiles:
    return MemoryFiles.of_agent(gateway.agents.home_of(agent), gateway.config.memory)
