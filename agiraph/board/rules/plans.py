"""Rules of a plan on the board: its open, incomplete and abandoned nodes.

A node is of the plan if the plan put it there; sub-nodes of workers are not. A run cannot be
finished while one of them has not ended. The coordinator may abandon a node by `cancel_node`, with
a reason; unless the plan marks that node as optional, the run then ends as failed.
"""

from collections.abc import Iterable

from agiraph.board.board import Board
from agiraph.board.commands import OF_PLAN
from agiraph.board.plan_stages import ALL, is_enough, plan_stage_of
from agiraph.core.ids import NodeId
from agiraph.core.models import CancelledBy, WorkNode


def is_of_plan(node: WorkNode) -> bool:
    """Whether the plan put a node on the board; this includes the copies of a `for_each`."""
    return node.cause.startswith(OF_PLAN)


def nodes_of_plan(board: Board) -> tuple[WorkNode, ...]:
    """Return the nodes of the plan in the order of their creation, copies instead of their node."""
    return tuple(node for node in board.nodes.values() if is_of_plan(node) and not node.copies)


def open_of_plan(board: Board) -> tuple[WorkNode, ...]:
    """Return the nodes of the plan that have not ended."""
    return tuple(node for node in nodes_of_plan(board) if not node.has_ended)


def incomplete_of_plan(board: Board) -> tuple[WorkNode, ...]:
    """Return the nodes of the plan that failed or were cancelled.

    Nodes that the plan's own contract continued without are not included.
    """
    lost = (node for node in nodes_of_plan(board) if node.status in ("failed", "cancelled"))
    return tuple(node for node in lost if not _is_spared(board, node))


def _is_spared(board: Board, node: WorkNode) -> bool:
    """Whether the policy of a node's stage (board or plan) was met without the node."""
    if board.stages[node.stage].over in ("majority", "any"):
        return True
    return node.enough != ALL and is_enough(plan_stage_of(board.nodes.values(), node))


def lost_to(board: Board, who: CancelledBy) -> set[NodeId]:
    """Return the nodes that `who` cancelled, and the nodes that failed because of them."""
    lost: set[NodeId] = set()
    for node in board.nodes.values():  # in the order of creation: dependencies come first
        never_began = node.status == "failed" and board.times[node.id].assigned is None
        was_cancelled = node.status == "cancelled" and node.cancelled_by == who
        if was_cancelled or (never_began and not lost.isdisjoint(node.dependencies)):
            lost.add(node.id)
    return lost


def given_up_of_plan(board: Board) -> tuple[WorkNode, ...]:
    """Return the required nodes of the plan that the coordinator cancelled or so lost."""
    lost = lost_to(board, "coordinator")
    missing = incomplete_of_plan(board)
    return tuple(node for node in missing if node.id in lost and not node.optional)


def named(nodes: Iterable[WorkNode]) -> str:
    """Return the names of nodes with their states, for people."""
    return ", ".join(f"{node.name} ({node.status})" for node in nodes)


def named_with_reason(nodes: Iterable[WorkNode]) -> str:
    """Return the names of nodes with their states and reasons, for people."""
    return ", ".join(
        f"{node.name} ({node.status}: {node.reason or 'no reason was given'})" for node in nodes
    )
