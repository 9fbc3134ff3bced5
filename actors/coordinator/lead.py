"""CoordinatorLead: what the coordinator's tools do, on the board that stands in this process."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal, Protocol

from actors.coordinator.cycles import Cycles
from actors.coordinator.office import Office
from actors.coordinator.stages import closed_stage, launch_roles, require_worker, warnings_of
from actors.entity.talk import Speaker, Talk
from actors.entity.timing import Timing
from agiraph.agent.doing import waiting_for
from agiraph.agent.loop import Effects
from agiraph.board import commands as c
from agiraph.board.family import is_coordinators
from agiraph.board.names import find_node, find_worker
from agiraph.board.view import board_view, waited_row
from agiraph.errors import IllegalTransition
from agiraph.ids import NodeId
from agiraph.models import DeliveryMode
from agiraph.tools.ports import NewNode, NewQuestion, NewStage, NewWorker, WaitOutcome
from agiraph.turns import JsonObject


class Leader(Speaker, Protocol):
    """The coordinator, as far as its tools need to know it."""

    def has_alarm(self) -> bool:
        """Whether the board tells of something that must end a wait."""
        ...

    def waiting_for_human(self) -> AbstractContextManager[None]:
        """Let the agent's status say, inside this block, that it waits for the human."""
        ...


class CoordinatorLead(Timing):
    """The team as the coordinator's tools see it."""

    def __init__(self, coordinator: Leader, office: Office, talk: Talk, cycles: Cycles) -> None:
        """Lead the team of `office`, talking through `talk`."""
        super().__init__(coordinator)
        self._coordinator = coordinator
        self._cycles = cycles
        self._office = office
        self._talk = talk
        self._runtime = coordinator.runtime
        self._covered: list[NodeId] = []

    def take_effects(self) -> Effects:
        """Return what the last call has told the model, and forget it."""
        effects = replace(self._talk.take_effects(), covers=tuple(self._covered))
        self._covered.clear()
        return effects

    async def send_message(self, call_id: str, to: str, content: str, mode: DeliveryMode) -> None:
        """Send text to a worker, `human` or `*`."""
        await self._talk.send_message(call_id, to, content, mode)

    async def check_messages(self, call_id: str) -> list[str]:
        """Return the messages that have arrived."""
        return await self._talk.check_messages(call_id)

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        """Ask the human; while its answer is waited for, the agent waits for the human."""
        if not question.waits:
            return await self._talk.ask_human(call_id, question)
        with self._coordinator.waiting_for_human():
            return await self._talk.ask_human(call_id, question)

    async def create_node(self, call_id: str, node: NewNode) -> JsonObject:
        """Put a node on the board."""
        cause = self._cause(call_id)
        self._office.execute(
            c.CreateNode(
                cause=cause,
                task=node.task,
                name=node.name,
                role=node.role,
                refs=node.refs or {},
                dependencies=node.dependencies,
                worker=node.worker,
                stage=node.stage,
                mode=node.mode,
                checks=node.checks,
                trigger=self._coordinator.transcript.woken_by,
            )
        )
        created = self._office.board.node_by_cause(cause)
        assert created is not None
        return {"node_id": created.id, "name": created.name, "status": created.status}

    async def wait(self, call_id: str, nodes: tuple[str, ...]) -> WaitOutcome:
        """Wait until the nodes have ended (default: the open stage's) or a message arrives."""
        board = self._office.board
        ids = [find_node(board, named).id for named in nodes] or self._of_open_stage()
        if not ids and not self._coordinator.transcript.pending:
            raise IllegalTransition("there is nothing to wait for: no node is open")
        self._office.execute(c.LaunchStage())
        named = [board.nodes[node].name for node in ids]
        self._coordinator.show("waiting_for_nodes", waiting_for(named))
        if not self._coordinator.transcript.has_unread:
            await self._coordinator.patience.first_of(
                self._office.changes.until(lambda: bool(ids) and self._have_ended(ids)),
                self._coordinator.inbox.arrived.wait(),
                self._office.changes.until(self._coordinator.has_alarm),
            )
        interrupted = not ids or not self._have_ended(ids)
        board = self._office.board
        self._covered.extend(node for node in ids if board.nodes[node].has_ended)
        rows = tuple(waited_row(board, board.nodes[node]) for node in ids)
        return WaitOutcome(nodes=rows, interrupted_by_message=interrupted)

    async def view_board(self) -> JsonObject:
        """Return the board."""
        return board_view(self._office.board)

    async def read_context(self, key: str) -> str:
        """Return what stands under a key of the shared context."""
        return self._office.shelf.read(key)

    async def list_context(self) -> str:
        """Return the rows of all keys of the shared context."""
        return self._office.shelf.rows()

    async def change_context(
        self, call_id: str, way: Literal["write", "append"], key: str, value: Any
    ) -> JsonObject:
        """Write or append under a key of the shared context."""
        cause = self._cause(call_id)
        return self._office.shelf.change(cause, way, key, value, self._coordinator.name)

    async def spawn_worker(self, call_id: str, worker: NewWorker) -> JsonObject:
        """Create a worker; its process starts at once."""
        cause = self._cause(call_id)
        if self._office.board.worker_by_cause(cause) is None:
            about = (worker.model, worker.tools, worker.name, worker.role)
            await require_worker(self._runtime, *about)
        self._office.execute(
            c.SpawnWorker(
                cause=cause,
                name=worker.name,
                type=worker.type,
                model=worker.model,
                role=worker.role,
                memory=worker.memory,
                tools=worker.tools,
                agent_command=worker.agent_command,
                mode=worker.mode,
            )
        )
        spawned = self._office.board.worker_by_cause(cause)
        assert spawned is not None
        hired = (spawned.name, spawned.role, spawned.agent_command)
        warnings = warnings_of(self._runtime, *hired) if spawned.type == "autonomous" else []
        told = {"worker_id": spawned.id, "name": spawned.name}
        return told | ({"warnings": warnings} if warnings else {})

    async def assign_worker(self, call_id: str, node: str, worker: str) -> JsonObject:
        """Keep a node for a worker, who gets it as soon as both are free."""
        self._office.execute(c.ReserveNode(node, worker))
        board = self._office.board
        found = find_node(board, node)
        return {
            "node_id": found.id,
            "worker_id": find_worker(board, worker).id,
            "status": found.status,
        }

    async def retire_worker(self, call_id: str, worker: str) -> JsonObject:
        """Let a worker go; its outputs stay."""
        found = find_worker(self._office.board, worker)
        self._office.execute(c.RetireWorker(found.id))
        return {"worker_id": found.id, "status": self._office.board.workers[found.id].status}

    async def cancel_node(self, call_id: str, node: str) -> JsonObject:
        """Cancel a node that has not ended."""
        found = find_node(self._office.board, node)
        self._office.execute(c.CancelNode(found.id, "cancelled by the coordinator"))
        return {"node_id": found.id, "status": self._office.board.nodes[found.id].status}

    async def launch_roles(self, call_id: str, stage: NewStage) -> JsonObject:
        """Open a stage with its workers and nodes, all of it or nothing."""
        woken_by = self._coordinator.transcript.woken_by
        cause = self._cause(call_id)
        return await launch_roles(self._runtime, self._office, cause, stage, woken_by)

    async def reconvene(
        self, call_id: str, assessment: str, decided: str, terms: c.StageTerms | None
    ) -> JsonObject:
        """Close the open stage; asked again after a crash it reports the stage it closed."""
        cause = self._cause(call_id)
        self._office.execute(c.Reconvene(assessment, cause, decided, terms))
        return closed_stage(self._office.board, cause)

    async def end_cycle(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        """End a cycle of an infinite run, and have the clock wake us for the next one."""
        await self._office.worktrees.closing_words(self._office.board)
        return await self._cycles.end(call_id, notes, next_in)

    async def finish(self, call_id: str, summary: str) -> None:
        """End the run with its result; of changes in git it tells where they stand."""
        words = await self._office.worktrees.closing_words(self._office.board)
        self._office.execute(c.FinishRun(f"{summary.rstrip()}\n\n{words}" if words else summary))

    def _cause(self, call_id: str) -> str:
        return f"{self._runtime.address}#{call_id}"

    def _of_open_stage(self) -> list[NodeId]:
        """Return the nodes of the open stage that are the coordinator's own."""
        board = self._office.board
        if board.open_stage is None:
            return []
        nodes = (board.nodes[node] for node in board.stages[board.open_stage].nodes)
        return [node.id for node in nodes if is_coordinators(board, node)]

    def _have_ended(self, ids: list[NodeId]) -> bool:
        return all(self._office.board.nodes[node].has_ended for node in ids)
