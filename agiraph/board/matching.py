"""Matching: which worker can do which node.

A node may ask for a mode, a type of worker, an external agent, a model and tools. Any worker meets
a field that the node leaves open.
"""

from agiraph.board.board import Board
from agiraph.core.errors import IllegalTransition
from agiraph.core.models import Worker, WorkNode

ASKED = ("mode", "type", "agent_command", "model")


def can_do(board: Board, node: WorkNode, worker: Worker) -> bool:
    """Whether a worker meets all requirements of a node."""
    return _mismatch(board, node, worker) is None


def require_can_do(board: Board, node: WorkNode, worker: Worker) -> None:
    """Raise IllegalTransition that names the requirement that the worker does not meet."""
    if (field := _mismatch(board, node, worker)) is not None:
        raise IllegalTransition(
            f"worker '{worker.name}' cannot take node '{node.name}', which asks for {field} "
            f"{_asked(node, field)}: its {field} is {_has(board, worker, field) or 'none'}"
        )


def _asked(node: WorkNode, field: str) -> str:
    asked = getattr(node, field)
    return ", ".join(asked) if field == "tools" else str(asked)


def what_it_asks_for(node: WorkNode) -> str:
    """Return a node's requirements for its worker as text: `model X, mode Y`; '' if it has none."""
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
