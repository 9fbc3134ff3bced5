"""What can be asked of a board: one frozen record each. Nodes and workers go by name or id.

`cause` is the id of the message or tool call behind a command; the same cause asked twice has
its effect once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from agiraph.board.events import RunSetup
from agiraph.core.ids import NodeId, slug
from agiraph.core.models import CancelledBy, NodeResult, Standstill
from agiraph.core.specs import (
    AskedAgent,
    Author,
    CheckpointPolicy,
    ForEach,
    NodeSpec,
    RoleSpec,
    StageSpec,
    StageTerms,
    WorkerSpec,
)

OF_PLAN: Final = "plan:"
"""What the causes of a plan's own nodes and workers begin with."""

OF_TEAM: Final = "team:"
"""What the causes of the nodes and workers of an Agentic Team begin with."""


class StartRun(RunSetup):
    """Begin a run; first of all commands."""


@dataclass(frozen=True, slots=True)
class CreateNode:
    """Put a node on the board. Values of its `refs` are nodes or files in their `published/`.

    `stage` are the terms of the stage that this node, as its first, opens. Without `mode` a node
    is done as its named worker works, else in many turns. `plan_stage` is its stage in a
    plan file, `enough` how many nodes of that stage the next stages need. `trigger` is the trigger
    whose firing led to it, else that of the node above. `when` maps dependencies to conditions.
    `optional`: its plan is carried out without it, too.
    """

    cause: str
    spec: NodeSpec
    parent_node: str | None = None
    stage: StageTerms | None = None
    plan_stage: str = ""
    enough: CheckpointPolicy = "all_must_complete"
    trigger: str = ""
    when: Mapping[str, str] = field(default_factory=dict)
    for_each: ForEach | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ReserveNode:
    """Keep a pending node for one worker, who may be busy and whose inputs may be missing yet."""

    node: str
    worker: str


@dataclass(frozen=True, slots=True)
class AssignNode:
    """Give a ready node to an idle worker, now."""

    node: str
    worker: str


@dataclass(frozen=True, slots=True)
class StartNode:
    """Its worker has begun."""

    node: str
    worker: str
    attempt: int


@dataclass(frozen=True, slots=True)
class BlockNode:
    """Its worker waits for other nodes (`waits_for`), or for a message if there are none.

    It continues at `until` in any case; `is_timer`: its worker has asked for that time.
    """

    node: str
    waits_for: tuple[str, ...] = ()
    until: float | None = None
    is_timer: bool = False


@dataclass(frozen=True, slots=True)
class UnblockNode:
    """Its worker goes on."""

    node: str


@dataclass(frozen=True, slots=True)
class CompleteNode:
    """Its files are in `published/`."""

    node: str
    attempt: int
    result: NodeResult


@dataclass(frozen=True, slots=True)
class FailNode:
    """It cannot be done. `attempt` is None when it is not its worker that says so.

    `left` are the files that its worker leaves in `scratch/`, `details` the last lines of the
    error's traceback.
    """

    node: str
    attempt: int | None
    reason: str
    left: tuple[str, ...] = ()
    details: str = ""


@dataclass(frozen=True, slots=True)
class CancelNode:
    """Its result is no longer wanted. The coordinator needs a reason for a node of the plan."""

    node: str
    reason: str = ""
    by: CancelledBy = ""


@dataclass(frozen=True, slots=True)
class RetryNode:
    """Let a failed node be tried again. `because`: what is different now, in the human's words."""

    node: str
    cause: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class RetryFailedNode:
    """Let a failed node be tried again that has retries left; the board's own wish."""

    node: str


@dataclass(frozen=True, slots=True)
class DecideNode:
    """Decide whether a node runs, and for which items; the board's own wish."""

    node: str


@dataclass(frozen=True, slots=True)
class MoveNode:
    """Give a node to another worker, or to any with another model; `because` is the human's."""

    node: str
    cause: str
    worker: str | None = None
    model: str | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseNode:
    """Its worker has let go of it, because it is to be moved."""

    node: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SpawnWorker:
    """Add a worker to the team."""

    cause: str
    spec: WorkerSpec


@dataclass(frozen=True, slots=True)
class LaunchRoles:
    """Open a stage with its workers and nodes, and retire others: all of it or nothing.

    With `parent_node` it is a stage of that node alone, whose worker leads it, and its nodes are
    sub-nodes. `trigger` is the one whose firing led to it.
    """

    cause: str
    stage: StageSpec
    trigger: str = ""
    parent_node: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchStage:
    """The coordinator waits for the open stage; its policy is judged from now on."""


@dataclass(frozen=True, slots=True)
class EndStageEarly:
    """Continue without what has not ended: the stage's policy is met, or its time is up."""

    stage: int


@dataclass(frozen=True, slots=True)
class RetireWorker:
    """Let an idle worker go."""

    worker: str


@dataclass(frozen=True, slots=True)
class LoseWorker:
    """A worker is gone for good; the node it held fails. `details`: the last lines it wrote."""

    worker: str
    reason: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Reconvene:
    """Close the open stage with an assessment; `terms` are those of the next one."""

    assessment: str
    cause: str = ""
    decided: str = ""
    terms: StageTerms | None = None


@dataclass(frozen=True, slots=True)
class NoteDeadlock:
    """Nodes wait for each other in a cycle, or would if a wait had not been refused."""

    cycle: tuple[NodeId, ...]
    text: str
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class NoteStandstill:
    """Nothing in the run can happen by itself any more."""

    standstill: Standstill


@dataclass(frozen=True, slots=True)
class FinishRun:
    """The goal is reached; what has not ended is cancelled.

    Refused while nodes of the run's plan have not ended. `never_opened` names the optional nodes of
    stages of the plan that were not opened.
    """

    summary: str
    never_opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run before its goal; what has not ended is cancelled.

    `summary` is the answer that there is all the same, None if there is none.
    """

    status: Literal["failed", "stopped"]
    reason: str
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class EndCycle:
    """A cycle of an infinite run is over. `turns`: the model turns its coordinator has had."""

    cause: str
    notes: str
    next_at: float
    turns: int = 0


@dataclass(frozen=True, slots=True)
class StartCycle:
    """Begin the cycle after the one that `cause` ended."""

    cause: str


Command = (
    StartRun
    | CreateNode
    | ReserveNode
    | AssignNode
    | StartNode
    | BlockNode
    | UnblockNode
    | CompleteNode
    | FailNode
    | CancelNode
    | RetryNode
    | RetryFailedNode
    | DecideNode
    | MoveNode
    | ReleaseNode
    | SpawnWorker
    | LaunchRoles
    | LaunchStage
    | EndStageEarly
    | RetireWorker
    | LoseWorker
    | Reconvene
    | NoteDeadlock
    | NoteStandstill
    | FinishRun
    | StopRun
    | EndCycle
    | StartCycle
)


def workers_asked_for(command: Command) -> tuple[WorkerSpec | RoleSpec, ...]:
    """Return the workers that a command asks for, as it does."""
    match command:
        case SpawnWorker():
            return (command.spec,)
        case LaunchRoles():
            return command.stage.roles
        case _:
            return ()


def author_of(cause: str) -> Author:
    """Return who has written what this cause has led to.

    A person writes plans and the roles of an Agentic Team (a plan that a model makes names no
    external agent). Everything else is the call of a model's tool.
    """
    return "person" if cause.startswith((OF_PLAN, OF_TEAM)) else "model"


def agents_hired(command: Command) -> tuple[AskedAgent, ...]:
    """Return the external agents that a command would have as workers."""
    match command:
        case SpawnWorker() | CreateNode():
            specs: tuple[NodeSpec | WorkerSpec | RoleSpec, ...] = (command.spec,)
        case LaunchRoles():
            specs = command.stage.roles
        case _:
            return ()
    return tuple(
        AskedAgent(
            command=spec.agent_command,
            author=author_of(command.cause),
            name=_worker_of(spec),
            role=(spec.role or "").strip() or "worker",
            model=spec.model,
        )
        for spec in specs
        if spec.type != "harnessed" and spec.agent_command and spec.agent_command.strip()
    )


def _worker_of(spec: NodeSpec | WorkerSpec | RoleSpec) -> str:
    """Return the worker's name; of a node that names none, as the scheduler may name it."""
    if isinstance(spec, NodeSpec):
        return spec.worker or f"{slug(spec.role or '', fallback='worker')}-1"
    return spec.name
