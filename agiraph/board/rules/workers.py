"""Rules of a worker's life: spawn, retire, lose."""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent
from agiraph.board.names import find_worker, idle_names, new_id, new_worker_name
from agiraph.board.rules.moves import released
from agiraph.board.rules.runs import require_running
from agiraph.board.rules.sub_nodes import cancelled_with
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import WorkerId, slug
from agiraph.core.models import Worker


def spawn(board: Board, command: c.SpawnWorker, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that add a worker to the team; () if its cause has added one.

    Raises IllegalTransition, InvalidInput.
    """
    if board.worker_by_cause(command.cause):
        return ()
    run = require_running(board)
    if len(board.team) >= run.max_workers:
        idle = idle_names(board)
        raise IllegalTransition(
            f"the team has its {run.max_workers} workers (run.max_workers); no more can be spawned "
            f"(possible: give the work to one of them, or retire one first; idle now: {idle})"
        )
    spec = command.spec
    name = new_worker_name(board, spec.name)
    if spec.type == "autonomous" and not (spec.agent_command or "").strip():
        raise InvalidInput(f"worker '{name}' is autonomous and needs an agent_command")
    taken = {worker_id.rpartition("-")[2] for worker_id in board.workers}
    placed = {
        "id": WorkerId(f"{slug(name, fallback='worker')}-{new_id(run.id, command.cause, taken)}"),
        "name": name,
        "role": (spec.role or "").strip() or "worker",
        "cause": command.cause,
    }
    worker = Worker.model_validate({**dict(spec), **placed})
    return (e.WorkerSpawned(ts=now, worker=worker),)


def require_lead(board: Board, named: str) -> None:
    """Raise IllegalTransition if a worker may not hire workers and open stages."""
    worker = find_worker(board, named)
    if not worker.can_lead:
        raise IllegalTransition(
            f"worker '{worker.name}' may not lead (can_lead), so it cannot hire workers or open "
            "stages (possible: create nodes, or `suggest_next` to the coordinator)"
        )


def retire(board: Board, command: c.RetireWorker, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that remove a worker from the team; () if it has left.

    Raises IllegalTransition if a node needs the worker.
    """
    worker = find_worker(board, command.worker)
    if worker.status == "stopped":
        return ()
    if worker.node is not None:
        node = board.nodes[worker.node]
        raise IllegalTransition(
            f"worker '{worker.name}' holds node '{node.name}' ({node.status}): "
            "wait until it has ended, or cancel it"
        )
    pending = (node for node in board.nodes.values() if node.status == "pending")
    kept = [node.name for node in pending if node.wanted_worker == worker.id]
    if kept:
        raise IllegalTransition(
            f"worker '{worker.name}' is wanted by {', '.join(kept)}: "
            "assign them to another worker or cancel them first"
        )
    return (e.WorkerStopped(ts=now, worker_id=worker.id, reason="retired"),)


def lose(board: Board, command: c.LoseWorker, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that remove a worker in any state; the node that it holds fails."""
    worker = find_worker(board, command.worker)
    if worker.status == "stopped":
        return ()
    stopped = e.WorkerStopped(ts=now, worker_id=worker.id, reason=command.reason)
    if worker.node is None:
        return (stopped,)
    reason = f"its worker '{worker.name}' was lost: {command.reason}"
    if let_go := released(board, board.nodes[worker.node], now, reason):
        return (*let_go, stopped)
    details = command.details[-e.MOST_DETAILS :]
    failed = e.NodeFailed(ts=now, node_id=worker.node, reason=reason, details=details)
    below = cancelled_with(board, board.nodes[worker.node], f"failed: {reason}", now)
    return (failed, *below, stopped)
