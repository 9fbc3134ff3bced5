"""PlanLead: a run that executes its plan without a model as its leader.

The board starts the plan's nodes by itself. The coordinator's model is called only for messages of
a person or a trigger, for messages of workers if the plan has managers, and for the summary of the
run, if one is requested, once all nodes have ended.
"""

from typing import Final

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from agiraph.agent.records import ModelAnswered
from agiraph.agent.replies import key_of
from agiraph.board import commands as c
from agiraph.board.plan_end import end_of_plan

ENDED: Final = "The plan has ended; its outcome is the result of the run."


class PlanLead:
    """Executes the plan of one run, if the run has no other leader."""

    def __init__(self, context: CoordinatorContext, board: BoardService) -> None:
        self._context = context
        self._board_service = board

    @property
    def _is_plan(self) -> bool:
        return self._context.spec.leader == "plan"

    @property
    def leads(self) -> bool:
        """Whether the plan leads the run now: no model call is due."""
        is_open = self._is_plan and self._board_service.board.is_running
        return is_open and not self._is_model_due()

    @property
    def has_ended(self) -> bool:
        """Whether this run was led by a plan, and has ended."""
        return self._is_plan and not self._board_service.board.is_running

    async def step(self) -> None:
        """End the run if its nodes have ended, else wait for their end or a message.

        Raises Parking.
        """
        context, service = self._context, self._board_service
        ended = end_of_plan(service.board)
        if ended is not None:
            self._end(ended)
            return
        service.execute(c.LaunchStage())
        context.show("waiting_for_nodes", "the nodes of the plan")
        await context.first_of(
            service.changes.until(lambda: end_of_plan(service.board) is not None),
            context.inbox.arrived.wait(),
        )

    def _is_model_due(self) -> bool:
        """Whether the model must answer a message, complete a step, or write the summary."""
        transcript, board = self._context.transcript, self._board_service.board
        if transcript.has_called:
            return True
        workers = {key_of(worker.name) for worker in board.workers.values()}
        if unread := transcript.mail.unread:
            return self._board_service.has_managers or not unread <= workers
        return self._context.spec.summary and isinstance(end_of_plan(board), c.FinishRun)

    def _end(self, ended: c.FinishRun | c.StopRun) -> None:
        """Answer the goal in the model's place, so that no call is made, and end the run."""
        context = self._context
        if context.transcript.has_news:
            context.conversation.append(ModelAnswered(text=ENDED, ts=context.now()))
        self._board_service.execute(ended)
