"""The scheduler: the commands that a board issues by itself.

Ready nodes are assigned to idle workers: first nodes that are reserved for a worker, then nodes
whose role an idle worker has, then the rest in order of creation. A worker must meet the node's
requirements (`matching`), and a worker with reserved nodes takes others only when the team is full.
If no worker is idle and the limit on busy workers allows, one is spawned. A failed node with
retries left is retried, a node with conditions is decided. A node whose dependency will never be
completed fails. A stage whose policy is met continues without the rest, and so does each stage of a
plan file (a plan_stage).

Execute the result of `plan` and call it again, until it returns nothing: a spawned worker is
assigned in the next call.

A `Schedule` keeps its findings between two calls and inspects only nodes that an event has changed,
directly or through a dependency: the cost depends on the changes, not on the size of the board.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from math import inf
from typing import TypeGuard

from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.commands import (
    OF_PLAN,
    AssignNode,
    CancelNode,
    DecideNode,
    EndStageEarly,
    FailNode,
    RetryFailedNode,
    SpawnWorker,
    author_of,
)
from agiraph.board.matching import can_do, what_it_asks_for
from agiraph.board.names import numbered_name
from agiraph.board.plan_stages import ALL, can_be_enough, plan_stage_of, stragglers
from agiraph.board.rules.stages import stage_to_meet
from agiraph.core.ids import NodeId, WorkerId, slug
from agiraph.core.models import Worker, WorkNode
from agiraph.core.specs import WorkerSpec

Action = (
    AssignNode | SpawnWorker | FailNode | CancelNode | EndStageEarly | RetryFailedNode | DecideNode
)

ENDINGS = (e.NodeCompleted, e.NodeFailed, e.NodeCancelled, e.NodeSkipped)
NO_MATTER = (e.NodeStarted, e.NodeBlocked, e.NodeUnblocked, *e.NO_PROGRESS)
OF_ONE_NODE = (e.NodeReserved, e.NodeAssigned, e.NodeMoved, e.NodeReleased, e.NodeConditionsDecided)


@dataclass(frozen=True, slots=True)
class SchedulingLimits:
    """Limits of scheduling: how many workers may be busy (waiting workers do not count)."""

    max_concurrent: int


def plan(board: Board, limits: SchedulingLimits, now: float = inf) -> tuple[Action, ...]:
    """Return the next actions, () if no action is due; retries after `now` are left out."""
    return Schedule().plan(board, limits, now)


class Schedule:
    """The pending actions of one board; `follow` must receive every event of the board."""

    def __init__(self) -> None:
        self._is_known = False

    def follow(self, event: e.BoardEvent) -> None:
        """Record the nodes that an event may affect, for the next `plan`."""
        if not self._is_known or isinstance(event, NO_MATTER):
            return
        if isinstance(event, e.NodeCreated):
            self._add(event.node)
        elif isinstance(event, OF_ONE_NODE):
            self._fresh.add(event.node_id)
        elif isinstance(event, ENDINGS) or _is_by_board(event):
            self._fresh |= {event.node_id, *self._dependents[event.node_id]}
        else:
            self._is_known = False

    def plan(self, board: Board, limits: SchedulingLimits, now: float) -> tuple[Action, ...]:
        """Return the next actions; `board` is in its state after the followed events."""
        if not board.is_running:
            return ()
        if (over := stage_to_meet(board)) is not None:
            return (EndStageEarly(over),)
        if not self._is_known:
            self._begin(board)
        if self._has_cohorts and (late := stragglers(tuple(board.nodes.values()))):
            return tuple(CancelNode(node.id, reason) for node, reason in late)
        self._look_at_fresh(board, now)
        if self._again:
            return tuple(RetryFailedNode(one) for one in self._in_order(self._again))
        if self._undecided:
            return tuple(DecideNode(one) for one in self._in_order(self._undecided))
        failing = self._in_order(self._failing)
        failures = tuple(FailNode(one, None, self._failing[one]) for one in failing)
        return (*failures, *self._assignments(board, limits))

    def retry_due(self, board: Board, now: float) -> float | None:
        """Return when the next waiting retry is due after `now`, None if there is none."""
        known = (
            [board.nodes[one] for one in self._later] if self._is_known else board.nodes.values()
        )
        times = (node.not_before for node in known if node.status == "pending")
        return min((time for time in times if time > now), default=None)

    # --- findings --------------------------------------------------------------------------------

    def _begin(self, board: Board) -> None:
        """Inspect all nodes of the board, once, or again after an event with unknown effects."""
        self._is_known = True
        self._place: dict[NodeId, int] = {}
        self._ids: list[NodeId] = []
        self._dependents: defaultdict[NodeId, list[NodeId]] = defaultdict(list)
        self._fresh: set[NodeId] = set()
        self._again: set[NodeId] = set()
        self._undecided: set[NodeId] = set()
        self._later: set[NodeId] = set()
        self._reserved: set[NodeId] = set()
        self._failing: dict[NodeId, str] = {}
        self._ready: list[int] = []
        self._is_ready: set[NodeId] = set()
        self._has_cohorts = False
        for node in board.nodes.values():
            self._add(node)

    def _add(self, node: WorkNode) -> None:
        self._place[node.id] = len(self._ids)
        self._ids.append(node.id)
        for needed in node.dependencies:
            self._dependents[needed].append(node.id)
        self._has_cohorts = self._has_cohorts or node.enough != ALL
        self._fresh.add(node.id)

    def _in_order(self, ids: Iterable[NodeId]) -> list[NodeId]:
        return sorted(ids, key=self._place.__getitem__)

    def _look_at_fresh(self, board: Board, now: float) -> None:
        if self._has_cohorts:  # then a node depends on its neighbors, too
            self._fresh.update(self._ids)
        self._fresh |= {one for one in self._later if board.nodes[one].not_before <= now}
        while self._fresh:
            fresh, self._fresh = self._in_order(self._fresh), set()
            for one in fresh:
                self._look(board, board.nodes[one], now)

    def _look(self, board: Board, node: WorkNode, now: float) -> None:
        """Record which action is possible for a node: retry, decide, assign, fail, or none."""
        one = node.id
        failed_before = self._failing.pop(one, None)
        for known in (self._again, self._undecided, self._later, self._reserved):
            known.discard(one)
        is_ready = reason = None
        if node.status == "pending":
            reason = _hopeless(board, node, self._failing)
            if node.wanted_worker is not None:
                self._reserved.add(one)
            if board.may_be_decided(node):
                self._undecided.add(one)
            elif node.not_before > now:
                self._later.add(one)
            else:
                is_ready = board.is_ready(node) and not _lost_worker(board, node)
        elif board.is_done_again(node):
            self._again.add(one)
        if reason is not None:
            self._failing[one] = reason
        if reason != failed_before:
            self._fresh.update(self._dependents[one])
        self._keep_ready(one, is_ready=bool(is_ready))

    def _keep_ready(self, one: NodeId, *, is_ready: bool) -> None:
        if is_ready == (one in self._is_ready):
            return
        place = self._place[one]
        if is_ready:
            self._is_ready.add(one)
            insort(self._ready, place)
        else:
            self._is_ready.discard(one)
            del self._ready[bisect_left(self._ready, place)]

    # --- assignments -----------------------------------------------------------------------------

    def _assignments(self, board: Board, limits: SchedulingLimits) -> tuple[Action, ...]:
        busy = sum(worker.status == "busy" for worker in board.team)
        room = max(0, limits.max_concurrent - busy)
        if not room or not self._ready:
            return ()
        pairs = self._pairs(board)[:room]
        given = {node.id for node, _ in pairs}
        assigns = (AssignNode(node.id, worker.id) for node, worker in pairs)
        places = min(room - len(pairs), places_left(board))
        homeless = (node for node in self._for_anybody(board) if node.id not in given)
        return (*assigns, *_spawns(board, list(islice(homeless, places))))

    def _for_anybody(self, board: Board) -> Iterator[WorkNode]:
        """Yield the ready nodes that are reserved for no worker, in order of creation."""
        nodes = (board.nodes[self._ids[place]] for place in self._ready)
        return (node for node in nodes if node.wanted_worker is None)

    def _pairs(self, board: Board) -> list[tuple[WorkNode, Worker]]:
        """Return nodes with their best workers, ignoring limits, the best matches first.

        An idle worker that is reserved for a node which cannot start yet is borrowed only in a full
        team: there no other worker may ever come, and that node may be waiting for just these.
        """
        idle = {worker.id: worker for worker in board.team if worker.status == "idle"}
        kept: set[WorkerId | None] = {board.nodes[one].wanted_worker for one in self._reserved}
        wanted = (board.nodes[one] for one in self._in_order(self._reserved & self._is_ready))
        pairs = [
            (node, idle.pop(node.wanted_worker))
            for node in wanted
            if node.wanted_worker is not None and node.wanted_worker in idle
        ]
        free = [worker for worker in idle.values() if worker.id not in kept]
        borrowed = [] if places_left(board) else list(idle.values())
        fits = partial(can_do, board)

        def fits_best(node: WorkNode, worker: Worker) -> bool:
            return fits(node, worker) and _slug(worker.role) == _slug(node.role)

        for workers, fitting in ((free, fits_best), (free, fits), (borrowed, fits)):
            given = {node.id for node, _ in pairs}
            taken = {worker.id for _, worker in pairs}
            nodes = (node for node in self._for_anybody(board) if node.id not in given)
            pairs += _match(nodes, [w for w in workers if w.id not in taken], fitting)
        return pairs


def _is_by_board(event: e.BoardEvent) -> TypeGuard[e.NodeRetried]:
    return isinstance(event, e.NodeRetried) and event.not_before is not None


@cache
def _slug(role: str) -> str:
    return slug(role)


def places_left(board: Board) -> int:
    """Return how many workers may still join the team."""
    return max(0, board.run.max_workers - len(board.team)) if board.run else 0


def _match(
    nodes: Iterable[WorkNode], workers: list[Worker], fits: Callable[[WorkNode, Worker], bool]
) -> list[tuple[WorkNode, Worker]]:
    left = list(workers)
    pairs: list[tuple[WorkNode, Worker]] = []
    for node in nodes if left else ():
        worker = next((worker for worker in left if fits(node, worker)), None)
        if worker:
            left.remove(worker)
            pairs.append((node, worker))
            if not left:
                break
    return pairs


def _spawns(board: Board, homeless: list[WorkNode]) -> tuple[SpawnWorker, ...]:
    """Return a SpawnWorker for each node without a worker; names and causes are unused so far."""
    taken = {worker.name.casefold() for worker in board.workers.values()}
    spawns: list[SpawnWorker] = []
    for number, node in enumerate(homeless, start=len(board.workers) + 1):
        name = numbered_name(node.role, taken)
        taken.add(name)
        # The author of a worker's agent_command is the author of its node.
        of_plan = OF_PLAN if author_of(node.cause) == "person" else ""
        cause = f"{of_plan}scheduler:{number}"
        asked = {**node.shared_with(WorkerSpec), "name": name, "tools": None}  # its node has tools
        spec = WorkerSpec.model_validate(asked)
        spawns.append(SpawnWorker(cause, spec))
    return tuple(spawns)


def _lost_worker(board: Board, node: WorkNode) -> bool:
    """Whether a node is reserved for a worker that has left."""
    wanted = node.wanted_worker
    return wanted is not None and board.workers[wanted].status == "stopped"


def _nobody_can_do(board: Board, node: WorkNode) -> bool:
    return not places_left(board) and not any(can_do(board, node, w) for w in board.team)


def _hopeless(board: Board, node: WorkNode, failing: dict[NodeId, str]) -> str | None:
    nodes = board.nodes.values()
    for dependency in (board.nodes[node_id] for node_id in node.dependencies):
        if dependency.enough != ALL and can_be_enough(plan_stage_of(nodes, dependency)):
            continue
        if dependency.status in ("failed", "cancelled"):
            why = f": {dependency.reason}" if dependency.reason else ""
            verb = "failed" if dependency.status == "failed" else "was cancelled"
            return f"its dependency '{dependency.name}' {verb}{why}"
        if dependency.id in failing:
            return f"its dependency '{dependency.name}' failed: {failing[dependency.id]}"
    if node.wanted_worker is None and _nobody_can_do(board, node):
        asked = what_it_asks_for(node)
        return f"the team is full (run.max_workers) and nobody in it has {asked}"
    if node.wanted_worker is not None and _lost_worker(board, node):
        name = board.workers[node.wanted_worker].name
        return f"worker '{name}', for whom it was kept, has stopped"
    return None
