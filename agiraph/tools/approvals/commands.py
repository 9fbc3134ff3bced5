"""Commands: the shell commands that a call gives to others; to give one is to run one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

GIVE_WORK = ("create_work_node", "launch_roles")
CHECKS = "checks"


def commands_in(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the commands in the arguments of a call: the checks of the nodes that it makes.

    Rules about `bash` are for them too, in whatever form a model has written them.
    """
    return list(_found(arguments)) if tool in GIVE_WORK else []


def _found(value: Any) -> Iterator[str]:
    value = _read(value)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _listed(inner) if key == CHECKS else _found(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(inner)


def _listed(value: Any) -> Iterator[str]:
    value = _read(value)
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, str) and one.strip():
            yield one.strip()


def _read(value: Any) -> Any:
    """Take an object or a list that a model wrote as JSON text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
