"""Equipment: which tools of servers a worker has on a node."""

from actors.entity.outfit import Outfit, outfit_for
from actors.runtime import Runtime
from actors.worker.files import WorkerFiles
from agiraph.models import Assignment, Worker


async def worker_outfit(
    runtime: Runtime, worker: Worker, files: WorkerFiles, assignment: Assignment
) -> Outfit:
    """Return what the worker has for this attempt at its node, the same after a restart."""
    about = f"{assignment.node.id}.{assignment.attempt}"
    called = (worker.name, worker.role or "")
    return await outfit_for(runtime, files.home.outfit, about, worker.tools, *called)
