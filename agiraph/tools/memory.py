"""Memory tools: what an entity stores beyond its conversation.

A coordinator's are those of its agent, and outlive the run; a worker's are its own.
"""

import asyncio

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.memory.memory_files import MemoryFiles
from agiraph.memory.search import search, shown
from agiraph.memory.skills import read_skill
from agiraph.storage.home import AgentHome, WorkerHome
from agiraph.tools.base import Tool, ToolParams
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.rules import CoordinatorScopeRules

SHOWN_IN_EVENTS = 200


class MemoryWriteParams(ToolParams):
    """Parameters of `memory_write`."""

    path: str = Field(description="the file, for example MEMORY.md or knowledge/python-asyncio.md")
    content: str = Field(description="the text, in Markdown; empty removes the file")
    append: bool = Field(default=False, description="add to the end instead of replacing the file")


class MemoryReadParams(ToolParams):
    """Parameters of `memory_read`."""

    path: str = Field(description="the file, for example MEMORY.md or index.md")


class MemorySearchParams(ToolParams):
    """Parameters of `memory_search`."""

    query: str = Field(min_length=1, description="words that the note may contain")


def shelf_of(context: ToolContext) -> MemoryFiles:
    """Return the memory of the entity that runs the tool."""
    rules, bounds = context.scope.rules, context.config.memory
    if isinstance(rules, CoordinatorScopeRules):
        return MemoryFiles.of_agent(AgentHome(rules.agent), bounds)
    return MemoryFiles.of_worker(WorkerHome(rules.home), bounds)


async def memory_write(context: ToolContext, params: MemoryWriteParams) -> str:
    """Write a memory file and report the event."""
    written = await asyncio.to_thread(
        shelf_of(context).write,
        params.path,
        params.content,
        context.scope.to_write,
        append=params.append,
    )
    data = {"path": written.path, "characters": written.size, "change": written.change}
    context.report("memory.written", data | {"shown": params.content[:SHOWN_IN_EVENTS]})
    return f"{written.path}: {written.change} ({written.size} characters now)."


async def memory_read(context: ToolContext, params: MemoryReadParams) -> str:
    """Return one memory file."""
    return await asyncio.to_thread(shelf_of(context).read, params.path, context.scope.to_read)


async def memory_search(context: ToolContext, params: MemorySearchParams) -> str:
    """Return the whole memory if it is small, else the sections that match."""
    if not params.query.strip():
        raise InvalidInput("query is empty: give words that the note may contain")
    bounds = context.config.memory
    documents = await asyncio.to_thread(shelf_of(context).documents)
    found = await asyncio.to_thread(
        search,
        documents,
        params.query,
        inline_limit=bounds.inline_limit,
        limit=bounds.search_results,
    )
    return shown(found)


MEMORY_READ = Tool(
    name="memory_read",
    description="Read a file of your long-term memory.",
    params=MemoryReadParams,
    run=memory_read,
    idempotent=True,
)
MEMORY_WRITE = Tool(
    name="memory_write",
    description="Write a file of your long-term memory, which outlives your conversation.",
    params=MemoryWriteParams,
    run=memory_write,
    idempotent=True,
)
MEMORY_SEARCH = Tool(
    name="memory_search",
    description="Search your long-term memory: the notes that match, the best first.",
    params=MemorySearchParams,
    run=memory_search,
    idempotent=True,
)


class ReadSkillParams(ToolParams):
    """Parameters of `read_skill`."""

    name: str = Field(description="its name, as your prompt lists it")
    path: str = Field(default="", description="a file beside it; left out: the skill itself")


async def read(context: ToolContext, params: ReadSkillParams) -> str:
    """Return a skill, or one of the files that belong to it."""
    limit = context.config.files.read_limit
    return await asyncio.to_thread(read_skill, context.skills, params.name, params.path, limit)


READ_SKILL = Tool(
    name="read_skill",
    description="Read a skill or guide of the home or the input folder.",
    params=ReadSkillParams,
    run=read,
    idempotent=True,
)
