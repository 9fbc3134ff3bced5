"""The end of a plan that no model leads: time, outcome and result of the run; pure."""

from agiraph.board.board import Board
from agiraph.board.commands import FinishRun, StopRun
from agiraph.board.deadlock import find_deadlocks
from agiraph.board.rules.plans import (
    incomplete_of_plan,
    lost_to,
    named_with_reason,
    nodes_of_plan,
)
from agiraph.core.models import WorkNode


def end_of_plan(board: Board) -> FinishRun | StopRun | None:
    """Return the command that ends a run led by its plan, None while nodes may still continue.

    The run fails if a required node was not completed, unless the person cancelled it or one of its
    dependencies, and if nodes wait for each other in a cycle that was noted.
    """
    if not board.is_running or not board.nodes:
        return None
    noted = find_deadlocks(board) if board.deadlocks else ()
    if cycles := [found.text for found in noted if found.cycle in board.deadlocks]:
        return StopRun("failed", f"deadlock: {'; '.join(cycles)}")
    if not all(node.has_ended for node in reversed([*board.nodes.each()])):  # usually ends last
        return None
    by_person = lost_to(board, "human")
    missing = [
        node for node in incomplete_of_plan(board) if not node.optional and node.id not in by_person
    ]
    if missing:
        why = f"nodes of the plan were not completed: {named_with_reason(missing)}"
        return StopRun("failed", why)
    return FinishRun(result_of_plan(board))


def result_of_plan(board: Board) -> str:
    """Return the summary of the plan's last node; of several, each below its node's name.

    Last nodes are completed nodes whose result no other completed node uses.
    """
    last = _last_nodes(board)
    if len(last) == 1:
        return last[0].summary or ""
    return "\n\n".join(f"## {node.name}\n\n{node.summary or ''}" for node in last)


def _last_nodes(board: Board) -> list[WorkNode]:
    """Return the completed nodes of the plan whose result no other completed node uses."""
    done = [node for node in nodes_of_plan(board) if node.status == "completed"]
    used = {needed for node in done for needed in node.dependencies}
    return [node for node in done if node.id not in used]
