"""CoordinatorTools: executes the coordinator's tools on the board of this process."""

import asyncio
import math
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final, Literal

from actors.coordinator.board_notifications import BoardNotifications
from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.results import deliver, kept_work
from actors.coordinator.runs.cycles import Cycles
from actors.coordinator.runs.start import fill_board, unopened_nodes
from actors.coordinator.stages import closed_stage, hired_worker, launch_roles, warnings_of
from actors.entity.entity_tools import EntityTools
from actors.entity.mcp_tools import require_node, require_worker
from actors.entity.messenger import Messenger
from agiraph.agent.activity import FOR_ANSWER, waiting_for
from agiraph.agent.loop import CallEffects
from agiraph.agent.run_output import MOST_MISFITS, fitted
from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.board.names import find_node, find_worker
from agiraph.board.repeats import whole_spec
from agiraph.board.rules.plans import is_of_plan
from agiraph.board.rules.sub_nodes import is_coordinators
from agiraph.board.view import board_view, ending_in_words, known_row, waited_row
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import NodeId
from agiraph.core.models import WorkNode
from agiraph.core.node_changes import NodeChanges, NodeRequest
from agiraph.core.specs import StageSpec, StageTerms, WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.tools.ports import WaitOutcome

CHANGEABLE: Final = (*NodeChanges.model_fields, "worker")
TIME_OVER: Final = "The nodes have not ended and no message has come in {seconds:g} s."


class CoordinatorTools(EntityTools):
    """The coordinator's tools for its team."""

    def __init__(
        self,
        context: CoordinatorContext,
        messenger: Messenger,
        board_service: BoardService,
        notifications: BoardNotifications,
        cycles: Cycles,
    ) -> None:
        super().__init__(context, messenger)
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service
        self._notifications = notifications
        self._cycles = cycles
        self._covered: list[NodeId] = []
        self._misfits = 0

    @property
    def _board(self) -> Board:
        return self._board_service.board

    def take_effects(self) -> CallEffects:
        """Return the effects of the last call on the model's knowledge, and clear them."""
        effects = replace(self.messenger.take_effects(), covers=tuple(self._covered))
        self._covered.clear()
        return effects

    async def create_node(
        self, call_id: str, node: NodeRequest, stage: StageTerms | None = None
    ) -> JsonObject:
        spec = whole_spec(self._board, node)
        await require_node(self._runtime, spec, self._context.spec.worker_models, may_lend=True)
        cause = self._context.cause(call_id)
        woken_by = self._context.transcript.woken_by
        self._board_service.execute(c.CreateNode(cause, spec, stage=stage, trigger=woken_by))
        created = self._board.node_by_cause(cause)
        assert created is not None
        return {"node_id": created.id, "name": created.name, "status": created.status}

    async def wait(
        self, call_id: str, nodes: tuple[str, ...], timeout_seconds: float | None = None
    ) -> WaitOutcome:
        board = self._board
        ids = [find_node(board, named).id for named in nodes] or self._of_open_stage()
        if not ids and not self._context.transcript.mail.pending:
            raise IllegalTransition("there is nothing to wait for: no node is open")
        self._board_service.execute(c.LaunchStage())
        named = [board.nodes[node].name for node in ids]
        self._context.show("waiting_for_nodes", waiting_for(named))
        note = ""
        if not self._context.transcript.has_unread:
            is_for_human = not ids
            with self._context.waiting_for_human(FOR_ANSWER) if is_for_human else nullcontext():
                note = await self._until_news(ids, timeout_seconds)
        have_ended = bool(ids) and self._have_ended(ids)
        board = self._board
        rows = tuple(self._told_once(board.nodes[node]) for node in ids)
        if note and not have_ended:
            return WaitOutcome(rows, note=note)
        return WaitOutcome(nodes=rows, interrupted_by_message=not have_ended)

    def _told_once(self, node: WorkNode) -> JsonObject:
        """Return the whole row of a node, or one line if the model has read of its end before."""
        if node.has_ended and node.id in self._context.transcript.covered and not node.retried_by:
            return known_row(self._board, node)
        if node.has_ended:
            self._covered.append(node.id)
        return waited_row(self._board, node)

    async def _until_news(self, ids: list[NodeId], seconds: float | None) -> str:
        """Wait for the end of nodes, a message or an alarm; return a note at the timeout."""
        context, changes = self._context, self._board_service.changes
        context.timer = None if seconds is None else context.now() + seconds
        try:
            *_, timer = await context.first_of(
                changes.until(lambda: bool(ids) and self._have_ended(ids)),
                context.inbox.arrived.wait(),
                changes.until(self._notifications.has_alarm),
                asyncio.sleep(math.inf if seconds is None else seconds),
            )
        finally:
            context.timer = None
        return "" if seconds is None or timer.cancelled() else TIME_OVER.format(seconds=seconds)

    async def view_board(self) -> JsonObject:
        return board_view(self._board)

    async def read_shared_value(self, key: str) -> str:
        return self._board_service.shared_values.read(key)

    async def list_shared_values(self) -> str:
        return self._board_service.shared_values.rows()

    async def change_shared_value(
        self, call_id: str, way: Literal["write", "append"], key: str, value: Any
    ) -> JsonObject:
        cause = self._context.cause(call_id)
        return self._board_service.shared_values.change(cause, way, key, value, self._context.name)

    async def spawn_worker(self, call_id: str, worker: WorkerSpec) -> JsonObject:
        cause = self._context.cause(call_id)
        if self._board.worker_by_cause(cause) is None:
            await require_worker(self._runtime, worker, self._context.spec.worker_models)
        command = c.SpawnWorker(cause, worker)
        self._board_service.execute(command)
        asked = c.agents_hired(command)
        warnings = [text for one in asked for text in warnings_of(self._runtime, one)]
        hired_row = hired_worker(self._board, cause)
        return hired_row | ({"warnings": warnings} if warnings else {})

    async def assign_worker(self, call_id: str, node: str, worker: str) -> JsonObject:
        self._board_service.execute(c.ReserveNode(node, worker))
        board = self._board
        found = find_node(board, node)
        return {
            "node_id": found.id,
            "worker_id": find_worker(board, worker).id,
            "status": found.status,
        }

    async def retire_worker(self, call_id: str, worker: str) -> JsonObject:
        found = find_worker(self._board, worker)
        self._board_service.execute(c.RetireWorker(found.id))
        return {"worker_id": found.id, "status": self._board.workers[found.id].status}

    async def cancel_node(self, call_id: str, node: str, reason: str) -> JsonObject:
        found = find_node(self._board, node)
        if not (why := reason.strip()) and not is_of_plan(found):
            why = "cancelled by the coordinator"
        self._board_service.execute(c.CancelNode(found.id, why, by="coordinator"))
        left = await asyncio.to_thread(kept_work, self._context.files.run, found)
        return {"node_id": found.id, "status": self._board.nodes[found.id].status, **left}

    async def update_node(
        self,
        call_id: str,
        node: str,
        changes: NodeChanges,
        *,
        worker: str | None = None,
        accept: str = "",
    ) -> JsonObject:
        if not changes.named and not worker and not accept:
            raise InvalidInput(
                f"nothing to change (possible: {', '.join((*CHANGEABLE, 'accept'))})"
            )
        cause = self._context.cause(call_id)
        self._board_service.execute(c.UpdateNode(node, cause, changes, worker, accept))
        found = find_node(self._board, node)
        return {"node_id": found.id, "name": found.name, "status": found.status}

    async def launch_roles(self, call_id: str, stage: StageSpec) -> JsonObject:
        woken_by = self._context.transcript.woken_by
        cause = self._context.cause(call_id)
        return await launch_roles(self._context, self._board_service, cause, stage, woken_by)

    async def reconvene(self, call_id: str, assessment: str, decided: str) -> JsonObject:
        cause = self._context.cause(call_id)
        self._board_service.execute(c.Reconvene(assessment, cause, decided))
        refused = fill_board(self._board_service, self._context.spec.plan)
        closed = closed_stage(self._board, cause, self._told_once)
        return closed | ({"problem": refused} if refused else {})

    async def end_cycle(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        await self._board_service.worktrees.closing_words(self._board)
        return await self._cycles.end(call_id, notes, next_in)

    async def finish(self, call_id: str, summary: str, files: tuple[str, ...] = ()) -> str:
        never_opened = self._never_opened()
        results = await asyncio.to_thread(deliver, self._context.files.run, self._board, files)
        schema = self._context.spec.output_schema
        if schema is not None:
            text = self._fitted(summary, schema)
        else:
            words = await self._board_service.worktrees.closing_words(self._board)
            listed = "Files:\n\n" + "\n".join(f"- {one}" for one in results) if results else ""
            text = "\n\n".join(filter(None, (summary.rstrip(), listed, words)))
        self._board_service.execute(c.FinishRun(text, never_opened))
        return "\n".join((ending_in_words(self._board), *results))

    def _never_opened(self) -> tuple[str, ...]:
        """Return the optional nodes of the plan whose stages were not opened.

        Raises IllegalTransition if required nodes are among them; if the stage of these cannot be
        opened, the run fails.
        """
        left = unopened_nodes(self._board, self._context.spec.plan)
        if all(node.optional for node in left):
            return tuple(node.name for node in left)
        if self._board.open_stage is None:
            refused = fill_board(self._board_service, self._context.spec.plan)
            if refused:
                self._board_service.execute(c.StopRun("failed", refused))
                raise IllegalTransition(f"the run has ended as failed: {refused}")
        names = ", ".join(node.name for node in left)
        raise IllegalTransition(
            f"the plan is not carried out: its nodes {names} have not begun (possible: "
            "`reconvene`, which opens the plan's next stage)"
        )

    def _fitted(self, answer: str, schema: JsonObject) -> str:
        """Return the answer as JSON that matches the schema. Raises InvalidInput.

        The last permitted mismatch fails the run.
        """
        try:
            return fitted(answer, schema)
        except InvalidInput as misfit:
            self._misfits += 1
            if self._misfits >= MOST_MISFITS:
                self._board_service.execute(c.StopRun("failed", str(misfit)))
            raise

    def _of_open_stage(self) -> list[NodeId]:
        """Return the nodes of the open stage that belong to the coordinator itself."""
        board = self._board
        if board.open_stage is None:
            return []
        nodes = (board.nodes[node] for node in board.stages[board.open_stage].nodes)
        return [node.id for node in nodes if is_coordinators(board, node)]

    def _have_ended(self, ids: list[NodeId]) -> bool:
        nodes = self._board.nodes
        return all(nodes[node].has_ended for node in reversed(ids))  # the last ones end last
