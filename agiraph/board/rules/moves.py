"""Rules of moving a node to another worker or model, by order of the person or the coordinator.

A node that no worker holds moves when it starts; a failed node is retried there. A held node stays
with its worker until it is released (`release`), so no other worker writes into its folder
meanwhile. If its worker completes it first, it is completed; if it fails or the worker is lost,
that releases it.
"""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, fold
from agiraph.board.events import BoardEvent
from agiraph.board.matching import can_do, require_can_do, what_it_asks_for, worker_model
from agiraph.board.names import find_node, find_worker
from agiraph.board.rules.retries import retry
from agiraph.board.rules.runs import require_running
from agiraph.board.rules.sub_nodes import cancelled_with, refuse_parent_cycle
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.models import HELD_NODE, Worker, WorkNode
from agiraph.core.node_changes import NodeMove


def move(board: Board, command: c.MoveNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that move a node to another worker or model; () if it is there already."""
    if command.worker is None and command.model is None:
        raise InvalidInput("name a worker of the team, a model, or both")
    node = find_node(board, command.node)
    if command.cause in (node.retried_by, node.move.cause if node.move else ""):
        return ()
    if node.status == "failed":
        again = retry(board, c.RetryNode(node.id, command.cause, command.because), now)
        draft = fold(again, board)
        return (*again, *_moved(draft, draft.nodes[node.id], command, now))
    if node.has_ended:
        possible = "run it again first" if node.status == "completed" else "create it again"
        raise IllegalTransition(
            f"node '{node.name}' is {node.status} and cannot be moved (possible: {possible})"
        )
    require_running(board)
    return _moved(board, node, command, now)


def _moved(board: Board, node: WorkNode, command: c.MoveNode, now: float) -> tuple[BoardEvent, ...]:
    worker = find_worker(board, command.worker) if command.worker else None
    wanted = node.model_copy(update={"model": command.model or node.model})
    if worker is not None:
        _require_fit(board, wanted, worker)
    elif not _can_anybody(board, wanted):
        raise IllegalTransition(
            f"the team is full (run.max_workers) and nobody in it has {what_it_asks_for(wanted)}"
        )
    if _is_so(board, node, worker, wanted):
        return ()
    target = NodeMove(
        cause=command.cause,
        worker=worker.id if worker else None,
        model=command.model,
        because=command.because,
    )
    return (e.NodeMoved(ts=now, node_id=node.id, move=target),)


def _require_fit(board: Board, node: WorkNode, worker: Worker) -> None:
    if worker.status == "stopped":
        raise IllegalTransition(f"worker '{worker.name}' has stopped")
    require_can_do(board, node, worker)
    parent = board.nodes[node.parent_node] if node.parent_node else None
    refuse_parent_cycle(board, node.name, parent, node.dependencies, worker)


def _can_anybody(board: Board, node: WorkNode) -> bool:
    has_room = board.run is not None and len(board.team) < board.run.max_workers
    return has_room or any(can_do(board, node, worker) for worker in board.team)


def _is_so(board: Board, node: WorkNode, worker: Worker | None, wanted: WorkNode) -> bool:
    """Whether a node has, or is reserved for, the worker and model that a move asks for."""
    if node.move is not None:
        return False
    if node.status == "pending":
        is_there = node.wanted_worker == (worker.id if worker else None)
        return is_there and node.model == wanted.model
    assert node.assigned_worker is not None
    holder = board.workers[node.assigned_worker]
    is_holder = worker is None or worker.id == holder.id
    return is_holder and wanted.model in (None, worker_model(board, holder))


def release(board: Board, command: c.ReleaseNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events of a node's release by its worker, () if it is not to be moved."""
    node = find_node(board, command.node)
    if command.attempt != node.attempt:
        return ()
    return released(board, node, now)


def released(board: Board, node: WorkNode, now: float, why: str = "") -> tuple[BoardEvent, ...]:
    """Return the events of a release by the node's worker; () if it is not to be moved.

    `why` is the reason why its attempt ended, '' if that was only the move.
    """
    if node.move is None or node.status not in HELD_NODE:
        return ()
    assert node.assigned_worker is not None
    name = board.workers[node.assigned_worker].name
    because = f": {node.move.because}" if node.move.because else ""
    reason = why or f"it was taken from {name}{because}"
    let_go = e.NodeReleased(ts=now, node_id=node.id, reason=reason)
    return (let_go, *cancelled_with(board, node, "was given to another worker", now))
