"""Names: find a node or worker by name or id, and choose unused names for new ones."""

import unicodedata
from collections.abc import Collection
from contextlib import suppress
from itertools import count

from agiraph.board.board import Board
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import RESERVED_NAMES, NodeId, RunId, WorkerId, short_derived_id, slug
from agiraph.core.models import Worker, WorkNode

NAME_WORDS = 5
NAME_LIMIT = 40


def find_node(board: Board, named: str) -> WorkNode:
    """Return the node with this id or name.

    Raises InvalidInput, which lists the known names.
    """
    wanted = named.strip()
    if found := board.nodes.get(NodeId(wanted)):
        return found
    if named_so := board.names.get(wanted.lower()):
        return board.nodes[named_so]
    if named_so := board.names.get(slug(wanted, fallback="")):
        return board.nodes[named_so]
    raise unknown("node", named, [node.name for node in board.nodes.values()])


def find_worker(board: Board, named: str) -> Worker:
    """Return the worker with this id or name (team members first).

    Raises InvalidInput, which lists the known workers.
    """
    wanted = named.strip()
    if found := board.workers.get(WorkerId(wanted)):
        return found
    same_name = [w for w in board.workers.values() if same(w.name, wanted)]
    on_team = [w for w in same_name if w.status != "stopped"]
    if on_team or same_name:
        return (on_team or same_name)[-1]
    raise unknown("worker", named, [worker.name for worker in board.team])


def names_meant(board: Board, named: str) -> tuple[str, ...]:
    """Return all names and ids of the node and of the worker that a text may refer to."""
    found: list[str] = []
    with suppress(InvalidInput):
        node = find_node(board, named)
        found += [node.name, node.id]
    with suppress(InvalidInput):
        worker = find_worker(board, named)
        found += [worker.name, worker.id]
    return tuple(found)


def idle_names(board: Board) -> str:
    """Return the names of the idle workers, for error messages."""
    return ", ".join(w.name for w in board.team if w.status == "idle") or "none"


def same(one: str, other: str) -> bool:
    """Whether two names of workers are equal without case and surrounding spaces."""
    return one.strip().casefold() == other.strip().casefold()


def new_node_name(board: Board, wanted: str | None, task: str) -> str:
    """Return an unused name for a node: from the wanted name, otherwise from its task."""
    taken = board.names
    if wanted and slug(wanted, fallback=""):
        return free_name(slug(wanted), taken)
    return free_name(slug(" ".join(task.split()[:NAME_WORDS]), fallback="node"), taken)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or with the first of -2, -3 ... that is not taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def numbered_name(role: str, taken: Collection[str]) -> str:
    """Return the first of ROLE-1, ROLE-2 ... that is not taken; `taken` is in lower case."""
    stem = slug(role, fallback="worker")
    return next(name for number in count(1) if (name := f"{stem}-{number}") not in taken)


def new_worker_name(board: Board, wanted: str) -> str:
    """Return the checked name of a new worker; raises InvalidInput, IllegalTransition.

    It must not be empty, reserved, taken, or contain odd characters.
    """
    name = check_worker_name(wanted)
    for worker in board.team:
        if same(worker.name, name) or worker.id == name:
            raise InvalidInput(f"the worker name '{name}' is taken by worker {worker.id}")
    return name


def check_worker_name(wanted: str) -> str:
    """Return a worker's name with its spaces normalized.

    Raises InvalidInput if it is odd or reserved. The first character is a letter or a digit, so
    that `..`, `.` and `@human` are no names.
    """
    name = " ".join(wanted.split())
    is_printable = wanted.strip().isprintable() and not set(name) & set("/\\*")
    if not (is_printable and name[:1].isalnum() and len(name) <= NAME_LIMIT):
        raise InvalidInput(
            f"a worker cannot be called {wanted!r} (possible: 1 to {NAME_LIMIT} printable "
            "characters without / \\ *, the first a letter or a digit)"
        )
    if unicodedata.normalize("NFKC", name).casefold() in RESERVED_NAMES:
        raise InvalidInput(
            f"the worker name '{name}' is reserved (as are {', '.join(sorted(RESERVED_NAMES))})"
        )
    return name


def named_after(node: str) -> str:
    """Return a name for the worker of one node: the node's name, unless that is reserved."""
    return f"{node}-worker" if node.casefold() in RESERVED_NAMES else node


def new_id(run: RunId, cause: str, taken: Collection[str]) -> str:
    """Return the first id derived from `run` and `cause` that is not in `taken`."""
    made, number = short_derived_id(run, cause), 1
    while made in taken:
        number += 1
        made = short_derived_id(run, cause, str(number))
    return made
