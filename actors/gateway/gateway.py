"""The gateway: all of its parts in one record, which every endpoint and the bus loop are given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from actors.gateway.event_feed import EventTexts, LogSignals
from actors.gateway.event_reporter import GatewayEventReporter
from actors.gateway.notifications.answer_links import AnswerLinks
from actors.gateway.notifications.delivery_journal import DeliveryJournal
from actors.gateway.notifications.dispatcher import NotificationDispatcher
from actors.gateway.problems import INSUFFICIENT_STORAGE
from actors.gateway.questions.answer_delivery import AnswerDelivery
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.activities import EntityActivities
from actors.gateway.state.agents import AgentDirectory
from actors.gateway.state.boards import BoardReader
from actors.gateway.state.counters import GatewayCounters
from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.dead_letters import DeadLetterStore
from actors.gateway.state.idempotency_store import IdempotencyStore
from actors.gateway.state.message_history import MessageHistory
from actors.runtime.ask_again import Reply, ask_for
from actors.runtime.runtime import Runtime
from agiraph.core.clock import Clock
from agiraph.core.config import Config
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.ids import coordinator_address, worker_address
from agiraph.core.models import Agent, Worker
from agiraph.http.errors import ApiError
from agiraph.storage.home import Home
from transport.errors import DeadlineExceeded, Nacked, NotStored, TransportError

ANSWER_SECONDS = 10.0
CONFLICT = 409
UNAVAILABLE = 503
TOO_LATE = 504

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Gateway:
    """Stores, readers and the bus of one home's gateway. `close` closes the files."""

    bus: Runtime
    home: Home
    config: Config
    clock: Clock
    log: Any
    agents: AgentDirectory
    messages: MessageHistory
    questions: QuestionStore
    reporter: GatewayEventReporter
    answer_delivery: AnswerDelivery
    boards: BoardReader
    dead_letters: DeadLetterStore
    dispatcher: NotificationDispatcher
    idempotency: IdempotencyStore
    signals: LogSignals
    counters: GatewayCounters
    activities: EntityActivities = field(default_factory=EntityActivities)
    event_texts: EventTexts = field(default_factory=EventTexts)
    cpu: dict[tuple[str, int], tuple[float, float, float]] = field(default_factory=dict)

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Ask `to` and return its reply, an `expect`. `id` is that of the request.

        If `to` is being restarted it is asked again within that time. Raises ApiError: `refused`
        with the reason if it was refused, 504 if no reply came in time, 503 if it cannot be
        reached now.
        """
        try:
            return await ask_for(self.bus, to, body, expect, within_seconds=within_seconds, id=id)
        except Refused as error:
            raise ApiError(refused, str(error)) from None
        except TransportError as error:
            raise _as_api_error(error, to) from error

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Send a durable message and wait until the router has stored it; raises ApiError."""
        try:
            await self.bus.send(to, body, id=id)
        except TransportError as error:
            raise _as_api_error(error, to) from error

    def worker_status(self, agent: Agent, worker: Worker) -> str:
        """Return a worker's status: as on the board, or that it is paused or waits for the human.

        While a worker has said nothing (the gateway has just started, or the worker has parked),
        its open question and its agent's pause are what is known.
        """
        if worker.status == "stopped":
            return worker.status
        address = worker_address(agent.id, worker.id)
        activity = self.activities.get(address)
        if activity is not None and activity.state != "parked":
            is_shown = activity.state in ("paused", "waiting_for_human")
            return activity.state if is_shown else worker.status
        if address in self.questions.asking():
            return "waiting_for_human"
        return "paused" if agent.status == "paused" else worker.status

    def waits_for_human(self, agent: Agent) -> bool:
        """Whether everybody in an agent's team who could work waits for an answer of the human."""
        if agent.status != "working" or not self.questions.open(agent.id):
            return False
        coordinator = self.activities.get(coordinator_address(agent.id))
        if coordinator is not None and coordinator.state not in ("waiting_for_nodes", "parked"):
            return False
        try:
            board = self.boards.get(self.agents.run_of(agent))
        except (AgiraphError, OSError):
            return False  # a damaged board must not hide the agent
        working = [worker for worker in board.workers.values() if worker.node is not None]
        statuses = {self.worker_status(agent, worker) for worker in working}
        return statuses == {"waiting_for_human"}

    def close(self) -> None:
        """Close the database and the journals."""
        self.messages.database.close()
        self.dispatcher.close()
        self.idempotency.close()


def _as_api_error(error: TransportError, to: str) -> ApiError:
    """Return a failure of the bus as a refusal of the API."""
    match error:
        case NotStored():
            return ApiError(INSUFFICIENT_STORAGE, f"the disk is full: nothing was sent to {to}")
        case DeadlineExceeded():
            return ApiError(TOO_LATE, f"{to} did not answer in time")
        case Nacked(reason="mailbox_full"):
            return ApiError(UNAVAILABLE, f"the mailbox of {to} is full")
        case Nacked(reason="too_large"):
            return ApiError(413, f"the message to {to} is too large")
        case Nacked():
            return ApiError(CONFLICT, f"{to} cannot be reached ({error})")
        case _:
            return ApiError(UNAVAILABLE, f"{to} cannot be reached now ({error})")


def open_gateway(
    bus: Runtime,
    home: Home,
    config: Config,
    clock: Clock,
    log: Any,
    environ: Mapping[str, str] = NOTHING,
) -> Gateway:
    """Open the gateway of a home. Raises Corrupt, OSError.

    `environ` holds the variables that its channels name.
    """
    agents, boards = AgentDirectory(home), BoardReader()
    signals, counters = LogSignals(), GatewayCounters()
    reporter = GatewayEventReporter(bus, agents, clock)
    database = GatewayDatabase(home.human.book)
    questions, history = QuestionStore(database), MessageHistory(database)
    answers = AnswerDelivery(bus, questions, history, reporter, agents, boards, clock, log)
    dispatcher = NotificationDispatcher(
        DeliveryJournal(home.human.channels),
        AnswerLinks(home.human.answer_key, config.gateway.answer_link_seconds),
        config,
        environ,
        agents,
        history,
        questions,
        reporter,
        clock,
        log,
    )
    history.when_added, signals.on_notify = dispatcher.on_message, dispatcher.on_event
    answers.absence = lambda: dispatcher.queue.absence_at(clock.now())
    dispatcher.when_delivered = counters.delivered
    return Gateway(
        bus=bus,
        home=home,
        config=config,
        clock=clock,
        log=log,
        agents=agents,
        messages=history,
        questions=questions,
        reporter=reporter,
        answer_delivery=answers,
        boards=boards,
        dead_letters=DeadLetterStore(database),
        dispatcher=dispatcher,
        idempotency=IdempotencyStore(home.human.repeats, clock.now()),
        signals=signals,
        counters=counters,
    )
