"""EntityTools: the tools of one entity, with real folders and a team that records requests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import WorkerId
from agiraph.core.specs import NodeSpec, StageSpec, StageTerms, WorkerSpec
from agiraph.core.turns import ToolCall, ToolTurn
from agiraph.settings.config import Config, load_config
from agiraph.storage.home import AgentHome, NodeHome, RunHome
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.ports import (
    EntityKind,
    NewQuestion,
    Team,
    ToolContext,
    WaitOutcome,
)
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox


@dataclass
class RecordingTeam(Team):
    """Answers every port and records requests, in order."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    arrived: list[str] = field(default_factory=list)
    fault: Exception | None = None

    async def send_message(self, call_id: str, to: str, content: str, mode: str) -> tuple[str, ...]:
        if to == "nobody":
            raise InvalidInput("unknown recipient 'nobody' (known: ada, coordinator, human)")
        self.asked.append(("send_message", call_id, to, content, mode))
        return (to,)

    async def check_messages(self, call_id: str) -> list[str]:
        if self.fault:
            raise self.fault
        return self.arrived

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        self.asked.append(("ask_human", call_id, question))
        return "blue"

    async def create_node(
        self, call_id: str, node: NodeSpec, stage: StageTerms | None = None
    ) -> dict[str, Any]:
        self.asked.append(("create_node", call_id, node, *([stage] if stage else [])))
        return {"node_id": "abc123", "name": node.name or "node", "status": "pending"}

    async def wait(
        self, call_id: str, nodes: tuple[str, ...], timeout_seconds: float | None = None
    ) -> WaitOutcome:
        self.asked.append(("wait", call_id, nodes))
        return WaitOutcome(({"id": "abc123", "status": "completed"},))

    async def view_board(self) -> dict[str, Any]:
        return {"stage": "Stage 1", "nodes": [], "workers": []}

    async def publish(
        self,
        call_id: str,
        summary: str,
        missing: str,
        insight: str,
        *,
        result: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        self.asked.append(("publish", call_id, summary))
        return {"published": ["report.md"]}

    async def checkpoint(self, call_id: str, summary: str) -> None:
        self.asked.append(("checkpoint", call_id, summary))

    async def suggest_next(self, call_id: str, suggestion: str) -> None:
        self.asked.append(("suggest_next", call_id, suggestion))

    async def spawn_worker(self, call_id: str, worker: WorkerSpec) -> dict[str, Any]:
        self.asked.append(("spawn_worker", call_id, worker))
        return {"worker_id": f"{worker.name}-1", "name": worker.name}

    async def assign_worker(self, call_id: str, node: str, worker: str) -> dict[str, Any]:
        return {"node_id": node, "worker_id": worker, "status": "assigned"}

    async def retire_worker(self, call_id: str, worker: str) -> dict[str, Any]:
        return {"worker_id": worker, "status": "stopped"}

    async def update_node(self, call_id: str, node: str, *_: Any, **more: Any) -> dict[str, Any]:
        return {"node_id": node, "status": "running", **more}

    async def cancel_node(self, call_id: str, node: str, reason: str) -> dict[str, Any]:
        return {"node_id": node, "status": "cancelled"}

    async def reconvene(self, call_id: str, assessment: str, *_: Any) -> dict[str, Any]:
        return {"stage": "Stage 1", "nodes": []}

    async def launch_roles(self, call_id: str, stage: StageSpec) -> dict[str, Any]:
        self.asked.append(("launch_roles", call_id, stage))
        return {"stage": stage.name}

    async def finish(self, call_id: str, summary: str, files: tuple[str, ...] = ()) -> str:
        self.asked.append(("finish", call_id, summary))
        return "The run is finished."


class EntityTools:
    """One entity at work in real folders under `home`."""

    def __init__(self, home: Path, kind: EntityKind = "worker") -> None:
        self.kind = kind
        self.agent = AgentHome(home / "agent")
        self.run: RunHome = self.agent.run("r1")
        self.node: NodeHome = self.run.node("work-worker-0a0a0a")
        self.node.scratch.mkdir(parents=True)
        self.input = home / "input"
        self.input.mkdir(parents=True)
        self.refs: dict[str, str] = {}
        self.team = RecordingTeam()
        self.config: Config = load_config()
        self.environment: dict[str, str] = {}
        self.report: Callable[..., None] = lambda event, data, key="": None
        self.toolbox = Toolbox.for_entity(kind)

    def limited(self, section: str, **values: object) -> None:
        """Lay values over one section of the settings."""
        changed = getattr(self.config, section).model_copy(update=values)
        self.config = self.config.model_copy(update={section: changed})

    def context(self, call_id: str = "call-1") -> ToolContext:
        scope = (
            Scope.for_coordinator(self.agent, self.run, self.input)
            if self.kind == "coordinator"
            else Scope.for_worker(
                self.agent, self.run, WorkerId("ada-1"), self.node, self.input, refs=self.refs
            )
        )
        return ToolContext(
            kind=self.kind,
            call_id=call_id,
            scope=scope,
            config=self.config,
            team=self.team,
            environment=self.environment,
            calls=self.run.worker("ada-1").calls,
            keep_picture=PictureStore(self.run.worker("ada-1").pictures).add,
            report=self.report,
        )

    async def call(self, tool: str, **arguments: object) -> ToolTurn:
        """Run one call as the agent loop would."""
        return await self.call_as("call-1", tool, **arguments)

    async def call_as(self, call_id: str, tool: str, **arguments: object) -> ToolTurn:
        """Run a call with an id of its own, as calls at the same time need."""
        call = ToolCall(id=call_id, name=tool, arguments=arguments)
        return await self.toolbox.run(call, self.context(call_id))
