"""Rules of sub-nodes, which workers created below their own node: depth, overseer, end.

A node of the coordinator is at depth 1, a sub-node one deeper than its parent. The overseer of a
node is notified of its end and decides: the worker of its nearest ancestor that has not ended,
otherwise the coordinator. When a parent fails or is cancelled, its open sub-nodes are cancelled:
their results would be unused. When a parent is completed, the next ancestor oversees them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts, apply
from agiraph.board.events import BoardEvent
from agiraph.board.wait_cycles import awaited_by
from agiraph.core.errors import IllegalTransition
from agiraph.core.ids import NodeId
from agiraph.core.models import Worker, WorkNode


def ancestors(board: Board, node: WorkNode) -> Iterator[WorkNode]:
    """Yield the ancestors of a node: its parent, the parent of that, up to the top."""
    parent = node.parent_node
    while parent is not None:
        above = board.nodes[parent]
        yield above
        parent = above.parent_node


def depth(board: Board, node: WorkNode) -> int:
    """Return the depth of a node, 1 for the coordinator's own nodes."""
    return 1 + sum(1 for _ in ancestors(board, node))


def overseer(board: Board, node: WorkNode) -> WorkNode | None:
    """Return the nearest ancestor that has not ended; None: the coordinator oversees it."""
    return next((above for above in ancestors(board, node) if not above.has_ended), None)


def is_coordinators(board: Board, node: WorkNode) -> bool:
    """Whether the coordinator oversees a node: it created it, or all ancestors are completed.

    A sub-node that ended while an ancestor still worked was overseen by that ancestor, and stays
    so.
    """
    above = list(ancestors(board, node))
    if not all(one.status == "completed" for one in above):
        return False
    ended = board.times[node.id].ended
    return ended is None or all((board.times[one.id].ended or 0) < ended for one in above)


def node_to_notify(board: Board, node: WorkNode) -> WorkNode | None:
    """Return the node whose worker is notified that a sub-node ended without a result.

    None if there is no such worker: the node belongs to the coordinator, is retried by the board,
    was cancelled with a parent that is notified about, or is the last node that a waiting worker
    waited for, whose call is answered anyway.
    """
    above = overseer(board, node)
    if above is None or above.assigned_worker is None or not board.is_running:
        return None
    if board.is_done_again(node):
        return None
    between = [one for one in ancestors(board, node) if one.has_ended]
    if any(one.status != "completed" for one in between):
        return None
    awaited = awaited_by(board, above.id)
    if node.id in awaited and all(board.nodes[one].has_ended for one in awaited):
        return None
    return above


def notifications_due(
    board: Board, history: Callable[[], Iterable[BoardEvent]]
) -> list[tuple[WorkNode, WorkNode]]:
    """Return each sub-node that ended without a result, and the node whose worker is notified.

    The result has all past notifications that are still useful, derived from the board's history,
    which is read only if there is a sub-node without a result.
    """
    lost = [node for node in board.nodes.values() if node.status in ("failed", "cancelled")]
    if not board.is_running or not any(node.parent_node for node in lost):
        return []
    due: list[tuple[WorkNode, WorkNode]] = []
    past = Board()
    for event in history():
        past = apply(past, event)
        if isinstance(event, e.NodeFailed | e.NodeCancelled):
            node = past.nodes[event.node_id]
            above = node_to_notify(past, node)
            if above is not None and not board.nodes[above.id].has_ended:
                due.append((node, board.nodes[above.id]))
    return due


def open_below(board: Board, node: WorkNode) -> Iterator[WorkNode]:
    """Yield every node below this one that has not ended."""
    for child in (board.nodes[child_id] for child_id in node.children):
        if not child.has_ended:
            yield child
        yield from open_below(board, child)


def cancelled_with(board: Board, node: WorkNode, why: str, now: float) -> tuple[BoardEvent, ...]:
    """Return the cancellations of all open nodes below a node that has not been completed.

    `why` says how that node ended.
    """
    reason = f"its parent node '{node.name}' {why}"
    below = open_below(board, node)
    return tuple(e.NodeCancelled(ts=now, node_id=child.id, reason=reason) for child in below)


def require_room_below(board: Board, run: RunFacts, parent: WorkNode | None) -> None:
    """Refuse a sub-node that would be too deep, or below a node that has ended."""
    if parent is not None and parent.has_ended:
        raise IllegalTransition(f"node '{parent.name}' is {parent.status}: nothing can be below it")
    if parent is None or depth(board, parent) < run.max_depth:
        return
    raise IllegalTransition(
        f"node '{parent.name}' stands at depth {run.max_depth}, the deepest there is "
        "(run.max_depth), so it cannot have sub-nodes (possible: do the work yourself, or "
        "`suggest_next` it to the coordinator)"
    )


def refuse_parent_cycle(
    board: Board,
    name: str,
    parent: WorkNode | None,
    dependencies: tuple[NodeId, ...],
    wanted: Worker | None,
) -> None:
    """Refuse a sub-node that could only start after one of its ancestors has ended.

    Its ancestor would wait for it, while it waits for the ancestor: through its dependencies, or
    through its worker.
    """
    if parent is None:
        return
    line = [parent, *ancestors(board, parent)]
    held = (wanted.node,) if wanted is not None and wanted.node is not None else ()
    path = _shortest_chain({node.id for node in line}, (*held, *dependencies), waits_of(board))
    if path is None:
        return
    down = [node.name for node in reversed(line[: [n.id for n in line].index(path[-1])])]
    steps = [name, *(board.nodes[step].name for step in path), *down, name]
    kept = f" (worker '{wanted.name}' holds it)" if wanted and path[0] in held else ""
    raise IllegalTransition(
        f"node '{name}' would be part of a cycle: {' -> '.join(steps)}{kept}. A sub-node cannot "
        "wait for a node that it is a part of (possible: leave that out, or `suggest_next` it to "
        "the coordinator as work for afterwards)"
    )


def _shortest_chain(
    goals: set[NodeId], starts: Iterable[NodeId], waits: Mapping[NodeId, tuple[NodeId, ...]]
) -> tuple[NodeId, ...] | None:
    """Return the shortest chain of waits from one of `starts` to one of `goals`; None if none."""
    chains: list[tuple[NodeId, ...]] = [(start,) for start in dict.fromkeys(starts)]
    seen = set(starts)
    for chain in chains:  # it grows during the iteration
        if chain[-1] in goals:
            return chain
        for step in waits.get(chain[-1], ()):
            if step not in seen:
                seen.add(step)
                chains.append((*chain, step))
    return None


def waits_of(board: Board) -> dict[NodeId, tuple[NodeId, ...]]:
    """Return for each open node the open nodes that it waits for."""
    nodes = board.nodes
    return {
        node.id: tuple(
            other
            for other in (*node.dependencies, *awaited_by(board, node.id))
            if not nodes[other].has_ended
        )
        for node in nodes.values()
        if not node.has_ended
    }
