"""The table of all tools. A new tool is one more entry here."""

from typing import Any

from agiraph.tools.base import Tool
from agiraph.tools.board import (
    check_board,
    checkpoint,
    create_work_node,
    publish,
    suggest_next,
    wait,
)
from agiraph.tools.context_database import remember
from agiraph.tools.coordinator import (
    assign_worker,
    cancel_node,
    end_cycle,
    finish,
    retire_worker,
    spawn_worker,
)
from agiraph.tools.files import list_files, read_file, read_ref, write_file
from agiraph.tools.memory import memory_read, memory_search, memory_write, read_skill
from agiraph.tools.messaging import ask_human, check_messages, send_message
from agiraph.tools.shared_context import append_context, list_context, read_context, write_context
from agiraph.tools.shell import bash
from agiraph.tools.stages import create_stage_node, launch_roles, reconvene
from agiraph.tools.triggers import cancel_trigger, list_triggers, schedule
from agiraph.tools.web_tools import web_fetch, web_search

TOOLS: tuple[Tool[Any], ...] = (
    *(publish, checkpoint, suggest_next),
    *(spawn_worker, create_work_node, create_stage_node, assign_worker, wait, check_board),
    *(cancel_node, retire_worker, launch_roles, reconvene, finish),
    *(send_message, check_messages, ask_human),
    *(read_file, write_file, list_files, read_ref),
    bash,
    *(read_context, write_context, append_context, list_context),
    *(web_search, web_fetch),
    *(memory_search, memory_read, memory_write, remember),
    *(schedule, list_triggers, cancel_trigger),
    end_cycle,
    read_skill,
)


def tool_names() -> tuple[str, ...]:
    """Return the names of all tools that a rule of approvals.yaml may name."""
    return tuple(tool.name for tool in TOOLS)
