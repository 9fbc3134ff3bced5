"""Names in calls of the API: the thing that they identify, or the refusal with the candidates."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from agiraph.board.board import Board
from agiraph.board.names import find_node, find_worker
from agiraph.core import naming
from agiraph.core.errors import Ambiguous, InvalidInput
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import Agent, Worker, WorkNode
from agiraph.core.naming import Thing
from agiraph.http.errors import AMBIGUOUS, ApiError

UNKNOWN = 404
CONFLICT = 409


@contextmanager
def _refusing() -> Iterator[None]:
    """Raise ApiError 404 or 409 for an unknown or ambiguous name in the block."""
    try:
        yield
    except Ambiguous as error:
        raise ApiError(CONFLICT, str(error), AMBIGUOUS) from None
    except InvalidInput as error:
        raise ApiError(UNKNOWN, str(error)) from None


def meant(
    kind: str,
    text: str,
    names: Iterable[tuple[str, Thing]],
    show: Callable[[Thing], str] = str,
    known: Collection[str] | None = None,
) -> Thing:
    """Return the result of `agiraph.core.naming.meant`. Raises ApiError 404, 409 with the
    candidates.
    """
    with _refusing():
        return naming.meant(kind, text, names, show, known)


def node_named(board: Board, text: str) -> WorkNode:
    """Return a node by name, id, folder or the beginning of one. Raises ApiError 404, 409."""
    try:
        return find_node(board, text)  # an exact match, in any case
    except InvalidInput:
        nodes = board.nodes
    names = [(name, id) for id, node in nodes.items() for name in (node.name, id)]
    return nodes[meant("node", text, names, lambda id: nodes[id].name)]


def member_named(agent: Agent, board: Board, text: str, kind: str = "entity") -> Worker | None:
    """Return a worker by name, id or the beginning of one, None for the coordinator.

    If several workers have one name, return the worker on the team. Raises ApiError 404, 409.
    """
    try:
        return find_worker(board, text)
    except InvalidInput:
        pass
    workers = {str(id): worker for id, worker in board.workers.items()}
    names = [(name, "") for name in (COORDINATOR_NAME, agent.name, agent.id)]
    names += [(one.name, find_worker(board, one.name).id) for one in workers.values()]
    names += [(id, id) for id in workers]
    shown = {"": COORDINATOR_NAME} | {id: worker.name for id, worker in workers.items()}
    id = meant(kind, text, names, shown.__getitem__, [*dict.fromkeys(shown.values())])
    return workers[id] if id else None
