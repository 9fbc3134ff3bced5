"""Matching: which worker can do which node.

A node may ask for a way of working, a type of worker, an external agent and a model. What it does
not ask for, any worker has.
"""

from agiraph.board.board import Board
from agiraph.core.errors import IllegalTransition
from agiraph.core.models import Worker, WorkNode

ASKED = ("mode", "type", "agent_command", "model")


def can_do(board: Board, node: WorkNode, worker: Worker) -> bool:
    """Whether a worker is what a node asks for."""
    return _mismatch(board, node, worker) is None


def require_can_do(board: Board, node: WorkNode, worker: Worker) -> None:
    """Raise IllegalTransition that names what the node asks for and the worker has not."""
    if (field := _mismatch(board, node, worker)) is not None:
        raise IllegalTransition(
            f"worker '{worker.name}' cannot take node '{node.name}', which asks for {field} "
            f"{_asked(node, field)}: its {field} is {_has(board, worker, field) or 'none'}"
        )


def _asked(node: WorkNode, field: str) -> str:
    asked = getattr(node, field)
    return ", ".join(asked) if field == "tools" else str(asked)


def what_it_asks_for(node: WorkNode) -> str:
    """Return what a node asks of its worker, in words."""
    asked = {field: getattr(node, field) for field in ASKED}
    return ", ".join(f"{field} {value}" for field, value in asked.items() if value is not None)


def _mismatch(board: Board, node: WorkNode, worker: Worker) -> str | None:
    for field in ASKED:
        asked = getattr(node, field)
        if asked is not None and asked != _has(board, worker, field):
            return field
    if node.tools is not None and worker.tools is not None and set(node.tools) - set(worker.tools):
        return "tools"
    return None


def _has(board: Board, worker: Worker, field: str) -> str | None:
    if field == "tools":
        return ", ".join(worker.tools or ())
    has: str | None = getattr(worker, field)
    return worker_model(board, worker) if field == "model" else has


def worker_model(board: Board, worker: Worker) -> str | None:
    """Return the model of a worker: its own, or the run's."""
    return worker.model or (board.run.worker_model if board.run is not None else None)
