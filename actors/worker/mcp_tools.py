"""Mcp tools: which tools of servers a worker has on a node."""

from actors.entity.mcp_tools import McpToolGrants, grants_for
from actors.runtime.runtime import Runtime
from actors.worker.files import WorkerFiles
from agiraph.core.models import Assignment, Worker


async def worker_grants(
    runtime: Runtime, worker: Worker, files: WorkerFiles, assignment: Assignment
) -> McpToolGrants:
    """Return what the worker has for this attempt at its node, the same after a restart."""
    about = f"{assignment.node.id}.{assignment.attempt}"
    called = (worker.name, worker.role or "")
    return await grants_for(runtime, files.home.mcp_tool_grants, about, worker.tools, *called)
