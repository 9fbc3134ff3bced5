"""Deadlock: nodes that can never continue because each waits for another of them; pure.

A node can end if its worker works on it; if it is blocked, when all nodes that it waits for can
end; if it is pending, when its dependencies can end and a worker can take it: the worker it is
reserved for, any worker that is free or can become free, or a new one. All other nodes are stuck,
and each stuck node is held up by another stuck node: following these leads round a cycle. Waiting
for a message, for the person or for a place under `max_concurrent` is no deadlock, because the
awaited party is at work.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agiraph.board.board import Board
from agiraph.board.matching import can_do
from agiraph.board.scheduler import places_left
from agiraph.board.wait_cycles import awaited_by
from agiraph.core.ids import NodeId
from agiraph.core.models import Worker, WorkNode


@dataclass(frozen=True, slots=True)
class WaitingNode:
    """A stuck node's obstacle: the stuck node `by` that it waits for.

    `why` is a sentence about it.
    """

    by: NodeId
    why: str


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A cycle of nodes, each held up by the next and the last by the first; `text` describes it."""

    cycle: tuple[NodeId, ...]
    text: str


def find_deadlocks(board: Board) -> tuple[Deadlock, ...]:
    """Return the cycles of nodes that wait for each other forever, each once."""
    held_up = stuck(board)
    cycles = dict.fromkeys(_cycle_from(start, held_up) for start in held_up)
    return tuple(Deadlock(cycle, "; ".join(held_up[n].why for n in cycle)) for cycle in cycles)


def _cycle_from(start: NodeId, held_up: Mapping[NodeId, WaitingNode]) -> tuple[NodeId, ...]:
    """Return the cycle reached from a stuck node by following its obstacles, smallest id first."""
    path = [start]
    while held_up[path[-1]].by not in path:
        path.append(held_up[path[-1]].by)
    cycle = path[path.index(held_up[path[-1]].by) :]
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def stuck(board: Board) -> Mapping[NodeId, WaitingNode]:
    """Return every node that can never end in the board's current state, with its obstacle.

    {} if no node waits.
    """
    if not board.is_running or not board.waits:  # without a wait every node is at work
        return {}
    open_nodes = [node for node in board.nodes.values() if not node.has_ended]
    live = {node.id for node in open_nodes if node.status in ("assigned", "running")}
    rest = [node for node in open_nodes if node.id not in live]
    while freed := [node for node in rest if _held_up(board, node, live) is None]:
        live.update(node.id for node in freed)
        rest = [node for node in rest if node.id not in live]
    found = {node.id: _held_up(board, node, live) for node in rest}
    return {node: why for node, why in found.items() if why is not None}


def _held_up(board: Board, node: WorkNode, live: set[NodeId]) -> WaitingNode | None:
    """Return the obstacle of a node, None if it has none; `live` are the nodes that can end."""
    waits = node.dependencies if node.status == "pending" else awaited_by(board, node.id)
    for other in (board.nodes[one] for one in waits):
        if not other.has_ended and other.id not in live:
            return WaitingNode(other.id, f"'{node.name}' waits for '{other.name}'")
    return _without_worker(board, node, live) if node.status == "pending" else None


def _without_worker(board: Board, node: WorkNode, live: set[NodeId]) -> WaitingNode | None:
    if node.wanted_worker is not None:
        wanted = board.workers[node.wanted_worker]
        if wanted.node is None or wanted.node in live:
            return None
        held = board.nodes[wanted.node].name
        why = f"'{node.name}' is kept for {wanted.name}, who holds '{held}'"
        return WaitingNode(wanted.node, why)
    if places_left(board) > 0:
        return None
    able = [worker for worker in board.team if can_do(board, node, worker)]
    holders = [_keeper(board, worker, live) for worker in able]
    if not holders or None in holders:
        return None
    by = next(holder for holder in holders if holder is not None)
    why = (
        f"'{node.name}' finds no worker: all {len(able)} are taken (run.max_workers), "
        f"such as the one for '{board.nodes[by].name}'"
    )
    return WaitingNode(by, why)


def _keeper(board: Board, worker: Worker, live: set[NodeId]) -> NodeId | None:
    """Return the stuck node that keeps a worker busy or reserved.

    None if the worker can be free.
    """
    if worker.node is not None and worker.node not in live:
        return worker.node
    for node in board.nodes.values():
        if node.wanted_worker == worker.id and node.status == "pending" and node.id not in live:
            return node.id
    return None
