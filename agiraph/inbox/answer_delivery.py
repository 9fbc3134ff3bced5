"""AnswerDelivery: one task that ends questions without a receiver, and delivers each outcome.

It expires questions whose deadline has passed, withdraws the questions of workers that have left
their team and of runs that have ended, and sends each outcome to its askers. All of it follows from
the database and the boards, so all work that was missed while the gateway was down is done at its
next start, under the same ids.
"""

from collections.abc import Callable

from agiraph.board.board import Board
from agiraph.core.concurrency import Signal
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import (
    BROKER,
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    AgentId,
    MessageId,
    WorkerId,
    derived_message_id,
)
from agiraph.core.models import BUDGET, Question
from agiraph.core.money import SET_ANEW, named_in, parse_raise
from agiraph.http.errors import ApiError
from agiraph.inbox.bus import Bus
from agiraph.inbox.event_reporter import GatewayEventReporter
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.question_records import QuestionRecord, outcome_event, write_outcome
from agiraph.inbox.questions import QuestionStore
from agiraph.messages.control import Ok
from agiraph.messages.model import RaiseBudget
from agiraph.messages.question import QuestionAnswered
from agiraph.readmodel.agents import AgentDirectory
from agiraph.readmodel.boards import BoardReader

RETRY_SECONDS = 1.0
RAISE_SECONDS = 10.0
LATER = 500
"""From this status on, a message may be delivered later; below it, never."""
LONGEST_SLEEP_SECONDS = 60.0
"""A change of the clock, or a machine's sleep, is noticed within this time."""
CHECK_SECONDS = 1.0
"""The boards of askers are read at most this often, however many events they have."""
LEFT = "the one who asked has left the team"
ENDED = "its run has ended"


class AnswerDelivery:
    """Delivers the outcome of every question; the caller runs `run` as a task.

    An answer's message id follows from the question and the message that asked it, so the router
    drops a delivery that is repeated after a crash.
    """

    def __init__(
        self,
        bus: Bus,
        questions: QuestionStore,
        history: MessageHistory,
        reporter: GatewayEventReporter,
        agents: AgentDirectory,
        boards: BoardReader,
    ) -> None:
        self._bus = bus
        self._questions = questions
        self._history = history
        self._reporter = reporter
        self._agents = agents
        self._boards = boards
        self._clock, self._log = bus.clock, bus.log
        self._news = Signal()
        self._check_at: float | None = self._clock.monotonic()
        self.absence: Callable[[], str] = lambda: ""
        """Returns a text that the human is away and until when, '' if not."""

    def notify(self) -> None:
        """Check all questions soon: a question was asked or has ended."""
        self._news.set()

    def on_event(self, agent: AgentId) -> None:
        """Check soon whether askers of this agent have left their team, because it had an event."""
        if self._check_at is None and self._questions.open(agent):
            self._check_at = self._clock.monotonic() + CHECK_SECONDS
            self._news.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            if self._check_at is not None and self._check_at <= self._clock.monotonic():
                self._check_at = None
                self.withdraw_orphans()
            self._questions.expire(self._clock.now())
            is_all_out = await self._deliver_all()
            await self._news.next(self._sleep_seconds(is_all_out))

    def _sleep_seconds(self, is_all_out: bool) -> float | None:
        """Return the seconds until the next check if no signal comes first.

        None: no check is due.
        """
        seconds = [] if is_all_out else [RETRY_SECONDS]
        if self._check_at is not None:
            seconds.append(self._check_at - self._clock.monotonic())
        if (due := self._questions.next_deadline()) is not None:
            seconds += [due - self._clock.now(), LONGEST_SLEEP_SECONDS]
        return max(0.0, min(seconds)) if seconds else None

    # --- questions without a receiver -----------------------------------------------------------

    def withdraw_orphans(self) -> None:
        """Withdraw the open questions of workers that have left, and of runs that have ended."""
        for case in self._questions.live():
            if case.question.status == "open" and (reason := self._why_orphaned(case)):
                self._questions.withdraw_one(case.question.id, reason, self._clock.now())

    def withdraw_if_over(self, id: str) -> None:
        """Withdraw a question before it is answered, if its run has just ended."""
        case = self._questions.find_live(id)
        if case and case.question.status == "open" and self._why_orphaned(case) == ENDED:
            self._questions.withdraw_one(case.question.id, ENDED, self._clock.now())

    def _why_orphaned(self, case: QuestionRecord) -> str:
        """Return why the answer to a question has no receiver, '' if it has one.

        A coordinator's question after the end of its run belongs to no run.
        """
        try:
            agent = self._agents.get(case.question.agent)
            if agent is None:
                return ""
            board = self._boards.get(self._agents.run_of(agent))
        except (AgiraphError, OSError):
            return ""  # a damaged record hides this agent alone
        if has_run_ended(case.question, board):
            return ENDED
        name = case.asker.rpartition("/")[2]
        if name == COORDINATOR_NAME or case.is_shared:
            return ""
        worker = board.workers.get(WorkerId(name))
        has_left = worker is None or worker.status == "stopped" or not board.is_running
        return LEFT if has_left else ""

    # --- outcomes --------------------------------------------------------------------------------

    async def _deliver_all(self) -> bool:
        """Try every undelivered outcome once; return whether all are delivered."""
        for record in self._questions.undelivered():
            for ask in record.undelivered:
                try:
                    await self._deliver(record, ask)
                except ApiError as error:
                    self._log.warning(
                        "an answer waits", question=record.question.id, reason=str(error)
                    )
                    return False
        return True

    async def _deliver(self, record: QuestionRecord, ask: str) -> None:
        question = record.question
        assert question.status != "open"
        shown = {
            "question_id": record.asked_as,
            "answer": question.answer or "",
            "by": question.answered_by or HUMAN_NAME,
            "outcome": question.status,
            "via": question.answered_via or "",
            "at": question.deadline_at if question.status == "expired" else question.answered_at,
            "away": self.absence(),
        }
        outcome = QuestionAnswered.model_validate(dict(question) | shown)
        write_outcome(self._history, question, record.reason)
        await self._raise_budget(question)
        try:
            await self._bus.send(record.asker_of(ask), outcome, id=answer_id(record, ask))
        except ApiError as error:
            if error.status >= LATER:
                raise
            self._log.error("an answer has no receiver", question=question.id, reason=str(error))
        event, data = outcome_event(question, record.reason)
        cause = answer_id(record, record.asks[0])
        await self._reporter.report(event, question.agent, cause, data)
        self._questions.delivered(question.id, ask)

    async def _raise_budget(self, question: Question) -> None:
        """Ask the broker for the raise that the human's answer permits, once for each question.

        The askers get their answers afterwards: only the human may raise a budget. Raises ApiError.
        """
        order = raise_in(question)
        if order is not None:
            await self._bus.ask(BROKER, order, Ok, within_seconds=RAISE_SECONDS)


def has_run_ended(question: Question, board: Board) -> bool:
    """Whether the run of a question is over; `board` is the board of its agent's latest run."""
    if question.run is None or board.run is None:
        return False
    return question.run != board.run.run_id or not board.is_running


def raise_in(question: Question) -> RaiseBudget | None:
    """Return the raise that the answer to a budget question requests, None if it has none."""
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


def answer_id(record: QuestionRecord, ask: str) -> MessageId:
    """Return the id of the message that delivers the outcome to one asker.

    `ask` is the id of the message in which that asker asked the question.
    """
    return derived_message_id(HUMAN, f"answer:{record.question.id}:{ask}")
