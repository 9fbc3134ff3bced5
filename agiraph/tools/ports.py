"""Ports: services of the entity that runs a tool. The actors implement them.

Every method receives `call_id`, the id of the tool call: a request that is repeated with the same
id after a crash has its effect once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agiraph.core.errors import Refused
from agiraph.core.ids import Address
from agiraph.core.models import DeliveryMode, Urgency
from agiraph.core.node_changes import NodeChanges, NodeRequest
from agiraph.core.specs import StageSpec, StageTerms, WorkerSpec
from agiraph.core.turns import ToolCall
from agiraph.knowledge.remembered import RememberedSpec
from agiraph.memory.skills import Skill
from agiraph.settings.config import Config
from agiraph.tools.scopes.scope import Scope

EntityKind = Literal["worker", "coordinator"]
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """The question of `ask_human`. `waits`: the asker continues only when it has the outcome."""

    question: str
    channel: str = "cli"
    options: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    waits: bool = True


@dataclass(frozen=True, slots=True)
class WaitOutcome:
    """The reason why a wait ended; `nodes` are the rows of the awaited nodes.

    `note` is the reason if neither the nodes nor a message ended the wait.
    """

    nodes: tuple[JsonObject, ...]
    interrupted_by_message: bool = False
    note: str = ""


class Team:
    """Services of the team, the board and the clock for an entity's tools; all raise Refused.

    Workers and the coordinator override the methods that they support; the rest is refused. A
    returned object is the model's result.
    """

    async def send_message(
        self, call_id: str, to: str, content: str, mode: DeliveryMode
    ) -> tuple[str, ...]:
        """Send text to a worker, `coordinator`, `human` or `*`; return the receivers.

        Of `*`, each receiver is named with its state.
        """
        raise _not_possible("send_message")

    async def check_messages(self, call_id: str) -> list[str]:
        """Return the messages that arrived and are not yet in the conversation."""
        raise _not_possible("check_messages")

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        """Ask the human; return the outcome, at once if the question need not wait."""
        raise _not_possible("ask_human")

    async def create_node(
        self, call_id: str, node: NodeRequest, stage: StageTerms | None = None
    ) -> JsonObject:
        """Put a node on the board; return {"node_id", "name", "status"}.

        `stage` has the terms of the stage that the node opens, if it is the stage's first.
        """
        raise _not_possible("create_work_node")

    async def wait(
        self, call_id: str, nodes: tuple[str, ...], timeout_seconds: float | None = None
    ) -> WaitOutcome:
        """Wait until nodes have ended or a message arrives, at most `timeout_seconds`.

        By default for the nodes that this entity created; a default time applies only without
        nodes.
        """
        raise _not_possible("wait")

    async def view_board(self) -> JsonObject:
        """Return {"stage", "nodes": [...], "workers": [...]}."""
        raise _not_possible("check_board")

    async def read_shared_value(self, key: str) -> str:
        """Return {"key", "value", "version", "by", "at"} of the shared values, as JSON."""
        raise _not_possible("read_shared_value")

    async def list_shared_values(self) -> str:
        """Return {"keys": [{"key", "kind", "bytes", "version", "by", "at"}]}, as JSON."""
        raise _not_possible("list_shared_values")

    async def change_shared_value(
        self, call_id: str, way: Literal["write", "append"], key: str, value: Any
    ) -> JsonObject:
        """Write or append `value` under a key; return {"key", "version", "items"}."""
        raise _not_possible(f"{way}_context")

    async def remember(self, call_id: str, what: RememberedSpec) -> None:
        """Write an entry into the knowledge database."""
        raise _not_possible("remember")

    async def schedule(
        self, call_id: str, type_: str, config: JsonObject, action: Any
    ) -> JsonObject:
        """Create a trigger; return {"trigger_id", "name", "type", "status", "next_due"}."""
        raise _not_possible("schedule")

    async def list_triggers(self) -> list[JsonObject]:
        """Return the agent's triggers that are active or paused."""
        raise _not_possible("list_triggers")

    async def cancel_trigger(self, call_id: str, named: str) -> JsonObject:
        """Cancel a trigger; return {"trigger_id", "status"}."""
        raise _not_possible("cancel_trigger")

    async def publish(
        self,
        call_id: str,
        summary: str,
        missing: str,
        insight: str,
        *,
        result: JsonObject | None = None,
    ) -> JsonObject:
        """Move scratch/ to published/, complete the node; return {"published", "checks_passed"}.

        If scratch/ is empty the summary is published. `missing` describes the missing part of a
        partial result, `insight` is offered to the agent's memory, `result` is the content of its
        `result.json`.
        """
        raise _not_possible("publish")

    async def run_checks(self, call_id: str) -> str:
        """Run the checks of the node without publishing; return their results."""
        raise _not_possible("run_checks")

    async def checkpoint(self, call_id: str, summary: str) -> None:
        """Report a milestone; the node continues."""
        raise _not_possible("checkpoint")

    async def suggest_next(self, call_id: str, suggestion: str) -> None:
        """Suggest a follow-up to the coordinator."""
        raise _not_possible("suggest_next")

    async def spawn_worker(self, call_id: str, worker: WorkerSpec) -> JsonObject:
        """Create a worker; return {"worker_id", "name"}, and {"warnings"} for an external agent."""
        raise _not_possible("spawn_worker")

    async def assign_worker(self, call_id: str, node: str, worker: str) -> JsonObject:
        """Assign a pending node to a worker; return {"node_id", "worker_id", "status"}."""
        raise _not_possible("assign_worker")

    async def retire_worker(self, call_id: str, worker: str) -> JsonObject:
        """Retire an idle worker; return {"worker_id", "status"}."""
        raise _not_possible("retire_worker")

    async def cancel_node(self, call_id: str, node: str, reason: str) -> JsonObject:
        """Cancel a node that has not ended; return {"node_id", "status", "kept", "notes"}.

        `kept` are the files in the node's scratch/, `notes` the notebook of its worker.
        """
        raise _not_possible("cancel_node")

    async def update_node(
        self,
        call_id: str,
        node: str,
        changes: NodeChanges,
        *,
        worker: str | None = None,
        accept: str = "",
    ) -> JsonObject:
        """Change a node that has not ended; return {"node_id", "name", "status"}.

        `accept` is the reason to accept the node's result although checks fail.
        """
        raise _not_possible("update_node")

    async def launch_roles(self, call_id: str, stage: StageSpec) -> JsonObject:
        """Open a stage: all or nothing; return {"stage", "contract", "nodes", "workers"}."""
        raise _not_possible("launch_roles")

    async def reconvene(self, call_id: str, assessment: str, decided: str) -> JsonObject:
        """Close the stage; return {"stage", "nodes", "went_on_without"} of the closed stage."""
        raise _not_possible("reconvene")

    async def end_cycle(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        """End a cycle of an infinite run; return {"cycle", "next_cycle_at"}."""
        raise _not_possible("end_cycle")

    async def finish(self, call_id: str, summary: str, files: tuple[str, ...] = ()) -> str:
        """End the run and write `_output.md`; return its outcome and cancelled nodes, in words.

        `files` are published files that are copied to `results/`.
        """
        raise _not_possible("finish")


def _not_possible(tool: str) -> Refused:
    return Refused(f"you cannot use {tool} here")


class RemoteTools:
    """Calls of tools in other processes; this base class refuses every call."""

    async def call(
        self,
        call_id: str,
        server: Address,
        tool: str,
        arguments: JsonObject,
        *,
        is_repeatable: bool = True,
    ) -> str:
        """Return the result of a tool of the process `server`; raises Refused with its reason.

        A call that is not repeatable is made once at most: if the process dies, the outcome is
        unknown, and Refused says so.
        """
        raise Refused(f"{tool} cannot be used here: {server} cannot be reached")

    async def recover(self, call_id: str, server: Address) -> str | None:
        """Return the result of an earlier incarnation's call, None if unknown."""
        return None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a tool call besides its parameters.

    `calls` is the entity's folder for data that its running calls keep for its next incarnation,
    `keep_picture` stores a picture that a result shows, and returns its digest.
    `report` reports an event about a tool's action; reported again with the same key (its third
    argument) it is one event. `skills` are the skills listed in its prompt. `prepare` is awaited
    before each call. `cycle_began_at` is the start of the current cycle of an infinite run, in
    seconds since the epoch, else 0.
    """

    kind: EntityKind
    call_id: str
    scope: Scope
    config: Config
    team: Team
    environment: dict[str, str]
    calls: Path
    keep_picture: Callable[[bytes], str]
    remote_tools: RemoteTools = field(default_factory=RemoteTools)
    report: Callable[..., None] = lambda event, data, key="": None
    skills: tuple[Skill, ...] = ()
    prepare: Callable[[ToolCall], Awaitable[None]] | None = None
    cycle_began_at: float = 0.0

    @property
    def call_folder(self) -> Path:
        """The folder of this call alone, which exists until the call's result is journaled."""
        return self.calls / self.call_id
