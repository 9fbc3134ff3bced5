"""Ports: what a tool may ask of the entity that runs it. The actors implement them.

Every act carries `call_id`, the id of the tool call it serves: an act that is asked for again
with the same id after a crash has its effect once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agiraph.board.commands import StageRole, StageTerms
from agiraph.core.config import Config
from agiraph.core.errors import Refused
from agiraph.core.ids import Address
from agiraph.core.models import DeliveryMode, Urgency, WorkerType, WorkMode
from agiraph.memory.skills import Skill
from agiraph.tools.scopes.scope import Scope

EntityKind = Literal["worker", "coordinator"]
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewNode:
    """What `create_work_node` asks for; names and ids both serve in `dependencies` and `worker`."""

    task: str
    name: str | None = None
    role: str | None = None
    refs: dict[str, str] | None = None
    dependencies: tuple[str, ...] = ()
    worker: str | None = None
    mode: WorkMode | None = None
    stage: StageTerms | None = None
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewWorker:
    """What `spawn_worker` asks for."""

    name: str
    type: WorkerType = "harnessed"
    model: str | None = None
    agent_command: str | None = None
    role: str | None = None
    tools: tuple[str, ...] | None = None
    memory: str = ""
    mode: WorkMode = "multi_turn"


@dataclass(frozen=True, slots=True)
class NewStage:
    """What `launch_roles` asks for."""

    terms: StageTerms
    roles: tuple[StageRole, ...]
    retire: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """What `ask_human` asks for. `waits`: the asker goes on only when it knows what came of it."""

    question: str
    channel: str = "cli"
    options: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    waits: bool = True


@dataclass(frozen=True, slots=True)
class WaitOutcome:
    """Why a wait came back: `nodes` are the rows of the awaited nodes, `message` if one arrived."""

    nodes: tuple[JsonObject, ...]
    interrupted_by_message: bool = False


class TeamPort(Protocol):
    """What every entity can do with the others. All raise Refused with a reason for the model."""

    async def send_message(self, call_id: str, to: str, content: str, mode: DeliveryMode) -> None:
        """Send text to a worker, `coordinator`, `human` or `*`."""
        ...

    async def check_messages(self, call_id: str) -> list[str]:
        """Return the messages that arrived and are not yet in the conversation."""
        ...

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        """Ask; return what came of it, however long it takes, or at once if it need not wait."""
        ...

    async def create_node(self, call_id: str, node: NewNode) -> JsonObject:
        """Put a node on the board; return {"node_id", "name", "status"}."""
        ...

    async def wait(self, call_id: str, nodes: tuple[str, ...]) -> WaitOutcome:
        """Wait for nodes (empty: those this entity created) to end or for a message."""
        ...

    async def view_board(self) -> JsonObject:
        """Return {"stage", "nodes": [...], "workers": [...]}."""
        ...

    async def read_context(self, key: str) -> str:
        """Return what stands under a key of the shared context, as one JSON object."""
        ...

    async def list_context(self) -> str:
        """Return the rows of all keys, as one JSON object."""
        ...

    async def change_context(
        self, call_id: str, way: Literal["write", "append"], key: str, value: Any
    ) -> JsonObject:
        """Write or append under a key; return {"key", "version", "items"}."""
        ...


class TriggerPort(Protocol):
    """What every entity can have done later."""

    async def schedule(
        self, call_id: str, type_: str, config: JsonObject, action: Any
    ) -> JsonObject:
        """Make a trigger; return {"trigger_id", "name", "type", "status", "next_due"}."""
        ...

    async def list_triggers(self) -> list[JsonObject]:
        """Return the agent's triggers that go on."""
        ...

    async def cancel_trigger(self, call_id: str, named: str) -> JsonObject:
        """Cancel a trigger; return {"trigger_id", "status"}."""
        ...


class WorkerPort(TeamPort, TriggerPort, Protocol):
    """What a worker can do with the node it holds."""

    async def publish(
        self, call_id: str, summary: str, missing: str, insight: str
    ) -> tuple[str, ...]:
        """Move scratch/ to published/, complete the node; return the published files.

        `missing` tells what a result in part lacks, `insight` is offered to the agent's memory.
        """
        ...

    async def checkpoint(self, call_id: str, summary: str) -> None:
        """Report a milestone; the node goes on."""
        ...

    async def suggest_next(self, call_id: str, suggestion: str) -> None:
        """Suggest a follow-up to the coordinator."""
        ...


class CoordinatorPort(TeamPort, TriggerPort, Protocol):
    """What the coordinator can do with the team."""

    async def spawn_worker(self, call_id: str, worker: NewWorker) -> JsonObject:
        """Create a worker; return {"worker_id", "name"}."""
        ...

    async def assign_worker(self, call_id: str, node: str, worker: str) -> JsonObject:
        """Give a pending node to a worker; return {"node_id", "worker_id", "status"}."""
        ...

    async def retire_worker(self, call_id: str, worker: str) -> JsonObject:
        """Let an idle worker go; return {"worker_id", "status"}."""
        ...

    async def cancel_node(self, call_id: str, node: str) -> JsonObject:
        """Cancel a node that has not ended; return {"node_id", "status"}."""
        ...

    async def launch_roles(self, call_id: str, stage: NewStage) -> JsonObject:
        """Open a stage: all or nothing; return {"stage", "contract", "nodes", "workers"}."""
        ...

    async def reconvene(
        self, call_id: str, assessment: str, decided: str, terms: StageTerms | None
    ) -> JsonObject:
        """Close the stage; return {"stage", "nodes", "went_on_without"} of the closed one.

        `terms` are those of the next stage.
        """
        ...

    async def end_cycle(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        """End a cycle of an infinite run; return {"cycle", "next_cycle_at"}."""
        ...

    async def finish(self, call_id: str, summary: str) -> None:
        """End the run and write `_output.md`."""
        ...


class RemoteTools(Protocol):
    """The way to tools that run in a process of their own."""

    async def call(
        self,
        call_id: str,
        server: Address,
        tool: str,
        arguments: JsonObject,
        *,
        is_repeatable: bool = True,
    ) -> str:
        """Return what a tool of the process `server` says; raises Refused with its reason.

        What is not repeatable is called once at most: if its process dies, nobody knows what
        became of it, and Refused says so.
        """
        ...

    async def recover(self, call_id: str, server: Address) -> str | None:
        """Return the result of a call that an earlier incarnation made, None if it is not known."""
        ...


class NoRemoteTools:
    """No way to any other process: what an entity has that was given none."""

    async def call(
        self,
        call_id: str,
        server: Address,
        tool: str,
        arguments: JsonObject,
        *,
        is_repeatable: bool = True,
    ) -> str:
        """Refuse."""
        raise Refused(f"{tool} cannot be used here: {server} cannot be reached")

    async def recover(self, call_id: str, server: Address) -> str | None:
        """Know nothing."""
        return None


def _to_nobody(event: str, data: JsonObject) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool is handed besides its parameters. `team` is a WorkerPort or a CoordinatorPort, by
    `kind`.

    `calls` is the entity's folder of what its running calls leave for its next incarnation.
    `report` tells the world of something that a tool has done. `skills` are those it was told of.
    """

    kind: EntityKind
    call_id: str
    scope: Scope
    config: Config
    team: Any
    environment: dict[str, str]
    calls: Path
    elsewhere: RemoteTools = field(default_factory=NoRemoteTools)
    report: Callable[[str, JsonObject], None] = _to_nobody
    skills: tuple[Skill, ...] = ()

    @property
    def call_folder(self) -> Path:
        """The folder of this call alone. It lasts until the call's result is journaled."""
        return self.calls / self.call_id
