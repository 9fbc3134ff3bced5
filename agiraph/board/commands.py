"""Commands of a board: one frozen record each. Nodes and workers are named by name or id.

`cause` is the id of the message or tool call behind a command; a repeated cause has its effect
once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from agiraph.board.events import RunSetup
from agiraph.core.ids import NEW_WORKER, NodeId, slug
from agiraph.core.models import CancelledBy, NodeResult, Standstill
from agiraph.core.node_changes import NodeChanges
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
"""Prefix of the causes of a plan's own nodes and workers."""

OF_ROLES: Final = "roles:"
"""Prefix of the causes of an Agentic Team's nodes and workers."""


class StartRun(RunSetup):
    """Begin a run; the first command on a board."""


@dataclass(frozen=True, slots=True)
class CreateNode:
    """Put a node on the board. Values of its `refs` are nodes or files in their `published/`.

    `stage` has the terms of the stage that this node opens as its first. Without `mode` a node has
    the mode of its named worker, otherwise many turns. `plan_stage` is its stage in a plan file,
    `enough` the policy that says how many nodes of that stage the next stages need. `trigger` is
    the trigger whose firing caused it, by default that of the parent node. `when` maps dependencies
    to conditions. `optional`: its plan can complete without it.
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
    """Reserve a pending node for one worker, which may be busy; inputs may still be missing."""

    node: str
    worker: str


@dataclass(frozen=True, slots=True)
class UpdateNode:
    """Change a node that has not ended: its terms, its worker.

    `accepted`: the reason to accept its result although checks fail, '' if it is not accepted.
    """

    node: str
    cause: str
    changes: NodeChanges = field(default_factory=NodeChanges)
    worker: str | None = None
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class AssignNode:
    """Assign a ready node to an idle worker, now."""

    node: str
    worker: str


@dataclass(frozen=True, slots=True)
class StartNode:
    """The node's worker has begun."""

    node: str
    worker: str
    attempt: int


@dataclass(frozen=True, slots=True)
class BlockNode:
    """The node's worker waits for other nodes (`waits_for`), or for a message if there are none.

    It continues at `until` in any case; `is_timer`: its worker has asked for that time.
    """

    node: str
    waits_for: tuple[str, ...] = ()
    until: float | None = None
    is_timer: bool = False


@dataclass(frozen=True, slots=True)
class UnblockNode:
    """The node's worker continues."""

    node: str


@dataclass(frozen=True, slots=True)
class CompleteNode:
    """The node is completed; its files are in `published/`."""

    node: str
    attempt: int
    result: NodeResult


@dataclass(frozen=True, slots=True)
class FailNode:
    """The node has failed. `attempt` is None if the failure is not reported by its worker.

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
    """The node's result is not needed. The coordinator must give a reason for a plan's node."""

    node: str
    reason: str = ""
    by: CancelledBy = ""


@dataclass(frozen=True, slots=True)
class RetryNode:
    """Retry a failed node. `because`: the person's text about what has changed."""

    node: str
    cause: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class RetryFailedNode:
    """Retry a failed node that has retries left; issued by the board itself."""

    node: str


@dataclass(frozen=True, slots=True)
class DecideNode:
    """Decide whether a node runs, and for which items; issued by the board itself."""

    node: str


@dataclass(frozen=True, slots=True)
class MoveNode:
    """Assign a node to another worker, or to any worker with another model, for a person.

    `because` is the reason that the person gave.
    """

    node: str
    cause: str
    worker: str | None = None
    model: str | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseNode:
    """The worker of a node that is to be moved no longer works on it."""

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
    sub-nodes. `trigger` is the trigger whose firing caused it.
    """

    cause: str
    stage: StageSpec
    trigger: str = ""
    parent_node: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchStage:
    """The coordinator waits for the open stage; its policy is evaluated from now on."""


@dataclass(frozen=True, slots=True)
class EndStageEarly:
    """Continue without the open nodes of a stage: its policy is met, or its time is over."""

    stage: int


@dataclass(frozen=True, slots=True)
class RetireWorker:
    """Remove an idle worker from the team."""

    worker: str


@dataclass(frozen=True, slots=True)
class LoseWorker:
    """A worker is lost for good; the node it held fails. `details`: its last lines of output."""

    worker: str
    reason: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Reconvene:
    """Close the open stage with an assessment."""

    assessment: str
    cause: str = ""
    decided: str = ""


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
    """The goal is reached; open nodes are cancelled.

    Refused while nodes of the run's plan have not ended. `never_opened` names the optional nodes of
    stages of the plan that were not opened.
    """

    summary: str
    never_opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run before its goal; open nodes are cancelled.

    `summary` is the answer if there is one nevertheless, otherwise None.
    """

    status: Literal["failed", "stopped"]
    reason: str
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class EndCycle:
    """End a cycle of an infinite run. `turns`: the number of its coordinator's model turns."""

    cause: str
    notes: str
    next_at: float
    turns: int = 0


@dataclass(frozen=True, slots=True)
class StartCycle:
    """Begin the cycle after the cycle that `cause` ended."""

    cause: str


Command = (
    StartRun
    | CreateNode
    | ReserveNode
    | UpdateNode
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
    """Return the specs of the workers that a command creates; () for other commands."""
    match command:
        case SpawnWorker():
            return (command.spec,)
        case LaunchRoles():
            return command.stage.roles
        case _:
            return ()


def author_of(cause: str) -> Author:
    """Return the author of nodes and workers with this cause: 'person' or 'model'.

    Nodes of plans and of an Agentic Team are a person's (a plan that a model makes names no
    external agent). All others come from a model's tool calls.
    """
    return "person" if cause.startswith((OF_PLAN, OF_ROLES)) else "model"


def is_new_worker(named: str) -> bool:
    """Whether a text in place of a worker's name asks for a new worker."""
    return named.strip().casefold() == NEW_WORKER


def agents_hired(command: Command) -> tuple[AskedAgent, ...]:
    """Return the external agents that a command would hire as workers."""
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
    """Return the name of a spec's worker; for a node without one, the name that it would get."""
    if isinstance(spec, NodeSpec):
        named = None if spec.worker is None or is_new_worker(spec.worker) else spec.worker
        return named or f"{slug(spec.role or '', fallback='worker')}-1"
    return spec.name
