"""Which calls have the effect of another tool: a rule about it is asked about them too. Pure.

EQUIVALENTS is the table: for each tool the calls of other tools whose effect a call has. Commands
in the checks of nodes are `commands_in` (`policy`). The text of a command is not looked into:
`bash` can write any file that its sandbox lets it write.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agiraph.core.turns import json_in

Arguments = Mapping[str, Any]
EquivalentCalls = Iterator[tuple[str, Arguments]]


def equivalent_calls(tool: str, arguments: Arguments) -> EquivalentCalls:
    """Yield the calls of other tools whose effect a call has, in whatever form it is written."""
    if (found := EQUIVALENTS.get(tool)) is not None:
        yield from found(arguments)


def _of_append(arguments: Arguments) -> EquivalentCalls:
    """A list is a value of the shared context: adding to it changes the value."""
    yield "write_context", {"key": arguments.get("key"), "value": arguments.get("item")}


def _of_schedule(arguments: Arguments) -> EquivalentCalls:
    """A trigger sends its message later, in the name of the agent."""
    action = as_read(arguments.get("action"))
    if isinstance(action, Mapping) and action.get("type") == "send_message":
        payload = as_read(action.get("payload"))
        yield "send_message", payload if isinstance(payload, Mapping) else {}


def _of_launch(arguments: Arguments) -> EquivalentCalls:
    """A stage hires a worker and creates a node for each role, and may let workers go."""
    stage = as_read(arguments.get("stage"))
    if not isinstance(stage, Mapping):
        return
    for role in map(as_read, _listed(stage.get("roles"))):
        if isinstance(role, Mapping):
            yield "spawn_worker", {"name": role.get("name")}
            yield "create_work_node", {"task": role.get("prompt", role.get("task"))}
    for worker in _listed(stage.get("retire")):
        yield "retire_worker", {"worker_id": worker}


def _of_node(arguments: Arguments) -> EquivalentCalls:
    """A node may name its worker; for a node without one a worker may be hired."""
    if arguments.get("worker"):
        yield (
            "assign_worker",
            {"node_id": arguments.get("name"), "worker_id": arguments["worker"]},
        )
    else:
        yield "spawn_worker", {"name": arguments.get("role") or "worker"}


EQUIVALENTS: Final[Mapping[str, Callable[[Arguments], EquivalentCalls]]] = {
    "append_context": _of_append,
    "schedule": _of_schedule,
    "launch_roles": _of_launch,
    "create_work_node": _of_node,
}


def as_read(value: Any) -> Any:
    """Return an object or a list that a model may have written as JSON text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    return json_in(value)


def _listed(value: Any) -> list[Any]:
    value = as_read(value)
    if isinstance(value, list | tuple):
        return list(value)
    return [value] if isinstance(value, str) and value.strip() else []
