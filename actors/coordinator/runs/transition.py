"""RunTransition: how a coordinator goes from an ended run to the next run.

One record in the conversation (`RunBegan`) begins the new run: before it the old run is current,
after it the new run, and a process that crashes on either side continues there. The parts that
belong to one run are then created again from disk, as after a restart. All effects of the old run
are executed before the record is written: its workers are dismissed.
"""

from typing import NoReturn

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.runs.start import maintenance_turn, terms_notice
from actors.coordinator.worker_requests import WorkerRequestHandler
from actors.entity.context import interrupted_calls
from agiraph.agent.loop import INTERRUPTED_CALL
from agiraph.agent.prompts import new_run_turn
from agiraph.agent.records import InputReceived, RunBegan
from agiraph.board import commands as c
from agiraph.core.errors import IllegalTransition
from agiraph.core.ids import RunId, new_run_id, short_derived_id
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.run import BeginRun
from transport.endpoint import Received

GIVEN_UP = "given up for another goal"
GOAL_SHOWN = 80
REFUSED = IllegalTransition.__name__


class NextRunRequested(Exception):
    """The coordinator leaves its run for the next run, which `body` orders.

    `received` is the message with the order: it is acknowledged once the new run is recorded.
    """

    def __init__(self, received: Received, body: BeginRun) -> None:
        super().__init__(body.goal)
        self.received = received
        self.body = body


class RunTransition:
    """Handles the order for a new run, and begins the run."""

    def __init__(
        self,
        context: CoordinatorContext,
        board_service: BoardService,
        worker_requests: WorkerRequestHandler,
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._args = context.args
        self._board_service = board_service
        self._worker_requests = worker_requests

    async def handle(self, received: Received, body: BeginRun) -> None:
        """Refuse the order, or leave the run: raises NextRunRequested after all its effects."""
        if body.run is not None and body.run == self._args.run:
            await self._answer(received, None)
            return
        if reason := self._why_not(body):
            await self._answer(received, reason)
            return
        await self.leave(received, body)

    async def leave(self, received: Received, body: BeginRun) -> NoReturn:
        """End the old run and execute all its effects, then raise NextRunRequested."""
        if self._board_service.board.is_running:
            self._board_service.execute(c.StopRun("stopped", GIVEN_UP))
        await self._board_service.settled()
        await self._worker_requests.waits.until_empty()
        raise NextRunRequested(received, body)

    async def begin(self, next_run: NextRunRequested) -> None:
        """Record the new run, with an answer to every open call of the old run."""
        body, header, now = next_run.body, next_run.received.header, self._context.now()
        self._runtime.take_up([header.id.hex()])
        run = body.run or RunId(f"{new_run_id(now)[:-6]}{short_derived_id(header.id.hex())}")
        spec = self._args.agent.followed_by(body)
        began = RunBegan(
            **dict(spec),
            content=new_run_turn(
                spec.goal,
                spec.input,
                cause=body.cause,
                plan=terms_notice(spec, self._runtime.config),
            ),
            run=run,
            cause=body.cause,
            message=header.id.hex(),
            ts=now,
        )
        text = maintenance_turn(self._context, run)
        notices = (InputReceived(content=text, from_name="runtime", ts=now),) if text else ()
        left_open = interrupted_calls(self._context.transcript, INTERRUPTED_CALL, now)
        self._context.conversation.append(*left_open, began, *notices)
        await self._answer(next_run.received, None)

    def _why_not(self, body: BeginRun) -> str:
        """Return the reason why a new run cannot begin now, '' if it can."""
        name, run = self._args.agent.name, self._args.run
        if self._context.pause_switch.is_paused:
            return f"agent '{name}' is paused: resume it first"
        if self._board_service.board.is_running and not body.abandon:
            goal = " ".join(self._args.agent.goal.split())[:GOAL_SHOWN]
            return (
                f"agent '{name}' is still at work in run {run} ('{goal}'): "
                "wait for its end, send it a message, or stop it first"
            )
        return ""

    async def _answer(self, received: Received, refusal: str | None) -> None:
        """Answer the sender if the message is a request for a run, and acknowledge the message."""
        if isinstance(received.body, BeginRun):
            answer = Ok() if refusal is None else RefusedReply(reason=refusal, kind=REFUSED)
            await self._runtime.reply(received, answer)
        self._runtime.done(received)
