"""Endpoints: an agent's long-term memory."""

from fastapi import APIRouter, Response
from starlette.requests import Request

from actors.gateway.api.dependencies import GatewayDep, AgentDep
from actors.gateway.api.file_responses import ASKED, SHOWN, As, Shown, show
from actors.gateway.resources.memories import memory_file, memory_files, memory_path, search_memory
from agiraph.http.api import FileContentView, MemoryEntryView, MemoryHitView, SearchMemoryRequest

router = APIRouter(tags=["memory"])


@router.get("/agents/{agent}/memory")
def files(agent: AgentDep, gateway: GatewayDep) -> list[MemoryEntryView]:
    """List the files of an agent's memory."""
    return memory_files(gateway, agent)


@router.post("/agents/{agent}/memory/search")
def find(agent: AgentDep, query: SearchMemoryRequest, gateway: GatewayDep) -> list[MemoryHitView]:
    """Return the sections that fit a query, the best first."""
    return search_memory(gateway, agent, query.query)


@router.get(
    "/agents/{agent}/memory/{path:path}",
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
    return show(gateway.agents.home_of(agent).path, memory_path(gateway, agent, path), how, 0, request)
