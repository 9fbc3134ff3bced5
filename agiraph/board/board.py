"""Board: the state of one run, and the effect of each event on it.

`apply` does not check its event: `decide` did that, and events in a journal have happened. An event
about a node or worker that does not exist raises KeyError.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from agiraph.board import events as e
from agiraph.board.copies import on_copies
from agiraph.board.events import BoardEvent
from agiraph.board.plan_stages import is_enough, plan_stage_of
from agiraph.core.ids import NodeId, RunId, WorkerId
from agiraph.core.models import (
    HELD_NODE,
    NodeResult,
    NodeStatus,
    RunStatus,
    Stage,
    StagePlan,
    Standstill,
    Worker,
    WorkNode,
)
from agiraph.core.node_changes import NodeUpdate
from agiraph.core.persistent_map import PersistentMap

ATTEMPTS_SKIPPED = 1000
"""Attempts skipped by a board whose journal lost its end: more than can have been made there."""


class RunFacts(e.RunSetup):
    """The facts about the run itself.

    An infinite run counts cycles; `is_asleep` between two of them, `cycle_began_at` is the start of
    the current cycle (0 in a finite run), `cycle_cause` the cause that ended the last cycle,
    `cycle_turns` and `cycle_nodes` the number of model turns and nodes until then.
    """

    started_at: float
    status: RunStatus = "running"
    summary: str | None = None
    reason: str | None = None
    incomplete: tuple[str, ...] = ()
    ended_at: float | None = None
    cycle: int = 1
    cycle_began_at: float = 0.0
    is_asleep: bool = False
    notes: str = ""
    next_at: float | None = None
    cycle_cause: str = ""
    cycle_turns: int = 0
    cycle_nodes: int = 0

    @property
    def id(self) -> RunId:
        """The id of the run."""
        return self.run_id


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """The times at which a node reached its states, in seconds since the epoch."""

    created: float
    assigned: float | None = None
    started: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """Nodes, workers and stages of one run, in order of creation; immutable.

    `waits` has the wait of each blocked node, `planned` the plan of the next stage, `deadlocks` the
    cycles of waits that were found. `standstill` is set while nothing can happen by itself. `epoch`
    is part of the ids derived from the board; it changes when the journal has lost its end. `names`
    and `causes` map to nodes.
    """

    run: RunFacts | None = None
    nodes: PersistentMap[NodeId, WorkNode] = field(default_factory=PersistentMap)
    workers: PersistentMap[WorkerId, Worker] = field(default_factory=PersistentMap)
    stages: tuple[Stage, ...] = ()
    times: PersistentMap[NodeId, NodeTimes] = field(default_factory=PersistentMap)
    waits: Mapping[NodeId, e.NodeBlocked] = field(default_factory=dict)
    planned: StagePlan | None = None
    deadlocks: tuple[tuple[NodeId, ...], ...] = ()
    standstill: Standstill | None = None
    epoch: str = ""
    names: PersistentMap[str, NodeId] = field(default_factory=PersistentMap)
    causes: PersistentMap[str, NodeId] = field(default_factory=PersistentMap)

    def key(self, run: str) -> str:
        """Return the prefix of all ids that are derived from this board of a run."""
        return f"{run}.{self.epoch}" if self.epoch else run

    @property
    def is_running(self) -> bool:
        """Whether a run has begun and not ended."""
        return self.run is not None and self.run.status == "running"

    @property
    def open_stage(self) -> int | None:
        """The index of the stage that new nodes join; None if the next node opens one."""
        last = len(self.stages) - 1
        return last if self.stages and self.stages[last].status != "completed" else None

    @property
    def team(self) -> tuple[Worker, ...]:
        """The workers that have not stopped."""
        return tuple(w for w in self.workers.values() if w.status != "stopped")

    def node_by_cause(self, cause: str) -> WorkNode | None:
        """Return the node whose cause is this id of a message or tool call, or None."""
        found = self.causes.get(cause)
        return None if found is None else self.nodes[found]

    def worker_by_cause(self, cause: str) -> Worker | None:
        """Return the worker whose cause is this id of a message or tool call, or None."""
        return next((w for w in self.workers.values() if w.cause == cause), None)

    def waiting_for(self, node: WorkNode) -> tuple[WorkNode, ...]:
        """Return the open dependencies of a node that it still has to wait for."""
        found = (self.nodes[dependency] for dependency in node.dependencies)
        open_ones = [n for n in found if n.status not in ("completed", "skipped")]
        nodes = self.nodes.values()
        return tuple(n for n in open_ones if not is_enough(plan_stage_of(nodes, n)))

    def is_ready(self, node: WorkNode) -> bool:
        """Whether a node is pending and waits for none of its dependencies."""
        is_free = node.status == "pending" and not self.waiting_for(node)
        return is_free and not self.is_undecided(node)

    def is_undecided(self, node: WorkNode) -> bool:
        """Whether conditions or the `for_each` of a pending node are not yet evaluated."""
        if node.status != "pending":
            return False
        if node.for_each is not None or (node.when and not any(node.edges.values())):
            return True
        needed = [self.nodes[one].status for one in node.dependencies]
        return bool(needed) and all(status == "skipped" for status in needed)

    def may_be_decided(self, node: WorkNode) -> bool:
        """Whether a node is undecided and all its dependencies have ended."""
        return self.is_undecided(node) and not self.waiting_for(node)

    def is_done_again(self, node: WorkNode) -> bool:
        """Whether a node has failed and the board itself retries it: it has retries left.

        A node that never began is not retried, because its dependencies are unchanged.
        """
        is_left = node.status == "failed" and node.retried < node.retries
        has_begun = is_left and self.times[node.id].assigned is not None
        is_open = node.stage == self.open_stage and not self.stages[node.stage].over
        return has_begun and is_open and self.is_running


def fold(happened: Iterable[BoardEvent], board: Board | None = None) -> Board:
    """Return the board after the events `happened`, from `board` or an empty one."""
    state = board or Board()
    for event in happened:
        state = apply(state, event)
    return state


def apply(board: Board, event: BoardEvent) -> Board:
    """Return the board after one event; any progress ends a standstill."""
    after = _apply(board, event)
    if after.standstill is None or isinstance(event, e.NO_PROGRESS):
        return after
    return replace(after, standstill=None)


def _apply(board: Board, event: BoardEvent) -> Board:
    match event:
        case e.RunStarted() | e.RunFinished() | e.RunStopped():
            return _apply_to_run(board, event)
        case e.RunReopened():
            return _reopen(board)
        case e.CycleEnded() | e.CycleStarted():
            return _apply_to_cycle(board, event)
        case e.StageStarted() | e.StageReconvened():
            return _apply_to_stages(board, event)
        case e.StagePlanned():
            return replace(board, planned=StagePlan(**dict(event)))
        case e.StageLaunched():
            return _stage(board, event.stage, status="running")
        case e.StageMet():
            left = {"over": event.why, "stragglers": event.stragglers}
            return _stage(board, event.stage, status="reconvening", **left)
        case e.WorkerSpawned():
            return replace(board, workers=board.workers.having(event.worker.id, event.worker))
        case e.WorkerStopped():
            return _worker(board, event.worker_id, status="stopped", node=None)
        case e.NodeCreated():
            return _add_node(board, event)
        case e.NodeReserved():
            return _node(board, event.node_id, wanted_worker=event.worker_id)
        case e.NodeAssigned():
            return _assign(board, event)
        case e.NodeStarted():
            started = _node(board, event.node_id, status="running")
            return _time(started, event.node_id, started=event.ts)
        case e.NodeBlocked():
            return _block(board, event)
        case e.NodeUnblocked():
            return _forget_wait(_hold(board, event.node_id, "running", "busy"), event.node_id)
        case e.DeadlockFound():
            return replace(board, deadlocks=(*board.deadlocks, event.cycle))
        case e.StandstillFound():
            return replace(board, standstill=event.standstill)
        case e.NodeCompleted():
            result = event.shared_with(NodeResult)
            return _end(board, event, "completed", published=result.pop("files"), **result)
        case e.NodeFailed():
            changes = {"reason": event.reason, "left": event.left, "details": event.details}
            return _end(board, event, "failed", **changes)
        case e.NodeCancelled():
            cancelled = {"reason": event.reason, "cancelled_by": event.by}
            return _end(board, event, "cancelled", **cancelled)
        case e.NodeRetried():
            return _retry(board, event)
        case e.NodeConditionsDecided() | e.NodeSkipped() | e.NodeExpanded():
            return _apply_to_flow(board, event)
        case e.NodeMoved() | e.NodeUpdated():
            return _change(board, event)
        case e.NodeReleased():
            return _release(board, event)
        case e.BoardEpochBegan():
            return _begin_epoch(board, event.epoch)
        case _:
            assert_never(event)


def _begin_epoch(board: Board, epoch: str) -> Board:
    """Return the board in a new epoch; attempt numbers skip those that may have been lost."""
    nodes = {
        id: node.model_copy(update={"attempt": node.attempt + ATTEMPTS_SKIPPED})
        for id, node in board.nodes.items()
    }
    return replace(board, epoch=epoch, nodes=PersistentMap(nodes))


def _apply_to_run(board: Board, event: e.RunStarted | e.RunFinished | e.RunStopped) -> Board:
    if isinstance(event, e.RunStarted):
        began_at = event.ts if event.mode == "infinite" else 0.0
        facts = RunFacts(started_at=event.ts, cycle_began_at=began_at, **dict(event))
        return replace(board, run=facts, epoch=event.epoch)
    if board.run is None:
        raise KeyError("run")
    if isinstance(event, e.RunFinished):
        end: dict[str, Any] = {"status": "completed", **event.shared_with(RunFacts)}
    else:
        end = {"status": event.status, "reason": event.reason, "summary": event.summary}
    run = board.run.model_copy(update={**end, "ended_at": event.ts})
    stages = tuple(stage.model_copy(update={"status": "completed"}) for stage in board.stages)
    left = {"status": "stopped", "node": None}
    workers = {id: worker.model_copy(update=left) for id, worker in board.workers.items()}
    return replace(board, run=run, stages=stages, workers=PersistentMap(workers))


def _reopen(board: Board) -> Board:
    """Return the board of an ended run that is running again, in its last stage."""
    if board.run is None:
        raise KeyError("run")
    going = {"status": "running", "reason": None, "summary": None, "ended_at": None}
    board = replace(board, run=board.run.model_copy(update=going))
    return _stage(board, len(board.stages) - 1, status="running") if board.stages else board


def _retry(board: Board, event: e.NodeRetried) -> Board:
    """Return the board on which a failed, cancelled or completed node is pending again."""
    node = board.nodes[event.node_id]
    if node.status != "completed":
        own = {"retried": node.retried + 1, "not_before": event.not_before}
        counted: dict[str, Any] = {} if event.not_before is None else own
        why = node.reason or ""
        return _wait_again(board, node, node.wanted_worker, why, event.cause, **counted)
    wanted = f"it was completed, and is wanted once more{': ' if event.because else ''}"
    why = f"{wanted}{event.because}; its published files are in attempts/{node.attempt}/"
    undone: dict[str, Any] = {"summary": None, "published": (), "missing": "", "bound": ""}
    undone |= {"value": None, "evidence": None, "insight": "", "completed_before": node.attempt}
    board = _wait_again(board, node, node.wanted_worker, why, event.cause, **undone)
    return _await_refs(board, node)


def _await_refs(board: Board, node: WorkNode) -> Board:
    """Return the board on which each pending node with refs to `node` also depends on it."""
    for other in board.nodes.values():
        is_free = other.status != "pending" or node.id in other.dependencies
        if not is_free and other.refers_to(node):
            board = _node(board, other.id, dependencies=(*other.dependencies, node.id))
    return board


def _wait_again(
    board: Board, node: WorkNode, kept: WorkerId | None, why: str, cause: str, **changes: Any
) -> Board:
    """Return the board with a pending node, reserved for worker `kept` if on the team."""
    is_there = kept is not None and board.workers[kept].status != "stopped"
    waiting = _node(
        board,
        node.id,
        status="pending",
        reason=None,
        left=(),
        details="",
        assigned_worker=None,
        wanted_worker=kept if is_there else None,
        failed_before=why,
        retried_by=cause,
        **changes,
    )
    times = NodeTimes(created=board.times[node.id].created)
    return replace(waiting, times=board.times.having(node.id, times))


def _apply_to_flow(board: Board, event: e.FlowEvent) -> Board:
    match event:
        case e.NodeConditionsDecided():
            return _node(board, event.node_id, edges=event.edges)
        case e.NodeSkipped():
            return _end(board, event, "skipped", reason=event.reason)
        case e.NodeExpanded():
            return _expand(board, event)


def _expand(board: Board, event: e.NodeExpanded) -> Board:
    """Return the board on which a node with a `for_each` is completed, replaced by its copies."""
    node, copies = board.nodes[event.node_id], [board.nodes[one] for one in event.copies]
    for other in board.nodes.values():
        if node.id in other.dependencies:
            board = _node(board, other.id, **on_copies(other, node, copies))
    names = f"{copies[0].name} to {copies[-1].name}" if copies[1:] else copies[0].name
    summary = f"done for each of {len(copies)} items: {names}"
    board = _node(board, node.id, status="completed", summary=summary, copies=event.copies)
    return _time(board, node.id, ended=event.ts)


def _change(board: Board, event: e.NodeMoved | e.NodeUpdated) -> Board:
    return _move(board, event) if isinstance(event, e.NodeMoved) else _update(board, event)


def _update(board: Board, event: e.NodeUpdated) -> Board:
    """Return the board with the new terms of a node; new checks end an earlier acceptance."""
    update = board.nodes[event.node_id].update
    accepted = event.accepted or ("" if event.new.checks is not None else update.accepted)
    changes = {name: value for name, value in event.new if value is not None}
    if event.dependencies is not None:
        changes["dependencies"] = event.dependencies
    made = NodeUpdate(number=update.number + 1, cause=event.cause, accepted=accepted)
    return _node(board, event.node_id, **changes, update=made)


def _move(board: Board, event: e.NodeMoved) -> Board:
    """Return the board with a moved node: at once, or after its worker has released it."""
    node, move = board.nodes[event.node_id], event.move
    if node.status in HELD_NODE:
        return _node(board, node.id, move=move)
    return _node(board, node.id, wanted_worker=move.worker, model=move.model or node.model)


def _release(board: Board, event: e.NodeReleased) -> Board:
    """Return the board with a moved node that is pending again; its previous worker is idle."""
    node = board.nodes[event.node_id]
    move, holder = node.move, node.assigned_worker
    if move is None:
        raise KeyError("move")
    if holder and board.workers[holder].node == node.id:
        board = _worker(board, holder, status="idle", node=None)
    model = move.model or node.model
    board = _wait_again(board, node, move.worker, event.reason, move.cause, model=model, move=None)
    return _forget_wait(board, node.id)


def _apply_to_cycle(board: Board, event: e.CycleEnded | e.CycleStarted) -> Board:
    if board.run is None:
        raise KeyError("run")
    if isinstance(event, e.CycleStarted):
        began = {"cycle": event.cycle, "cycle_began_at": event.ts}
        changes: dict[str, Any] = {**began, "is_asleep": False}
    else:
        changes = {
            "is_asleep": True,
            "notes": event.notes,
            "next_at": event.next_at,
            "cycle_cause": event.cause,
            "cycle_turns": event.turns,
            "cycle_nodes": len(board.nodes),
        }
    return replace(board, run=board.run.model_copy(update=changes))


def _apply_to_stages(board: Board, event: e.StageStarted | e.StageReconvened) -> Board:
    if isinstance(event, e.StageStarted):
        opened = Stage(started_at=event.ts, **dict(event))
        board = replace(board, stages=(*board.stages, opened), planned=None)
        return _bound_stages(board, event.max_stages)
    return _stage(
        board,
        event.stage,
        status="completed",
        assessment=event.assessment,
        decided=event.decided,
        closed_by=event.cause,
        stragglers=event.stragglers or board.stages[event.stage].stragglers,
    )


def _bound_stages(board: Board, most: int | None) -> Board:
    """Return the board whose run has at most `most` stages; an existing limit is never raised."""
    if board.run is None or most is None:
        return board
    bound = most if board.run.max_stages is None else min(most, board.run.max_stages)
    return replace(board, run=board.run.model_copy(update={"max_stages": bound}))


def _add_node(board: Board, event: e.NodeCreated) -> Board:
    node = event.node
    board = replace(
        board,
        nodes=board.nodes.having(node.id, node),
        times=board.times.having(node.id, NodeTimes(created=event.ts)),
        names=board.names.having(node.name, node.id),
        causes=board.causes.having(node.cause, node.id),
    )
    board = _stage(board, node.stage, nodes=board.stages[node.stage].nodes.having(node.id, None))
    if node.parent_node is None:
        return board
    siblings = board.nodes[node.parent_node].children
    return _node(board, node.parent_node, children=(*siblings, node.id))


def _assign(board: Board, event: e.NodeAssigned) -> Board:
    board = _node(
        board,
        event.node_id,
        status="assigned",
        assigned_worker=event.worker_id,
        attempt=event.attempt,
    )
    board = _worker(board, event.worker_id, status="busy", node=event.node_id)
    return _time(board, event.node_id, assigned=event.ts)


def _hold(board: Board, node_id: NodeId, status: NodeStatus, worker_status: str) -> Board:
    """Return the board with a new state of a node, and of the worker that holds it."""
    worker = board.nodes[node_id].assigned_worker
    board = _node(board, node_id, status=status)
    return _worker(board, worker, status=worker_status) if worker else board


def _end(
    board: Board,
    event: e.NodeCompleted | e.NodeFailed | e.NodeCancelled | e.NodeSkipped,
    status: NodeStatus,
    **changes: Any,
) -> Board:
    """Return the board with an ended node; its worker is free, as workers hold no ended node."""
    id = event.node_id
    worker = board.nodes[id].assigned_worker
    if worker and board.workers[worker].node == id:
        board = _worker(board, worker, status="idle", node=None)
    ended = _node(board, id, status=status, move=None, **changes)
    return _forget_wait(_time(ended, id, ended=event.ts), id)


def _block(board: Board, event: e.NodeBlocked) -> Board:
    state = "waiting_for_nodes" if event.waits_for else "waiting_for_message"
    blocked = _hold(board, event.node_id, "blocked", state)
    return replace(blocked, waits={**board.waits, event.node_id: event})


def _forget_wait(board: Board, node_id: NodeId) -> Board:
    return replace(board, waits={n: w for n, w in board.waits.items() if n != node_id})


def _node(board: Board, node_id: NodeId, **changes: Any) -> Board:
    changed = board.nodes[node_id].model_copy(update=changes)
    return replace(board, nodes=board.nodes.having(node_id, changed))


def _worker(board: Board, worker_id: WorkerId, **changes: Any) -> Board:
    changed = board.workers[worker_id].model_copy(update=changes)
    return replace(board, workers=board.workers.having(worker_id, changed))


def _stage(board: Board, index: int, **changes: Any) -> Board:
    changed = board.stages[index].model_copy(update=changes)
    return replace(board, stages=(*board.stages[:index], changed, *board.stages[index + 1 :]))


def _time(board: Board, node_id: NodeId, **changes: float) -> Board:
    times = replace(board.times[node_id], **changes)
    return replace(board, times=board.times.having(node_id, times))
