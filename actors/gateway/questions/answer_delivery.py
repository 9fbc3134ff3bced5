"""Carries answers to those who asked: from our journal into the router's, then ticks them off.

The same for what was not answered in time, or was withdrawn. What a crash has cut off (the line in
the thread, the event, the message) is done again under the same ids.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from actors.gateway.bus_client import BusClient
from actors.gateway.event_reporter import GatewayEventReporter
from actors.gateway.questions.outcomes import outcome_event, write_outcome
from actors.gateway.questions.question_records import QuestionRecord
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.message_history import MessageHistory
from agiraph.core.ids import BROKER, HUMAN, HUMAN_NAME, MessageId, derived_message_id
from agiraph.core.models import BUDGET, Question
from agiraph.core.money import SET_ANEW, named_in, parse_raise
from agiraph.messages import QuestionAnswered, RaiseBudget
from transport.errors import Nacked, TransportError

RETRY_SECONDS = 1.0
RAISE_SECONDS = 10.0


class AnswerDelivery:
    """One task that delivers every answer that is not ticked off, now and after each crash.

    An answer's message id follows from the question and the message that asked it, so a delivery
    that is made again is dropped by the router.
    """

    def __init__(
        self,
        line: BusClient,
        questions: QuestionStore,
        thread: MessageHistory,
        telling: GatewayEventReporter,
        log: Any,
    ) -> None:
        """Deliver from `questions` over `line`; the caller runs `run` as a task."""
        self._line = line
        self._questions = questions
        self._thread = thread
        self._telling = telling
        self._log = log
        self._bell = asyncio.Event()
        self.absence: Callable[[], str] = lambda: ""
        """Says that the human is away and until when."""

    def ring(self) -> None:
        """There is an answer to deliver."""
        self._bell.set()

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            self._bell.clear()
            is_all_out = await self._round()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if is_all_out else RETRY_SECONDS):
                    await self._bell.wait()

    async def _round(self) -> bool:
        """Try every waiting answer once; return whether none is left."""
        for case in self._questions.undelivered():
            for ask in case.undelivered:
                try:
                    await self._deliver(case, ask)
                except TransportError as error:
                    self._log.warning(
                        "an answer waits", question=case.question.id, reason=str(error)
                    )
                    return False
        return True

    async def _raise_budget(self, question: Question) -> None:
        """Have the broker raise what the human has raised; known by the question, it is so once.

        Nobody else may: whoever asked is told when it stands. Raises TransportError.
        """
        order = raise_in(question)
        if order is not None:
            done = await self._line.ask(BROKER, order, within_seconds=RAISE_SECONDS)
            self._line.done(done)

    async def _deliver(self, case: QuestionRecord, ask: str) -> None:
        question = case.question
        assert question.status != "open"
        outcome = QuestionAnswered(
            question_id=case.asked_as,
            answer=question.answer or "",
            by=question.answered_by or HUMAN_NAME,
            outcome=question.status,
            via=question.answered_via or "",
            at=question.deadline_at if question.status == "expired" else question.answered_at,
            default=question.default,
            question=question.question,
            kind=question.kind,
            away=self.absence(),
            about=question.about,
        )
        write_outcome(self._thread, question, case.reason)
        await self._raise_budget(question)
        try:
            await self._line.send(case.asker_of(ask), outcome, id=answer_id(case, ask))
        except Nacked as error:
            if error.reason == "mailbox_full":
                raise
            self._log.error("nobody takes the answer", question=question.id, reason=str(error))
        event, data = outcome_event(question, case.reason)
        cause = answer_id(case, case.asks[0])
        await self._telling.tell(event, question.agent, cause, data)
        self._questions.delivered(question.id, ask)


def raise_in(question: Question) -> RaiseBudget | None:
    """Return the raise that the human's answer to a spent budget is, None if it is none."""
    about, answer = question.about, question.answer or ""
    if question.kind != BUDGET or question.status != "answered" or about is None:
        return None
    budget = named_in(about.shortage)
    if budget is None or answer == SET_ANEW:
        return None
    raised = parse_raise(answer, "tokens" if about.subject == "tokens" else "usd")
    if raised.is_stop:
        return None
    usd, tokens = raised.usd or 0.0, raised.tokens or 0
    return RaiseBudget(budget=budget, usd=usd, tokens=tokens, cause=question.id)


def answer_id(case: QuestionRecord, ask: str) -> MessageId:
    """Return the id of the message that answers one asking message."""
    return derived_message_id(HUMAN, f"answer:{case.question.id}:{ask}")
