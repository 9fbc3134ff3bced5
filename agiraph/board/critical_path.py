"""The critical path of a run: the entities for which it waited, from start to end. Pure.

It is searched backwards from the end. The holder of a node (or the coordinator) is followed back to
the end of its last wait: the end of a sub-node, or, before it began, the end of a dependency or of
its worker's previous node. If it waited for nothing, the path continues with the node's creator, at
the time of creation.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agiraph.board.board import Board
from agiraph.core.ids import NodeId

Wait = Literal["human", "paused"]


@dataclass(frozen=True, slots=True)
class CriticalStretch:
    """From `start` to `end` (epoch seconds) the run waited for the work on `node`.

    None: for the coordinator. `wait`: the entity did not work, but waited for the person (`human`)
    or was paused.
    """

    node: NodeId | None
    start: float
    end: float
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    node: NodeId
    start: float
    end: float


def critical_path(board: Board, start: float, end: float) -> list[CriticalStretch]:
    """Return the critical path of a run from `start` to `end` in order; both in epoch seconds.

    Its stretches follow each other without a gap.
    """
    left = {id: work for id in board.nodes if (work := _work_of(board, id, end)) is not None}
    backwards: list[CriticalStretch] = []
    at, holder = end, None
    while at > start:
        begun = start if holder is None else _start_of(board, holder, at)
        inner = _last(left, _children_of(board, holder), begun, at)
        if inner is None and holder is not None:
            backwards.append(CriticalStretch(holder, begun, at))
            created = board.times[holder].created
            at, inner = begun, _last(left, _before(board, holder), created, begun)
            parent = None if inner is not None else board.nodes[holder].parent_node
            begun, holder = created, parent
        since = max(start, begun if inner is None else inner.end)
        if since < at:
            backwards.append(CriticalStretch(holder, since, at))
            at = since
        if inner is not None:
            holder = inner.node
            del left[holder]
        elif since == start:
            break
    return _joined(reversed(backwards))


def divided(
    stretch: CriticalStretch, waits: Iterable[tuple[Wait, float, float]]
) -> Iterator[CriticalStretch]:
    """Yield a stretch in parts: each wait of its entity, and the time between the waits.

    A wait is (kind, start, end) in epoch seconds; waits outside of the stretch are ignored.
    """
    at = stretch.start
    for wait, start, end in sorted(waits, key=lambda one: one[1:]):
        start, end = max(at, start), min(stretch.end, end)
        if start >= end:
            continue
        if at < start:
            yield replace(stretch, start=at, end=start)
        yield replace(stretch, start=start, end=end, wait=wait)
        at = end
    if at < stretch.end:
        yield replace(stretch, start=at)


def _work_of(board: Board, id: NodeId, now: float) -> _Work | None:
    """Return the time in which a node was worked on, None if it was not started."""
    times = board.times.get(id)
    if times is None or times.started is None or times.started > now:
        return None
    return _Work(id, times.started, min(now, times.ended or now))


def _start_of(board: Board, node: NodeId, at: float) -> float:
    started = board.times[node].started
    return at if started is None else min(at, started)


def _children_of(board: Board, holder: NodeId | None) -> Iterable[NodeId]:
    return (id for id, node in board.nodes.items() if node.parent_node == holder)


def _before(board: Board, id: NodeId) -> Iterable[NodeId]:
    """Yield the dependencies of a node and all nodes of its worker."""
    node, worker = board.nodes[id], board.nodes[id].assigned_worker
    yield from node.dependencies
    if worker is not None:
        yield from (other.id for other in board.nodes.values() if other.assigned_worker == worker)


def _last(
    left: dict[NodeId, _Work], among: Iterable[NodeId], since: float, until: float
) -> _Work | None:
    """Return the work of nodes `among` that ended last, after `since` and by `until`; None if none.

    Of several that ended at that time it is the longest.
    """
    works = (left[id] for id in among if id in left)
    ended = (work for work in works if since < work.end <= until)
    return max(ended, key=lambda work: (work.end, -work.start), default=None)


def _joined(path: Iterable[CriticalStretch]) -> list[CriticalStretch]:
    """Return a path without empty stretches, adjacent stretches of the same node joined."""
    joined: list[CriticalStretch] = []
    for stretch in path:
        if stretch.start >= stretch.end:
            continue
        if joined and joined[-1].node == stretch.node:
            stretch = CriticalStretch(stretch.node, joined.pop().start, stretch.end)
        joined.append(stretch)
    return joined
