"""What can be asked of a board: one frozen record each. Nodes and workers go by name or id.

`cause` is the id of the message or tool call behind a command; the same cause asked twice has
its effect once.
"""

from dataclasses import dataclass, field
from typing import Literal

from agiraph.board.events import MAX_DEPTH, MAX_WORKERS
from agiraph.ids import RunId
from agiraph.models import Mode, StageContract, WorkerType


@dataclass(frozen=True, slots=True)
class StartRun:
    """Begin a run; first of all commands."""

    run_id: RunId
    goal: str
    model: str
    worker_model: str
    mode: Mode = "finite"
    max_nodes: int = 200
    contract: StageContract = field(default_factory=StageContract)
    max_workers: int = MAX_WORKERS
    max_depth: int = MAX_DEPTH


@dataclass(frozen=True, slots=True)
class CreateNode:
    """Put a node on the board. `refs` maps ref names to nodes or files in their `published/`."""

    cause: str
    task: str
    name: str | None = None
    role: str | None = None
    refs: dict[str, str] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    worker: str | None = None
    parent_node: str | None = None


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
    """Its worker waits for other nodes (`waits_for`)."""

    node: str
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnblockNode:
    """Its worker goes on."""

    node: str


@dataclass(frozen=True, slots=True)
class CompleteNode:
    """Its files stand in `published/`. `missing`: what is not done; `bound`: what cut it short."""

    node: str
    attempt: int
    summary: str
    files: tuple[str, ...]
    missing: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class FailNode:
    """It cannot be done. `attempt` is None when it is not its worker that says so.

    `left` are the files that its worker leaves in `scratch/`.
    """

    node: str
    attempt: int | None
    reason: str
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelNode:
    """Its result is no longer wanted."""

    node: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SpawnWorker:
    """Add a worker to the team."""

    cause: str
    name: str
    type: WorkerType = "harnessed"
    model: str | None = None
    role: str | None = None
    identity: str = ""
    memory: str = ""
    tools: tuple[str, ...] | None = None
    agent_command: str | None = None


@dataclass(frozen=True, slots=True)
class RetireWorker:
    """Let an idle worker go."""

    worker: str


@dataclass(frozen=True, slots=True)
class LoseWorker:
    """A worker is gone for good; the node it held fails."""

    worker: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reconvene:
    """Close the open stage with an assessment."""

    assessment: str


@dataclass(frozen=True, slots=True)
class FinishRun:
    """The goal is reached; what has not ended is cancelled."""

    summary: str


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run before its goal; what has not ended is cancelled."""

    status: Literal["failed", "stopped"]
    reason: str


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
    | SpawnWorker
    | RetireWorker
    | LoseWorker
    | Reconvene
    | FinishRun
    | StopRun
)
