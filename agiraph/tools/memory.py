"""Memory tools: notes of an entity beyond its conversation.

A coordinator's notes belong to its agent and outlive the run; a worker's are its own.
"""

import asyncio

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.memory import skills
from agiraph.memory.memory_files import MemoryFiles
from agiraph.memory.search import search, shown
from agiraph.storage.home import AgentHome, WorkerHome
from agiraph.tools.base import ToolParams, tool
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.rules import CoordinatorScopeRules

SHOWN_IN_EVENTS = 200


class MemoryWriteParams(ToolParams):
    path: str = Field(description="the file, for example MEMORY.md or knowledge/python-asyncio.md")
    content: str = Field(description="the text, in Markdown; empty removes the file")
    append: bool = Field(default=False, description="add to the end instead of replacing the file")


class MemoryReadParams(ToolParams):
    path: str = Field(description="the file, for example MEMORY.md or index.md")


class MemorySearchParams(ToolParams):
    query: str = Field(min_length=1, description="words that the note may contain")


class ReadSkillParams(ToolParams):
    name: str = Field(description="the name, as your prompt lists it")
    path: str = Field(
        default="", description="a file of the skill's folder; default: the skill itself"
    )


def memory_of(context: ToolContext) -> MemoryFiles:
    """Return the memory of the entity that runs the tool."""
    rules, bounds = context.scope.rules, context.config.memory
    if isinstance(rules, CoordinatorScopeRules):
        return MemoryFiles.of_agent(AgentHome(rules.agent), bounds)
    return MemoryFiles.of_worker(WorkerHome(rules.home), bounds)


@tool("Write a file of your long-term memory.", idempotent=True)
async def memory_write(context: ToolContext, params: MemoryWriteParams) -> str:
    """Write a memory file and report the event."""
    written = await asyncio.to_thread(
        memory_of(context).write,
        params.path,
        params.content,
        context.scope.to_write,
        append=params.append,
    )
    data = {"path": written.path, "characters": written.size, "change": written.change}
    context.report("memory.written", data | {"shown": params.content[:SHOWN_IN_EVENTS]})
    return f"{written.path}: {written.change} ({written.size} characters now)."


@tool("Read a file of your long-term memory.", idempotent=True)
async def memory_read(context: ToolContext, params: MemoryReadParams) -> str:
    """Return one memory file."""
    return await asyncio.to_thread(memory_of(context).read, params.path, context.scope.to_read)


@tool("Search your long-term memory.", idempotent=True)
async def memory_search(context: ToolContext, params: MemorySearchParams) -> str:
    """Return the whole memory if it is small, otherwise the matching sections."""
    if not params.query.strip():
        raise InvalidInput("query is empty: give words that the note may contain")
    bounds = context.config.memory
    documents = await asyncio.to_thread(memory_of(context).documents)
    found = await asyncio.to_thread(
        search,
        documents,
        params.query,
        inline_limit=bounds.inline_limit,
        limit=bounds.search_results,
    )
    return shown(found)


@tool("Read a skill or guide of the home or the input folder.", idempotent=True)
async def read_skill(context: ToolContext, params: ReadSkillParams) -> str:
    """Return a skill, or one of its files."""
    limit = context.config.files.read_limit
    return await asyncio.to_thread(
        skills.read_skill, context.skills, params.name, params.path, limit
    )
