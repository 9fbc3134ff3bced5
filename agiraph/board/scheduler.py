"""The scheduler: which commands a board asks for by itself.

Ready nodes are assigned to idle workers: first those reserved for one worker, then those whose role
an idle worker has, then the rest in the order they came; none to a worker that is not what the node
asks for (`matching`), and a worker that nodes are reserved for takes others only when the team is
full. If no worker is idle and the limit on busy workers allows, one is spawned. A failed node with
retries left is tried again, a node with conditions is decided. A node whose
dependency will never be completed fails. A stage whose policy is met continues without the rest,
and so does each stage of a plan file (a cohort).

Execute what `plan` returns and ask again, until it returns nothing: a spawned worker is assigned
next time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf

from agiraph.board.board import Board
from agiraph.board.commands import (
    AssignNode,
    CancelNode,
    DecideNode,
    DoAgain,
    EndStageEarly,
    FailNode,
    SpawnWorker,
)
from agiraph.board.matching import can_do, what_it_asks_for
from agiraph.board.plan_stages import ALL, can_be_enough, cohort_of, stragglers
from agiraph.board.stage_rules import stage_to_meet
from agiraph.core.ids import NodeId, slug
from agiraph.core.models import Worker, WorkNode
from agiraph.core.specs import WorkerSpec

Action = AssignNode | SpawnWorker | FailNode | CancelNode | EndStageEarly | DoAgain | DecideNode


@dataclass(frozen=True, slots=True)
class SchedulingLimits:
    """Bounds of scheduling: how many workers may be busy at once (those that wait do not count)."""

    max_concurrent: int


def plan(board: Board, limits: SchedulingLimits, now: float = inf) -> tuple[Action, ...]:
    """Return the next actions, () if the board is at rest; what is to wait until later is left."""
    if not board.is_running:
        return ()
    if (over := stage_to_meet(board)) is not None:
        return (EndStageEarly(over),)
    if late := stragglers(tuple(board.nodes.values())):
        return tuple(CancelNode(node.id, reason) for node, reason in late)
    if again := [node for node in board.nodes.values() if board.is_done_again(node)]:
        return tuple(DoAgain(node.id) for node in again)
    if undecided := [node for node in board.nodes.values() if board.may_be_decided(node)]:
        return tuple(DecideNode(node.id) for node in undecided)
    failures = _failures(board)
    due = (n for n in board.nodes.values() if n.not_before <= now)
    ready = [n for n in due if board.is_ready(n) and not _lost_worker(board, n)]
    busy = sum(worker.status == "busy" for worker in board.team)
    room = max(0, limits.max_concurrent - busy)
    pairs = _pairs(board, ready)[:room]
    given = {node.id for node, _ in pairs}
    homeless = [node for node in ready if node.id not in given and node.wanted_worker is None]
    assigns = (AssignNode(node.id, worker.id) for node, worker in pairs)
    places = min(room - len(pairs), places_left(board))
    return (*failures, *assigns, *_spawns(board, homeless[:places]))


def places_left(board: Board) -> int:
    """Return how many workers may still join the team."""
    return max(0, board.run.max_workers - len(board.team)) if board.run else 0


def _pairs(board: Board, ready: list[WorkNode]) -> list[tuple[WorkNode, Worker]]:
    """Return who would take what if there were no limit, the most fitting first.

    An idle worker that is kept for a node which cannot start yet is borrowed only in a full team:
    there nobody else may ever come, and that node may be waiting for just these.
    """
    idle = {worker.id: worker for worker in board.team if worker.status == "idle"}
    pairs = [
        (node, idle.pop(node.wanted_worker))
        for node in ready
        if node.wanted_worker is not None and node.wanted_worker in idle
    ]
    kept = {node.wanted_worker for node in board.nodes.values() if node.status == "pending"}
    free = [worker for worker in idle.values() if worker.id not in kept]
    borrowed = [] if places_left(board) else list(idle.values())
    fits = partial(can_do, board)

    def fits_best(node: WorkNode, worker: Worker) -> bool:
        return fits(node, worker) and slug(worker.role) == slug(node.role)

    for workers, fitting in ((free, fits_best), (free, fits), (borrowed, fits)):
        given = {node.id for node, _ in pairs}
        taken = {worker.id for _, worker in pairs}
        nodes = [n for n in ready if n.wanted_worker is None and n.id not in given]
        pairs += _match(nodes, [w for w in workers if w.id not in taken], fitting)
    return pairs


def _match(
    nodes: list[WorkNode], workers: list[Worker], fits: Callable[[WorkNode, Worker], bool]
) -> list[tuple[WorkNode, Worker]]:
    left = list(workers)
    pairs: list[tuple[WorkNode, Worker]] = []
    for node in nodes:
        worker = next((worker for worker in left if fits(node, worker)), None)
        if worker:
            left.remove(worker)
            pairs.append((node, worker))
    return pairs


def _spawns(board: Board, homeless: list[WorkNode]) -> tuple[SpawnWorker, ...]:
    """Return a new worker for each node; the cause counts workers, so each is a new one."""
    taken = {worker.name.casefold() for worker in board.workers.values()}
    spawns: list[SpawnWorker] = []
    for number, node in enumerate(homeless, start=len(board.workers) + 1):
        role = slug(node.role, fallback="worker")
        name = next(n for i in count(1) if (n := f"{role}-{i}") not in taken)
        taken.add(name)
        cause = f"scheduler:{number}"
        asked = {**node.shared_with(WorkerSpec), "name": name, "tools": None}  # its own only now
        spec = WorkerSpec.model_validate(asked)
        spawns.append(SpawnWorker(cause, spec))
    return tuple(spawns)


def _lost_worker(board: Board, node: WorkNode) -> bool:
    """Whether a node is kept for a worker that has left."""
    wanted = node.wanted_worker
    return wanted is not None and board.workers[wanted].status == "stopped"


def _failures(board: Board) -> tuple[FailNode, ...]:
    """Return the pending nodes that can never start, those behind them included."""
    reasons: dict[NodeId, str] = {}
    for node in board.nodes.values():  # in order of creation: dependencies come first
        if node.status == "pending" and (reason := _hopeless(board, node, reasons)):
            reasons[node.id] = reason
    return tuple(FailNode(node_id, None, reason) for node_id, reason in reasons.items())


def _nobody_can_do(board: Board, node: WorkNode) -> bool:
    return not places_left(board) and not any(can_do(board, node, w) for w in board.team)


def _hopeless(board: Board, node: WorkNode, failing: dict[NodeId, str]) -> str | None:
    nodes = board.nodes.values()
    for dependency in (board.nodes[node_id] for node_id in node.dependencies):
        if dependency.enough != ALL and can_be_enough(cohort_of(nodes, dependency)):
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
