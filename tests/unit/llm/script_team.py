"""A team in memory that plays a playbook with the real tools on real files, without processes."""

import asyncio
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import WorkerId
from agiraph.core.models import DeliveryMode
from agiraph.core.specs import NodeSpec, StageTerms, WorkerSpec
from agiraph.core.turns import ModelRequest, ToolTurn, Turn, UserTurn
from agiraph.llm.embedded.script import ScriptProvider
from agiraph.settings.config import configs_folder, load_config
from agiraph.storage.home import AgentHome, NodeHome
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.ports import EntityKind, Team, ToolContext, WaitOutcome
from agiraph.tools.scopes.publishing import publish_files
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox

JsonObject = dict[str, Any]


@dataclass
class Entity:
    """One conversation: its system prompt, its turns, its waiting messages."""

    name: str
    kind: EntityKind
    role: str
    system: str
    turns: list[Turn] = field(default_factory=list)
    mailbox: list[str] = field(default_factory=list)
    node: str | None = None
    is_over: bool = False


@dataclass
class Node:
    """One node and the folder of its files."""

    id: str
    name: str
    home: NodeHome
    worker: str
    status: str = "running"
    summary: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def row(self) -> JsonObject:
        """The node as `wait` shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "worker": self.worker,
            "summary": self.summary,
        }


class ScriptTeam:
    """Plays `script/NAME` for a coordinator and the workers it hires, until it finishes."""

    def __init__(self, home: Path, input_dir: Path | None, playbook: str = "survey") -> None:
        self.agent = AgentHome(home / "agents" / "a")
        self.run = self.agent.run("r1")
        self.run.path.mkdir(parents=True)
        self.input_dir = input_dir
        self.config = load_config()
        self.model = f"script/{playbook}"
        self.provider = ScriptProvider(configs_folder() / "playbooks")
        self.entities: dict[str, Entity] = {}
        self.nodes: dict[str, Node] = {}
        self.sent: list[tuple[str, str, str]] = []
        self.log: list[tuple[str, str, ToolTurn]] = []
        self.letters: dict[str, str] = {}
        self.result: str | None = None
        self.tasks: list[asyncio.Task[None]] = []

    async def play(self, goal: str, *, told: str = "") -> str:
        """Return the coordinator's final answer; `told` is a message of the human."""
        lead = Entity(
            "atlas", "coordinator", "coordinator", "You are atlas, the coordinator of a team."
        )
        self.entities["coordinator"] = lead
        lead.turns.append(
            UserTurn(content=f"# Goal\n\n{goal}\n\nThe input folder is mounted at input/.")
        )
        lead.mailbox += [f"[Message from human]: {told}"] if told else []
        await self.talk(lead)
        await asyncio.gather(*self.tasks)
        assert self.result is not None
        return self.result

    async def talk(self, entity: Entity) -> None:
        """The loop: read messages, think, act, until there is nothing to do."""
        toolbox = Toolbox.for_entity(entity.kind)
        for _ in range(100):
            entity.turns += [UserTurn(content=text) for text in entity.mailbox]
            entity.mailbox.clear()
            response = await self.provider.generate(self.request(entity), lambda text: None)
            entity.turns.append(response.turn())
            for call in response.tool_calls:
                result = await toolbox.run(call, self.context(entity, call.id))
                entity.turns.append(result)
                self.log.append((entity.name, call.name, result))
            if entity.is_over or not response.tool_calls:
                return
        raise AssertionError(f"{entity.name} does not come to an end")

    def request(self, entity: Entity) -> ModelRequest:
        return ModelRequest(
            model=self.model,
            system=entity.system,
            turns=tuple(entity.turns),
            entity=f"a/{entity.name}",
            run_id="r1",
            node_id=entity.node or "",
        )

    def context(self, entity: Entity, call_id: str) -> ToolContext:
        environment = {"PATH": os.environ["PATH"], "AGIRAPH_RUN": str(self.run.path)}
        if self.input_dir:
            environment["AGIRAPH_INPUT"] = str(self.input_dir)
        node = self.nodes[entity.node].home if entity.node else None
        scope = (
            Scope.for_coordinator(self.agent, self.run, self.input_dir)
            if entity.kind == "coordinator"
            else Scope.for_worker(
                *(self.agent, self.run, WorkerId(entity.name), node, self.input_dir),
                refs=json.loads(node.refs.read_text()) if node else None,
            )
        )
        return ToolContext(
            kind=entity.kind,
            call_id=call_id,
            scope=scope,
            config=self.config,
            team=EntityTeam(self, entity),
            environment=environment,
            calls=self.run.path / ".calls",
            keep_picture=PictureStore(self.run.path / ".pictures").add,
        )

    def assign(self, node: Node, task: str, refs: dict[str, str]) -> None:
        """Assign a node to its worker: append the turn that a worker process would append."""
        worker = self.entities[node.worker]
        worker.node, worker.is_over = node.id, False
        lines = "\n".join(f"- {name}: {path}" for name, path in sorted(refs.items()))
        text = f"# Assignment: {node.name}\n\n{task}\n\n## References\n\n{lines}\n"
        worker.turns.append(UserTurn(content=text))
        self.tasks.append(asyncio.ensure_future(self.talk(worker)))


@dataclass
class EntityTeam(Team):
    """The requests of an entity's tools to the team."""

    team: ScriptTeam
    me: Entity

    async def send_message(
        self, call_id: str, to: str, content: str, mode: DeliveryMode
    ) -> tuple[str, ...]:
        self.team.sent.append((self.me.name, to, content))
        if to == "human":
            return (to,)
        if to not in self.team.entities:
            raise InvalidInput(f"unknown recipient '{to}'")
        self.team.entities[to].mailbox.append(f"[Message from {self.me.name}]: {content}")
        return (to,)

    async def check_messages(self, call_id: str) -> list[str]:
        messages = list(self.me.mailbox)
        self.me.mailbox.clear()
        return messages

    async def create_node(
        self, call_id: str, node: NodeSpec, stage: StageTerms | None = None
    ) -> JsonObject:
        name, worker = node.name or "node", node.worker or ""
        node_id = f"{len(self.team.nodes) + 1:06x}"
        home = self.team.run.node(name)
        home.scratch.mkdir(parents=True)
        refs = {ref: self._path(value) for ref, value in (node.refs or {}).items()}
        home.refs.write_text(json.dumps(refs))
        made = Node(node_id, name, home, worker)
        self.team.nodes[node_id] = made
        self.team.assign(made, node.task, refs)
        return {"node_id": node_id, "name": name, "status": "assigned"}

    def _path(self, value: str) -> str:
        name, _, rest = value.partition("/")
        node = next(node for node in self.team.nodes.values() if node.name == name)
        return f"nodes/{node.home.path.name}/{rest}"

    async def wait(
        self, call_id: str, nodes: tuple[str, ...], timeout_seconds: float | None = None
    ) -> WaitOutcome:
        awaited = [self.team.nodes[node] for node in nodes]
        for node in awaited:
            await node.ended.wait()
        return WaitOutcome(tuple(node.row() for node in awaited))

    async def spawn_worker(self, call_id: str, worker: WorkerSpec) -> JsonObject:
        system = f"You are {worker.name}, a {worker.role}.\n\n{worker.memory}"
        self.team.entities[worker.name] = Entity(
            worker.name, "worker", worker.role or "worker", system
        )
        if letter := self.team.letters.get(worker.name):
            self.team.entities[worker.name].mailbox.append(letter)
        return {"worker_id": f"{worker.name}-1", "name": worker.name}

    async def publish(
        self,
        call_id: str,
        summary: str,
        missing: str,
        insight: str,
        *,
        result: dict[str, Any] | None = None,
    ) -> JsonObject:
        assert self.me.node is not None
        node = self.team.nodes[self.me.node]
        files = publish_files(node.home, summary)
        node.status, node.summary = "completed", summary
        self.me.is_over = True
        node.ended.set()
        return {"published": list(files)}

    async def reconvene(self, call_id: str, assessment: str, *_: Any) -> JsonObject:
        return {"stage": "Stage 1", "nodes": [node.row() for node in self.team.nodes.values()]}

    async def finish(self, call_id: str, summary: str, files: tuple[str, ...] = ()) -> str:
        self.team.result = summary
        self.me.is_over = True
        return "The run is finished."
