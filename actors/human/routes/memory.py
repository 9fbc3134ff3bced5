"""Endpoints: an agent's long-term memory."""

from fastapi import APIRouter

from actors.human.memories import memory_file, memory_files, search_memory
from actors.human.routes.asking import Door, Named
from agiraph.api import FileContent, MemoryEntry, MemoryHit, MemoryQuery

router = APIRouter()


@router.get("/agents/{agent}/memory")
def files(agent: Named, door: Door) -> list[MemoryEntry]:
    """List the files of an agent's memory."""
    return memory_files(door, agent)


@router.post("/agents/{agent}/memory/search")
def find(agent: Named, query: MemoryQuery, door: Door) -> list[MemoryHit]:
    """Return the sections that fit a query, the best first."""
    return search_memory(door, agent, query.query)


@router.get("/agents/{agent}/memory/{path:path}")
def read(agent: Named, path: str, door: Door) -> FileContent:
    """Read one file."""
    return memory_file(door, agent, path)
