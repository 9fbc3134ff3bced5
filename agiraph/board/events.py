"""Events of a board: one frozen record each, distinguished by `type`.

A run's `journal.jsonl` is a list of these. Changes must keep old journals readable: new fields need
a default, and the meaning of a type never changes.
"""

import re
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from agiraph.core.ids import NodeId, RunId, WorkerId
from agiraph.core.models import (
    CancelledBy,
    NodeResult,
    StageContract,
    StageOver,
    StagePlan,
    Standstill,
    Worker,
    WorkNode,
)
from agiraph.core.node_changes import NodeChanges, NodeMove
from agiraph.core.record import Record, union_adapter
from agiraph.core.roles import RoleTeamSpec
from agiraph.core.specs import Mode

PUBLIC_KEY = re.compile(r"board:([^:]+):(\d{1,15}):\d+")
MOST_DETAILS = 4000
"""The number of characters kept of a failed worker's last lines."""


class RunSetup(Record):
    """The run that a board is for, and its limits.

    `epoch` is random, so the board's ids are unpredictable. `max_stages` and `may_reconvene` come
    from the plan; in a run that `is_fixed` no node is added to the plan's. `roles`: this
    team of roles does the work of the run.
    """

    run_id: RunId
    goal: str
    model: str
    worker_model: str
    mode: Mode = "finite"
    max_nodes: int = 200
    max_workers: int = 64
    max_depth: int = 4
    max_stages: int | None = None
    may_reconvene: bool = True
    is_fixed: bool = False
    contract: StageContract = StageContract()
    epoch: str = ""
    roles: RoleTeamSpec | None = None


class BoardEventBase(Record):
    """Base of all board events; `ts` is wall time in seconds since the epoch."""

    ts: float


class RunStarted(RunSetup, BoardEventBase):
    """A run toward a goal began."""

    type: Literal["run.started"] = "run.started"


class StageStarted(StagePlan, BoardEventBase):
    """A stage opened; nodes created from now on belong to it. `stage` counts from 0."""

    type: Literal["stage.started"] = "stage.started"
    stage: int
    cause: str = ""


class StagePlanned(StagePlan, BoardEventBase):
    """The next stage was given its name, its goal and its contract; only in older journals."""

    type: Literal["stage.planned"] = "stage.planned"
    stage: int


class StageLaunched(BoardEventBase):
    """The coordinator waits for the stage: from now on its policy is evaluated."""

    type: Literal["stage.launched"] = "stage.launched"
    stage: int


class StageMet(BoardEventBase):
    """The stage is over: the run continues without its `stragglers`, which were cancelled.

    `completed` of its `of` nodes were completed; sub-nodes that workers created do not count.
    """

    type: Literal["stage.met"] = "stage.met"
    stage: int
    why: StageOver
    completed: int
    of: int
    stragglers: tuple[NodeId, ...] = ()


class NodeCreated(BoardEventBase):
    """A node was put on the board."""

    type: Literal["node.created"] = "node.created"
    node: WorkNode


class NodeReserved(BoardEventBase):
    """A pending node was reserved for this worker; it starts when both are free."""

    type: Literal["node.reserved"] = "node.reserved"
    node_id: NodeId
    worker_id: WorkerId


class NodeUpdated(BoardEventBase):
    """The coordinator changed the terms of a node: fields of `new` that are not None.

    `old` has their previous values. `accepted`: the reason for which the result is accepted
    although checks fail. `dependencies` are set if `refs` changed.
    """

    type: Literal["node.updated"] = "node.updated"
    node_id: NodeId
    cause: str
    old: NodeChanges = NodeChanges()
    new: NodeChanges = NodeChanges()
    accepted: str = ""
    dependencies: tuple[NodeId, ...] | None = None


class NodeAssigned(BoardEventBase):
    """A ready node was assigned to an idle worker."""

    type: Literal["node.assigned"] = "node.assigned"
    node_id: NodeId
    worker_id: WorkerId
    attempt: int


class NodeStarted(BoardEventBase):
    """The node's worker began."""

    type: Literal["node.started"] = "node.started"
    node_id: NodeId


class NodeBlocked(BoardEventBase):
    """The node's worker waits for other nodes, or for a message if `waits_for` is empty.

    It continues at `until` in any case; `is_timer`: its worker has asked for that time.
    """

    type: Literal["node.blocked"] = "node.blocked"
    node_id: NodeId
    waits_for: tuple[NodeId, ...] = ()
    until: float | None = None
    is_timer: bool = False


class NodeUnblocked(BoardEventBase):
    """The node's worker continues."""

    type: Literal["node.unblocked"] = "node.unblocked"
    node_id: NodeId


class NodeCompleted(NodeResult, BoardEventBase):
    """The node is done: its files are in `published/`; its worker is idle."""

    type: Literal["node.completed"] = "node.completed"
    node_id: NodeId


class NodeFailed(BoardEventBase):
    """The node failed; its worker, if any, is idle and leaves `left` in `scratch/`."""

    type: Literal["node.failed"] = "node.failed"
    node_id: NodeId
    reason: str
    left: tuple[str, ...] = ()
    details: str = ""


class NodeCancelled(BoardEventBase):
    """The node's result is not needed; its worker, if any, is idle."""

    type: Literal["node.cancelled"] = "node.cancelled"
    node_id: NodeId
    reason: str
    by: CancelledBy = ""


class NodeRetried(BoardEventBase):
    """A node that had failed, was cancelled with the run, or was completed is pending again.

    `not_before`: the board itself retries it, and not before then; None: it was requested.
    """

    type: Literal["node.retried"] = "node.retried"
    node_id: NodeId
    cause: str
    because: str = ""
    not_before: float | None = None


class NodeMoved(BoardEventBase):
    """The node moves to another worker: a pending node when it starts, a held one once released."""

    type: Literal["node.moved"] = "node.moved"
    node_id: NodeId
    move: NodeMove


class NodeReleased(BoardEventBase):
    """The worker of a node that is to be moved has released it: it is pending again."""

    type: Literal["node.released"] = "node.released"
    node_id: NodeId
    reason: str


class NodeConditionsDecided(BoardEventBase):
    """The conditions of a node were decided: the dependencies that count, and results, shortened.

    The whole results are in the events of the dependencies' completion.
    """

    type: Literal["node.decided"] = "node.decided"
    node_id: NodeId
    edges: dict[NodeId, bool]
    seen: dict[NodeId, str] = Field(default_factory=dict)


class NodeSkipped(BoardEventBase):
    """The node is skipped, because no dependency counts or there is no item to do it for."""

    type: Literal["node.skipped"] = "node.skipped"
    node_id: NodeId
    reason: str


class NodeExpanded(BoardEventBase):
    """The node is replaced by its `copies`, created just before: one for each item."""

    type: Literal["node.expanded"] = "node.expanded"
    node_id: NodeId
    copies: tuple[NodeId, ...]


class WorkerSpawned(BoardEventBase):
    """A worker joined the team."""

    type: Literal["worker.spawned"] = "worker.spawned"
    worker: Worker


class WorkerStopped(BoardEventBase):
    """A worker left the team for good: retired, or lost."""

    type: Literal["worker.stopped"] = "worker.stopped"
    worker_id: WorkerId
    reason: str = ""


class StageReconvened(BoardEventBase):
    """The stage was closed with an assessment; `stragglers` are its nodes that had not ended."""

    type: Literal["stage.reconvened"] = "stage.reconvened"
    stage: int
    assessment: str
    stragglers: tuple[NodeId, ...] = ()
    decided: str = ""
    cause: str = ""


class DeadlockFound(BoardEventBase):
    """Nodes wait for each other in a cycle; `is_refused`: the wait that closes it was refused."""

    type: Literal["deadlock.found"] = "deadlock.found"
    cycle: tuple[NodeId, ...]
    text: str
    is_refused: bool = False


class StandstillFound(BoardEventBase):
    """Nothing in the run can happen by itself any more."""

    type: Literal["standstill.found"] = "standstill.found"
    standstill: Standstill


class RunFinished(BoardEventBase):
    """The goal was reached; `incomplete` names the nodes of the plan that were not completed."""

    type: Literal["run.finished"] = "run.finished"
    summary: str
    incomplete: tuple[str, ...] = ()


class RunStopped(BoardEventBase):
    """The run ended before its goal. `summary` is the answer if there is one nevertheless."""

    type: Literal["run.stopped"] = "run.stopped"
    status: Literal["failed", "stopped"]
    reason: str
    summary: str | None = None


class RunReopened(BoardEventBase):
    """A failed run continues, because one of its nodes is retried."""

    type: Literal["run.reopened"] = "run.reopened"
    cause: str


class CycleEnded(BoardEventBase):
    """A cycle of an infinite run is over, and the run sleeps until `next_at`.

    `turns` is the number of model turns of its coordinator since the run began.
    """

    type: Literal["cycle.ended"] = "cycle.ended"
    cycle: int
    cause: str
    notes: str
    next_at: float
    turns: int = 0


class CycleStarted(BoardEventBase):
    """The next cycle of an infinite run began."""

    type: Literal["cycle.started"] = "cycle.started"
    cycle: int


class BoardEpochBegan(BoardEventBase):
    """The journal lost its end, and continues from here: no id of the lost part may be reused.

    It is the last record of the part that is kept when a damaged journal is set aside.
    """

    type: Literal["epoch.began"] = "epoch.began"
    epoch: str


FlowEvent = NodeConditionsDecided | NodeSkipped | NodeExpanded
BoardEvent = Annotated[
    RunStarted
    | StageStarted
    | NodeCreated
    | NodeReserved
    | NodeUpdated
    | NodeAssigned
    | NodeStarted
    | NodeBlocked
    | NodeUnblocked
    | NodeCompleted
    | NodeFailed
    | NodeCancelled
    | NodeRetried
    | NodeMoved
    | NodeReleased
    | NodeConditionsDecided
    | NodeSkipped
    | NodeExpanded
    | WorkerSpawned
    | WorkerStopped
    | StagePlanned
    | StageLaunched
    | StageMet
    | StageReconvened
    | DeadlockFound
    | StandstillFound
    | RunFinished
    | RunStopped
    | RunReopened
    | CycleEnded
    | CycleStarted
    | BoardEpochBegan,
    Field(discriminator="type"),
]

NO_PROGRESS = (StandstillFound, DeadlockFound, StageLaunched)
"""Events after which a standstill continues; any other event ends it."""

BOARD_EVENT: TypeAdapter[BoardEvent] = union_adapter(BoardEvent)


def public_key(board: str, place: int, number: int) -> str:
    """Return the key of the public event `number` of the record at a place of a run's journal.

    `board` is `Board.key`.
    """
    return f"board:{board}:{place}:{number}"


def place_in(key: str) -> tuple[str, int] | None:
    """Return `board` and `place` of a key made by `public_key`, None for any other key."""
    found = PUBLIC_KEY.fullmatch(key)
    return (found[1], int(found[2])) if found else None
