"""Calls that have the effect of another tool: rules about that tool judge them, too. Pure.

EQUIVALENTS is the table: for each tool the calls of other tools with the same effect. Commands in
the checks of nodes are in `commands_in` (`policy`). The text of a command is not inspected: `bash`
can write any file that its sandbox permits.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from posixpath import normpath
from typing import Any, Final

from pydantic import ValidationError

from agiraph.board.commands import is_new_worker
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.specs import RoleSpec
from agiraph.core.turns import json_in
from agiraph.tools.approvals.spellings import MEMORY, SEARCHED, KnownNames
from agiraph.triggers.parsing import action_as_read

Arguments = Mapping[str, Any]
EquivalentCalls = Iterator[tuple[str, Arguments]]

MEMORY_FILES: Final = ("memory.md", "notebook.md")
"""The files of a memory outside of `memory/`, in lower case."""

SEARCHED_BY_DEFAULT: Final = (".", "input", "nodes")
"""The folders of a search without a path."""

WILD: Final = re.compile(r"[*?\[{]")
"""The beginning of a part of a file pattern that is not literal."""


def equivalent_calls(tool: str, arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    """Yield the calls (tool, arguments) that have the same effect as a call."""
    if (found := EQUIVALENTS.get(tool)) is not None:
        yield from found(arguments, known)


def _of_append(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the writing of a shared value: to append to a list changes the value."""
    yield "write_shared_value", {"key": arguments.get("key"), "value": arguments.get("item")}


def _of_schedule(arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    """Yield the effects of a trigger: it sends a message later, or repeats a node's work.

    A text, and the task of `wake_agent`, is a message for the worker itself or the coordinator.
    """
    action = action_as_read(arguments.get("action"))
    if not isinstance(action, Mapping):
        yield "send_message", {"to": known.own or COORDINATOR_NAME, "content": action}
        return
    payload = as_read(action.get("payload"))
    payload = payload if isinstance(payload, Mapping) else {}
    match action.get("type"):
        case "send_message":
            yield "send_message", payload
        case "wake_agent":
            yield "send_message", {"to": COORDINATOR_NAME, "content": payload.get("task")}
        case "run_node":
            yield "create_work_node", {"node_id": payload.get("node_id")}


def _of_remember(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the writing of memory: later runs read it and the knowledge database."""
    yield "memory_write", {"content": arguments}


def _of_memory_write(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield `remember`, and the writing of the memory's file by its path."""
    yield "remember", {"text": arguments}
    yield from _of_file("write_file", arguments)


def _of_memory_read(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    yield from _of_file("read_file", arguments)


def _of_write_file(arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    yield from _of_memory_tool("memory_write", arguments, known)


def _of_edit_file(arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    """Yield the writing of the edited file."""
    yield "write_file", arguments
    yield from _of_write_file(arguments, known)


def _of_search(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the reading of the searched folder, and of a memory in it."""
    path = arguments.get("path")
    folder = normpath(path.strip()) if isinstance(path, str) and path.strip() else ""
    for one in (folder,) if folder else SEARCHED_BY_DEFAULT:
        yield "read_file", {"path": one, SEARCHED: one}
    if f"{folder}/".startswith(MEMORY) or folder.lower() in MEMORY_FILES:
        yield "memory_read", {"path": folder}


def _of_find_files(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the listing of the folder with which the pattern begins."""
    yield "list_files", {"path": split_glob(str(arguments.get("glob") or ""))[0]}


def _of_read_file(arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    yield from _of_memory_tool("memory_read", arguments, known)


def _of_read_ref(arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    """Yield the reading of each file of the ref."""
    paths = known.of_ref(str(arguments.get("name")))
    yield from (("read_file", {"path": path}) for path in paths)


def _of_publish(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the writing of a lesson or an insight into the worker's or coordinator's memory."""
    for key, path in (("learned", "memory.md"), ("insight", "knowledge/from-workers.md")):
        if arguments.get(key):
            yield "memory_write", {"path": path}


def _of_file(tool: str, arguments: Arguments) -> EquivalentCalls:
    """Yield the equivalent call of a file tool for a file of a memory."""
    path = arguments.get("path")
    if isinstance(path, str):
        name = normpath(path.strip())
        is_whole = name.startswith(MEMORY) or name.lower() in MEMORY_FILES
        yield tool, {"path": name if is_whole else MEMORY + name}


def _of_memory_tool(tool: str, arguments: Arguments, known: KnownNames) -> EquivalentCalls:
    """Yield the equivalent call of a memory tool for a file that is in a memory."""
    path = arguments.get("path")
    if not isinstance(path, str):
        return
    for name in dict.fromkeys((normpath(path.strip()), *known.of_path(path))):
        if name.lower() in MEMORY_FILES or name.startswith(MEMORY):
            yield tool, {"path": name}
            return


def _of_launch(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the hiring of a worker and the creation of a node for each role of a stage.

    Also yields the retiring of workers. A role is judged as it is read: it may be named by `id`. A
    call with an invalid role is refused.
    """
    stage = as_read(arguments.get("stage"))
    if not isinstance(stage, Mapping):
        return
    for role in map(as_read, _listed(stage.get("roles"))):
        try:
            read = RoleSpec.model_validate(role)
        except ValidationError:
            continue
        kind = {"role": read.role}
        yield "spawn_worker", {"name": read.name, **kind}
        yield "create_work_node", {"name": read.node or read.name, "task": read.task, **kind}
    for worker in _listed(stage.get("retire")):
        yield "retire_worker", {"worker_id": worker}


def _of_node(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the assignment of a node's worker; for a node without one, the hiring of a worker.

    With `repeats` the task is that of an earlier node, with `changes`.
    """
    worker = arguments.get("worker")
    if arguments.get("changes"):
        yield "create_work_node", {"name": arguments.get("name"), "task": arguments["changes"]}
    if worker and not (isinstance(worker, str) and is_new_worker(worker)):
        yield "assign_worker", {"node_id": arguments.get("name"), "worker_id": worker}
    else:
        kind = arguments.get("role")
        yield "spawn_worker", {"name": kind or "worker", "role": kind}


def _of_update(arguments: Arguments, _known: KnownNames) -> EquivalentCalls:
    """Yield the assignment of another worker, and the creation of a node with the new task."""
    node = arguments.get("node_id")
    if arguments.get("worker"):
        yield "assign_worker", {"node_id": node, "worker_id": arguments["worker"]}
    if arguments.get("task"):
        yield "create_work_node", {"name": node, "task": arguments["task"]}


EQUIVALENTS: Final[Mapping[str, Callable[[Arguments, KnownNames], EquivalentCalls]]] = {
    "append_shared_value": _of_append,
    "schedule": _of_schedule,
    "remember": _of_remember,
    "memory_write": _of_memory_write,
    "memory_read": _of_memory_read,
    "write_file": _of_write_file,
    "edit_file": _of_edit_file,
    "read_file": _of_read_file,
    "search": _of_search,
    "find_files": _of_find_files,
    "read_ref": _of_read_ref,
    "publish": _of_publish,
    "launch_roles": _of_launch,
    "create_work_node": _of_node,
    "update_node": _of_update,
}


def split_glob(glob: str) -> tuple[str, str]:
    """Return the folder that a pattern of file names begins with (`.` without one) and the rest."""
    *folders, name = glob.strip().split("/")
    count = next((n for n, part in enumerate(folders) if WILD.search(part)), len(folders))
    return "/".join(folders[:count]) or ".", "/".join((*folders[count:], name)) or "*"


def as_read(value: Any) -> Any:
    """Return a value, parsed if a model has written an object or a list as JSON text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    return json_in(value)


def _listed(value: Any) -> list[Any]:
    value = as_read(value)
    if isinstance(value, list | tuple):
        return list(value)
    return [value] if isinstance(value, str) and value.strip() else []
