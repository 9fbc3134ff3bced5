"""Wait cycles: find a cycle of waits, and order nodes so that dependencies come first.

`waits` maps a name to the names it waits for; a name that is no key waits for nothing.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from agiraph.board.board import Board
from agiraph.core.ids import NodeId


def awaited_by(board: Board, node: NodeId) -> tuple[NodeId, ...]:
    """Return the nodes that a blocked node waits for; () if it waits for a message or works."""
    return board.waits[node].waits_for if node in board.waits else ()


def find_cycle(waits: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """Return a cycle such as ("a", "b", "a") in which each waits for the next; None if none."""
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return None


def dependencies_first(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the keys of `waits`, each after the names it waits for, otherwise in their order.

    All awaited names are keys, and there is no cycle. The stack is our own: a plan may be deeper
    than Python's recursion limit.
    """
    order: dict[str, None] = {}
    for start in waits:
        stack = [start]
        while stack:
            missing = [needed for needed in waits[stack[-1]] if needed not in order]
            if missing:
                stack.extend(reversed(missing))
            else:
                order[stack.pop()] = None
    return list(order)
