"""RoleTeamLead: a run whose leader is an Agentic Team, instead of the coordinator's model.

Each turn is a node on the board for the worker of its role; the dialogue of the team is the fold of
these nodes (`agiraph.roles.engine`). So after any crash the same turn continues.
"""

import asyncio
from contextlib import suppress
from typing import Final

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from agiraph.agent.prompts import render
from agiraph.agent.records import ModelAnswered
from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.models import Event
from agiraph.core.results import RESULT_FILE
from agiraph.core.roles import RoleTeamTerms
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.core.turns import UserTurn
from agiraph.models.registry import load_presets, only_writes
from agiraph.roles.decisions import SCHEMA
from agiraph.roles.engine import RoleTeamState
from agiraph.roles.on_board import (
    Attempt,
    TurnFold,
    turn_number,
    turns_seen,
    worker_for,
)

FINISHED: Final = "The team has ended its work. Its last answer is the result of the run."
HUMAN_SAYS: Final = "[Message from human]"


class RoleTeamLead:
    """Lets the roles of a run take their turns, if the run has roles."""

    def __init__(self, context: CoordinatorContext, board: BoardService) -> None:
        self._context = context
        self._board_service = board
        roles = context.spec.roles
        self._turns = TurnFold(roles, context.args.agent.goal) if roles else None
        self._begun = ""
        """The cause of the turn that began last, '' before the first turn."""

    @property
    def _roles(self) -> RoleTeamTerms | None:
        return self._context.spec.roles

    @property
    def is_of_roles(self) -> bool:
        """Whether a team leads this run: then the coordinator's model sees nothing of its board."""
        return self._roles is not None

    @property
    def leads(self) -> bool:
        """Whether a team leads this run and the run continues."""
        return self.is_of_roles and self._board_service.board.is_running

    async def step(self) -> None:
        """Begin the next turn, wait for its end or a message; end the run after the last turn.

        During the wait, the following turn begins in the same step in which the current turn ends.
        Raises Parking.
        """
        attempt = self._next()
        if attempt.state.end is not None:
            self._finish(attempt.state)
            return
        try:
            self._board_service.execute(*self._beginning_of(attempt))
        except Refused as error:  # a limit of the run, or an agent that is no longer installed
            why = f"turn {attempt.state.number} cannot begin: {error}"
            self._end(c.StopRun("failed", why))
            return
        self._context.show("waiting_for_nodes", f"turn {attempt.state.number}")
        with self._board_service.following(self._due):
            await self._context.first_of(
                self._board_service.changes.until(lambda: self._has_ended(attempt)),
                self._context.inbox.arrived.wait(),
            )
        await asyncio.sleep(0)  # the effects that begin the next turn run first

    def events_of(self, event: e.BoardEvent) -> list[Event]:
        """Return the event `role.turn` for a board event that ended a turn."""
        if self._roles is None or not isinstance(
            event, e.NodeCompleted | e.NodeFailed | e.NodeCancelled
        ):
            return []
        board = self._board_service.board
        number = turn_number(board.nodes[event.node_id].cause)
        if number is None or number > len(turns := self._next().state.turns):
            return []  # not a turn, or a turn that its role's fallback tries
        turn = turns[number - 1]
        key = f"roles:{board.key(self._context.run)}:{number}"
        made = self._context.event("role.turn", turn.payload(), "", ts=event.ts)
        return [made.model_copy(update={"key": key, "node_id": event.node_id})]

    # --- the dialogue so far ---------------------------------------------------------------------

    def _next(self) -> Attempt:
        """Return the first turn that has not ended, with the dialogue before it."""
        assert self._turns is not None
        return self._turns.current_turn(self._board_service.board)

    def _has_ended(self, attempt: Attempt) -> bool:
        board = self._board_service.board
        node = board.node_by_cause(attempt.cause)
        return not board.is_running or node is None or node.has_ended

    def _said_since(self) -> list[str]:
        """Return the person's messages that no turn has shown yet."""
        tasks = [node.task for node in self._board_service.board.nodes.values()]
        said = [
            turn.content
            for turn in self._context.transcript.turns
            if isinstance(turn, UserTurn) and turn.content.startswith(HUMAN_SAYS)
        ]
        return [text for text in said if not any(text in task for task in tasks)]

    # --- a turn ----------------------------------------------------------------------------------

    def _due(self) -> tuple[c.Command, ...]:
        """Return the commands for the next turn; () if none may begin now.

        None may begin if the turn has begun, if the team has ended, if the coordinator is paused,
        or if its own loop must first show a new message.
        """
        context = self._context
        switch, is_stepping = context.pause_switch, context.transcript.is_stepping
        is_held = switch.is_paused or switch.leaving.is_set() or is_stepping
        if is_held or context.inbox.arrived.is_set() or not self.leads:
            return ()
        node = self._board_service.board.node_by_cause(self._begun)
        if node is not None and not node.has_ended:
            return ()
        attempt = self._next()
        return () if attempt.state.end is not None else self._beginning_of(attempt)

    def _beginning_of(self, attempt: Attempt) -> tuple[c.Command, ...]:
        """Return the commands for a turn, () if it is on the board; a new role gets a worker."""
        state, board = attempt.state, self._board_service.board
        self._begun = attempt.cause
        if board.node_by_cause(attempt.cause) is not None:
            return ()
        spec = self._worker_for(attempt)
        published = [
            f"{node.name} ({', '.join(files)})"
            for node in board.nodes.values()
            if (files := [file for file in node.published if file != RESULT_FILE])
        ]
        # Such a worker has no conversation: each turn is one request or one process.
        is_forgetful = spec.mode == "single_inference" or spec.type == "autonomous"
        task = render(
            "role_turn",
            named=state.role,
            number=state.number,
            most=state.spec.max_turns,
            about=self._about(attempt, spec) if spec.type == "autonomous" else "",
            said=self._said_since(),
            window=state.window(0 if is_forgetful else turns_seen(board, spec.name)),
            incoming=state.incoming,
            files=published,
        )
        refs = {
            node.name: node.name
            for node in board.nodes.values()
            if node.status == "completed" and node.published != (RESULT_FILE,)
        }
        node = NodeSpec(
            name=attempt.node, task=task, worker=spec.name, output_schema=SCHEMA, refs=refs
        )
        created = c.CreateNode(attempt.cause, node)
        cause = f"{c.OF_ROLES}{spec.name}"
        if board.worker_by_cause(cause) is not None:
            return (created,)
        if spec.type == "harnessed":
            spec = spec.model_copy(update={"memory": self._about(attempt, spec)})
        return c.SpawnWorker(cause, spec), created

    def _about(self, attempt: Attempt, spec: WorkerSpec) -> str:
        """Return the facts that a role needs in all of its turns."""
        return render(
            "role",
            named=attempt.state.role,
            role=attempt.role,
            team=attempt.state.spec,
            earlier=self._roles.earlier if self._roles else (),
            can_act=spec.mode == "multi_turn",
        )

    def _worker_for(self, attempt: Attempt) -> WorkerSpec:
        """Return the spec of a turn's worker; the name of a stopped worker is not used again."""
        workers = self._board_service.board.workers.values()
        gone = {one.name for one in workers if one.status == "stopped"}
        model = attempt.agent or self._context.args.agent.worker_model
        return worker_for(attempt, gone, model, only_writes=self._only_writes(model))

    def _only_writes(self, model: str) -> bool:
        with suppress(InvalidInput):
            presets = load_presets(self._context.runtime.home.path / "providers.yaml")
            return only_writes(model, presets)
        return False

    def _finish(self, state: RoleTeamState) -> None:
        end = state.end
        assert end is not None
        if end.how == "finalized":
            self._end(c.FinishRun(end.output))
        else:
            self._end(c.StopRun("failed", end.reason, end.output))

    def _end(self, ended: c.FinishRun | c.StopRun) -> None:
        """Answer the goal in the model's place, so that no call is made, and end the run."""
        context = self._context
        if context.transcript.has_news:
            context.conversation.append(ModelAnswered(text=FINISHED, ts=context.now()))
        self._board_service.execute(ended)
