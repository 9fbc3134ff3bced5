"""The table of all tools. A new tool is one more entry here."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from agiraph.core.errors import InvalidInput, unknown
from agiraph.tools.base import Tool
from agiraph.tools.board import (
    check_board,
    checkpoint,
    create_work_node,
    publish,
    run_checks,
    suggest_next,
    wait,
)
from agiraph.tools.coordinator import (
    assign_worker,
    cancel_node,
    end_cycle,
    finish,
    retire_worker,
    spawn_worker,
    update_node,
)
from agiraph.tools.editing import edit_file
from agiraph.tools.files import list_files, read_file, read_ref, write_file
from agiraph.tools.knowledge import remember
from agiraph.tools.memory import memory_read, memory_search, memory_write, read_skill
from agiraph.tools.messaging import ask_human, check_messages, send_message
from agiraph.tools.ports import EntityKind
from agiraph.tools.searching import find_files, search
from agiraph.tools.shared_values import (
    append_shared_value,
    list_shared_values,
    read_shared_value,
    write_shared_value,
)
from agiraph.tools.shell import bash
from agiraph.tools.stages import create_stage_node, launch_roles, reconvene
from agiraph.tools.triggers import cancel_trigger, list_triggers, schedule
from agiraph.tools.web_tools import web_fetch, web_search

TOOLS: tuple[Tool[Any], ...] = (
    *(publish, run_checks, checkpoint, suggest_next),
    *(spawn_worker, create_work_node, create_stage_node, assign_worker, wait, check_board),
    *(update_node, cancel_node, retire_worker, launch_roles, reconvene, finish),
    *(send_message, check_messages, ask_human),
    *(read_file, write_file, edit_file, list_files, search, find_files, read_ref),
    bash,
    *(read_shared_value, write_shared_value, append_shared_value, list_shared_values),
    *(web_search, web_fetch),
    *(memory_search, memory_read, memory_write, remember),
    *(schedule, list_triggers, cancel_trigger),
    end_cycle,
    read_skill,
)


CORE: Final[Mapping[EntityKind, frozenset[str]]] = {
    "worker": frozenset(
        {
            *("publish", "send_message", "ask_human", "bash"),
            *("read_file", "write_file", "edit_file", "search", "read_ref"),
        }
    ),
    "coordinator": frozenset(
        {
            *("create_work_node", "wait", "reconvene", "finish", "end_cycle"),
            *("send_message", "ask_human", "read_file", "write_file", "bash"),
        }
    ),
}
"""The tools that each request describes in full; `find_tools` describes the others."""

CORE_OF_LEADS: Final = frozenset({"create_work_node", "wait"})
"""The further tools that each request of a worker that may lead describes in full."""

CALLED_ELSEWHERE: Final[Mapping[str, frozenset[str]]] = {
    ours: frozenset(others.split())
    for ours, others in {
        "create_work_node": "spawn_agent create_agent create_node create_task task delegate",
        "spawn_worker": "spawn_agent create_agent add_agent create_worker hire hire_worker",
        "launch_roles": "launch_team launch_stage start_stage create_team",
        "check_board": "check_stage_status get_status task_status list_tasks list_agents",
        "wait": "sleep join wait_for wait_for_agents",
        "finish": "conclude done complete submit end_run final_answer publish",
        "publish": "conclude done complete submit final_answer finish",
        "send_message": "message notify reply",
        "ask_human": "ask_user ask human_input",
        "bash": "shell sh terminal exec execute execute_command run_command run_shell",
        "read_file": "cat view read open_file",
        "write_file": "create_file save_file write",
        "edit_file": "edit str_replace str_replace_editor replace apply_patch multi_edit",
        "list_files": "ls list_dir list_directory",
        "search": "grep rg ripgrep search_files grep_search file_search",
        "find_files": "glob find glob_files",
        "web_search": "search_web google",
        "web_fetch": "fetch fetch_url browse open_url",
        "memory_search": "recall search_memory",
        "memory_write": "save_memory write_memory",
    }.items()
}
"""Names for our tools that models know from other systems."""


def unknown_tool(name: str, known: Collection[str]) -> InvalidInput:
    """Return the error for a tool `name` that an entity lacks; it names the most similar tools."""
    meant = [
        ours
        for ours, others in CALLED_ELSEWHERE.items()
        if ours in known and name.strip().casefold() in others
    ]
    return unknown("tool", name, known, meant=meant)


def tool_names() -> tuple[str, ...]:
    """Return the names of all tools that a rule of approvals.yaml may name."""
    return tuple(tool.name for tool in TOOLS)
