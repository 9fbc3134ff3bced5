"""The table of all tools. A new tool is one more entry here."""

from typing import Any

from agiraph.tools.base import Tool
from agiraph.tools.board import CHECK_BOARD, CREATE_WORK_NODE, WAIT
from agiraph.tools.coordinator import (
    ASSIGN_WORKER,
    CANCEL_NODE,
    FINISH,
    RETIRE_WORKER,
    SPAWN_WORKER,
)
from agiraph.tools.cycle import END_CYCLE
from agiraph.tools.files import LIST_FILES, READ_FILE, READ_REF, WRITE_FILE
from agiraph.tools.memory import MEMORY_READ, MEMORY_SEARCH, MEMORY_WRITE, READ_SKILL
from agiraph.tools.messaging import ASK_HUMAN, CHECK_MESSAGES, SEND_MESSAGE
from agiraph.tools.node import CHECKPOINT, PUBLISH, SUGGEST_NEXT
from agiraph.tools.shared_context import APPEND_CONTEXT, LIST_CONTEXT, READ_CONTEXT, WRITE_CONTEXT
from agiraph.tools.shell import BASH
from agiraph.tools.stages import CREATE_STAGE_NODE, LAUNCH_ROLES, RECONVENE
from agiraph.tools.triggers import CANCEL_TRIGGER, LIST_TRIGGERS, SCHEDULE
from agiraph.tools.web_tools import WEB_FETCH, WEB_SEARCH

TOOLS: tuple[Tool[Any], ...] = (
    *(PUBLISH, CHECKPOINT, SUGGEST_NEXT),
    *(SPAWN_WORKER, CREATE_WORK_NODE, CREATE_STAGE_NODE, ASSIGN_WORKER, WAIT, CHECK_BOARD),
    *(CANCEL_NODE, RETIRE_WORKER, LAUNCH_ROLES, RECONVENE, FINISH),
    *(SEND_MESSAGE, CHECK_MESSAGES, ASK_HUMAN),
    *(READ_FILE, WRITE_FILE, LIST_FILES, READ_REF),
    BASH,
    *(READ_CONTEXT, WRITE_CONTEXT, APPEND_CONTEXT, LIST_CONTEXT),
    *(WEB_SEARCH, WEB_FETCH),
    *(MEMORY_SEARCH, MEMORY_READ, MEMORY_WRITE),
    *(SCHEDULE, LIST_TRIGGERS, CANCEL_TRIGGER),
    END_CYCLE,
    READ_SKILL,
)


def tool_names() -> tuple[str, ...]:
    """Return the names of all tools that a rule of approvals.yaml may name."""
    return tuple(tool.name for tool in TOOLS)
