"""Rules of retrying a node: which nodes are retried with it, and when that is possible.

The node is pending again under its id, so references to it stay valid; its next attempt continues
in the same folder, and its reason becomes `failed_before`. Nodes that failed because of it are
retried with it. A failed run continues: nodes that were cancelled at its end are retried, too. A
completed node can be repeated until a node that needs its result has begun. Its published files are
then set aside, and those nodes wait for it again. A stage that is over was assessed without the
node, so nothing in it is retried. The board itself retries a node with `retries` (`do_again`),
before other nodes fail because of it.
"""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent
from agiraph.board.names import find_node
from agiraph.board.plan_stages import ALL, is_enough, plan_stage_of
from agiraph.board.rules.runs import cancelled_at_end
from agiraph.board.rules.stages import is_late
from agiraph.core.errors import IllegalTransition
from agiraph.core.ids import NodeId
from agiraph.core.models import WorkNode

ANOTHER = "possible: ask the coordinator for that work, or give the agent another goal"


def retry(board: Board, command: c.RetryNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that retry a node that failed or was completed.

    A repeated cause has no second effect.
    """
    node = find_node(board, command.node)
    if node.retried_by == command.cause:
        return ()
    if node.copies:
        names = ", ".join(board.nodes[one].name for one in node.copies)
        raise IllegalTransition(f"node '{node.name}' has become {names}: try one of those again")
    if node.status == "completed":
        return _once_more(board, node, command, now)
    if node.status != "failed":
        raise IllegalTransition(
            f"node '{node.name}' is {node.status} and cannot be tried again (only when failed, or "
            "completed and not used yet)"
        )
    _require_run(board)
    _require_stage(board, node, now)
    parent = board.nodes[node.parent_node] if node.parent_node else None
    if parent is not None and parent.has_ended:
        raise IllegalTransition(
            f"node '{node.name}' is a part of node '{parent.name}', which is {parent.status}: "
            "only that one can be tried again, if it failed"
        )
    # A node that is retried creates its sub-nodes itself.
    ended = [one.id for one in cancelled_at_end(board) if one.parent_node is None]
    chosen = {node.id: None} | dict.fromkeys(ended)
    chosen |= _failed_for(board, set(chosen))
    again = (
        e.NodeRetried(ts=now, node_id=one, cause=command.cause, because=command.because)
        for one in board.nodes
        if one in chosen
    )
    reopened = () if board.is_running else (e.RunReopened(ts=now, cause=command.cause),)
    return (*reopened, *again)


def do_again(board: Board, command: c.RetryFailedNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events by which the board retries a failed node; () if no retries are left."""
    node = find_node(board, command.node)
    if not board.is_done_again(node):
        return ()
    again = e.NodeRetried(
        ts=now,
        node_id=node.id,
        cause=f"retries:{node.id}:{node.attempt}",
        because=f"retry {node.retried + 1} of {node.retries}",
        not_before=now + node.retry_delay_seconds,
    )
    return (again,)


def _once_more(
    board: Board, node: WorkNode, command: c.RetryNode, now: float
) -> tuple[BoardEvent, ...]:
    """Return the events that repeat a completed node, whose result no node may have used."""
    if not board.is_running:
        status = board.run.status if board.run is not None else "not begun"
        raise IllegalTransition(
            f"node '{node.name}' is completed and the run is {status}: its result stands "
            "(possible: give the agent another goal)"
        )
    _require_stage(board, node, now)
    if node.parent_node is not None:
        parent = board.nodes[node.parent_node].name
        raise IllegalTransition(
            f"node '{node.name}' is completed, and the worker of '{parent}' has been given its "
            f"result (possible: write to that worker, or run '{parent}' again)"
        )
    users = [one.name for one in board.nodes.values() if _has_used(board, one, node)]
    if users:
        raise IllegalTransition(
            f"node '{node.name}' is completed, and {', '.join(users)} began with its result: it "
            "stands (possible: cancel those that have not ended and ask the coordinator for them "
            "again, or give the agent another goal)"
        )
    again = e.NodeRetried(ts=now, node_id=node.id, cause=command.cause, because=command.because)
    return (again,)


def _has_used(board: Board, other: WorkNode, node: WorkNode) -> bool:
    """Whether `other` needs the result of `node` and has begun, or has evaluated it."""
    needs = node.id in other.dependencies or other.refers_to(node)
    is_decided = bool(other.edges or other.copies) or other.status == "skipped"
    return needs and (is_decided or board.times[other.id].assigned is not None)


def _require_run(board: Board) -> None:
    """Raise IllegalTransition unless the run is running or failed: other results are final."""
    run = board.run
    if run is None or run.status not in ("running", "failed"):
        status = run.status if run is not None else "not begun"
        raise IllegalTransition(f"the run is {status}: nothing in it is tried again ({ANOTHER})")


def _require_stage(board: Board, node: WorkNode, now: float) -> None:
    stage = board.stages[node.stage]
    is_closed = stage.assessment is not None or stage.closed_by or stage.over
    went_on = node.enough != ALL and is_enough(plan_stage_of(board.nodes.values(), node))
    if is_closed or went_on or is_late(stage, now) or node.stage != len(board.stages) - 1:
        raise IllegalTransition(
            f"stage '{stage.name}' of node '{node.name}' is over: it cannot be tried again "
            f"({ANOTHER})"
        )


def _failed_for(board: Board, found: set[NodeId]) -> dict[NodeId, None]:
    """Return the nodes that failed without an attempt because a node in `found` failed.

    They are added to `found`.
    """
    more: dict[NodeId, None] = {}
    for node in board.nodes.values():  # in order of creation: dependencies come first
        parent = board.nodes[node.parent_node] if node.parent_node else None
        is_wanted = parent is None or not parent.has_ended
        waited = node.status == "failed" and board.times[node.id].assigned is None
        if waited and is_wanted and found.intersection(node.dependencies):
            found.add(node.id)
            more[node.id] = None
    return more
