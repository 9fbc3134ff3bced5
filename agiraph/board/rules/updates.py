"""Rules of changing a node: its terms and its worker, while it is pending or held by a worker.

The worker that holds the node is notified of the difference. New refs of such a node must lead to
completed nodes, because its worker has begun; a pending node waits for the nodes of its new refs.
"""

from typing import Any

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, fold
from agiraph.board.events import BoardEvent
from agiraph.board.names import find_node
from agiraph.board.rules.moves import move
from agiraph.board.rules.nodes import dependencies_of, normal_refs
from agiraph.board.rules.plans import is_of_plan
from agiraph.board.rules.runs import require_running
from agiraph.board.rules.sub_nodes import is_coordinators, waits_of
from agiraph.board.wait_cycles import find_cycle
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import NodeId
from agiraph.core.models import HELD_NODE, WorkNode
from agiraph.core.node_changes import NodeChanges
from agiraph.core.results import normal_checks

OF_HUMAN = ("task", "checks", "refs")
"""The terms of a plan's node that only a person changes."""


def update(board: Board, command: c.UpdateNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that change a node; () for a repeated cause, or without a difference."""
    node = find_node(board, command.node)
    if command.cause in (node.update.cause, node.move.cause if node.move else ""):
        return ()
    require_running(board)
    _require_open(board, node)
    _require_permitted(node, command)
    updated = _updated(board, node, command, now)
    if command.worker is None:
        return updated
    to = c.MoveNode(node.id, command.cause, command.worker)
    return (*updated, *move(fold(updated, board), to, now))


def _require_open(board: Board, node: WorkNode) -> None:
    if node.status not in ("pending", *HELD_NODE):
        raise IllegalTransition(
            f"node '{node.name}' is {node.status} and cannot be changed (only before it has ended)"
        )
    if not is_coordinators(board, node):
        raise IllegalTransition(
            f"node '{node.name}' is a sub-node, and the worker above it manages it "
            "(possible: send that worker a message)"
        )


def _require_permitted(node: WorkNode, command: c.UpdateNode) -> None:
    named = (*command.changes.named, *(("accept",) if command.accepted else ()))
    kept = [name for name in named if name in (*OF_HUMAN, "accept")]
    if is_of_plan(node) and kept:
        raise IllegalTransition(
            f"node '{node.name}' is of the plan, so its {', '.join(kept)} cannot be changed "
            "(possible: its limits and its worker)"
        )
    if node.status in HELD_NODE and node.mode == "single_inference" and named:
        raise IllegalTransition(
            f"node '{node.name}' is a single model call, which has begun "
            "(possible: cancel the node and create it again)"
        )
    if command.accepted and not (node.checks or command.changes.checks):
        raise InvalidInput(f"accept: node '{node.name}' has no checks")


def _updated(
    board: Board, node: WorkNode, command: c.UpdateNode, now: float
) -> tuple[BoardEvent, ...]:
    """Return the event with the terms that really change; () if there are none."""
    asked: dict[str, Any] = {name: getattr(command.changes, name) for name in command.changes.named}
    if "checks" in asked:
        asked["checks"] = normal_checks(asked["checks"])
    if "task" in asked and not asked["task"].strip():
        raise InvalidInput("a node needs a task: describe the work")
    dependencies = None
    if "refs" in asked:
        asked["refs"], dependencies = _with_refs(board, node, asked["refs"])
    new = {name: value for name, value in asked.items() if value != getattr(node, name)}
    if not new and command.accepted == node.update.accepted:
        return ()
    updated = e.NodeUpdated(
        ts=now,
        node_id=node.id,
        cause=command.cause,
        old=NodeChanges.model_construct(**{name: getattr(node, name) for name in new}),
        new=NodeChanges.model_construct(**new),
        accepted=command.accepted,
        dependencies=dependencies if "refs" in new else None,
    )
    return (updated,)


def _with_refs(
    board: Board, node: WorkNode, asked: dict[str, str]
) -> tuple[dict[str, str], tuple[NodeId, ...]]:
    """Return the paths of new refs, and the dependencies of the node with these refs."""
    refs, sources = normal_refs(board, asked)
    needed = dependencies_of(board, [], sources)
    if node.status in HELD_NODE and needed:
        names = ", ".join(f"{board.nodes[one].name} ({board.nodes[one].status})" for one in needed)
        raise IllegalTransition(
            f"refs: node '{node.name}' is {node.status}, so its refs must lead to completed nodes, "
            f"not to {names}"
        )
    dropped = {one.id for one in board.nodes.values() if node.refers_to(one)} - node.when.keys()
    kept = (one for one in node.dependencies if one not in dropped)
    dependencies = tuple(dict.fromkeys((*kept, *needed)))
    waits: dict[str, tuple[str, ...]] = dict(waits_of(board).items())
    waits[node.id] = dependencies
    cycle = find_cycle(waits)
    if cycle:
        names = " -> ".join(board.nodes[NodeId(one)].name for one in cycle)
        raise IllegalTransition(f"refs: node '{node.name}' would wait for itself: {names}")
    return refs, dependencies
