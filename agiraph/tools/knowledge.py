"""The tool `remember`: a coordinator adds knowledge for other runs to the knowledge database."""

from agiraph.knowledge.remembered import RememberedSpec
from agiraph.tools.base import COORDINATORS, ToolParams, tool
from agiraph.tools.ports import ToolContext


class RememberParams(RememberedSpec, ToolParams):
    pass


@tool("Store a lesson for later runs of all agents.", kinds=COORDINATORS, idempotent=True)
async def remember(context: ToolContext, params: RememberParams) -> str:
    """Write one entry into the knowledge database, once."""
    await context.team.remember(context.call_id, params)
    return f"Remembered: {params.kind} '{params.title}'."
