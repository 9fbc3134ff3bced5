"""Skill tool: read a guide that the prompt has told of by its name."""

import asyncio

from pydantic import Field

from agiraph.memory.skills import read_skill
from agiraph.tools.base import Tool, ToolParams
from agiraph.tools.ports import ToolContext


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
