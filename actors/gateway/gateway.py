"""The gateway: all of its parts in one record, which every endpoint and the bus loop are handed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from actors.gateway.bus_client import BusClient
from actors.gateway.event_feed import EventTexts, LogSignals
from actors.gateway.event_reporter import GatewayEventReporter
from actors.gateway.notifications.answer_links import AnswerLinks
from actors.gateway.notifications.delivery_journal import DeliveryJournal
from actors.gateway.notifications.dispatcher import NotificationDispatcher
from actors.gateway.notifications.do_not_disturb import in_words
from actors.gateway.questions.answer_delivery import AnswerDelivery
from actors.gateway.questions.deadlines import QuestionDeadlines
from actors.gateway.questions.orphaned_questions import OrphanedQuestions
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.activities import EntityActivities
from actors.gateway.state.agents import AgentDirectory
from actors.gateway.state.boards import BoardReader
from actors.gateway.state.counters import GatewayCounters
from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.dead_letters import DeadLetterStore
from actors.gateway.state.idempotency_store import IdempotencyStore
from actors.gateway.state.message_history import MessageHistory
from actors.recorder.event_log import EventLog
from agiraph.core.clock import Clock
from agiraph.core.config import Config
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.storage.home import Home

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Gateway:
    """One person's door: journals, readers and the bus. `close` lets the journals go."""

    line: BusClient
    home: Home
    config: Config
    clock: Clock
    log: Any
    agents: AgentDirectory
    thread: MessageHistory
    questions: QuestionStore
    telling: GatewayEventReporter
    answer_delivery: AnswerDelivery
    deadlines: QuestionDeadlines
    orphans: OrphanedQuestions
    boards: BoardReader
    dead: DeadLetterStore
    dispatcher: NotificationDispatcher
    repeats: IdempotencyStore
    bells: LogSignals = field(default_factory=LogSignals)
    statuses: EntityActivities = field(default_factory=EntityActivities)
    tallies: GatewayCounters = field(default_factory=GatewayCounters)
    event_texts: EventTexts = field(default_factory=EventTexts)
    cpu: dict[tuple[str, int], tuple[float, float, float]] = field(default_factory=dict)
    _logs: dict[AgentId, EventLog] = field(default_factory=dict)

    def events_of(self, agent: Agent) -> EventLog:
        """Return the reader of an agent's event log."""
        if agent.id not in self._logs:
            self._logs[agent.id] = EventLog(self.agents.home_of(agent).events)
        return self._logs[agent.id]

    def forget(self, agent: Agent) -> None:
        """Drop what is held of an agent that is archived."""
        self._logs.pop(agent.id, None)
        self.bells.archive(agent.id)

    def close(self) -> None:
        """Close the database and the journals."""
        self.thread.database.close()
        self.dispatcher.close()
        self.repeats.close()


def open_gateway(
    line: BusClient,
    home: Home,
    config: Config,
    clock: Clock,
    log: Any,
    environ: Mapping[str, str] = NOTHING,
) -> Gateway:
    """Open the gateway of a home. Raises Corrupt, OSError.

    `environ` holds the variables that its channels name.
    """
    agents = AgentDirectory(home)
    telling = GatewayEventReporter(line, agents, clock)
    database = GatewayDatabase(home.human.book)
    questions = QuestionStore(database)
    thread = MessageHistory(database)
    answer_delivery = AnswerDelivery(line, questions, thread, telling, log)
    boards = BoardReader()
    links = AnswerLinks(home.human.answer_key, config.gateway.answer_link_seconds)
    ledger = DeliveryJournal(home.human.channels)
    dispatcher = NotificationDispatcher(ledger, links, config.channels, config.gateway, environ)
    bells = LogSignals()
    thread.when_added, bells.on_notify = dispatcher.ring, dispatcher.hear
    answer_delivery.absence = lambda: in_words(dispatcher.book.away_at(clock.now()))
    tallies = GatewayCounters()
    dispatcher.when_delivered = tallies.delivered
    return Gateway(
        line=line,
        home=home,
        config=config,
        clock=clock,
        log=log,
        agents=agents,
        thread=thread,
        bells=bells,
        dispatcher=dispatcher,
        tallies=tallies,
        questions=questions,
        telling=telling,
        answer_delivery=answer_delivery,
        deadlines=QuestionDeadlines(questions, answer_delivery, clock),
        orphans=OrphanedQuestions(questions, agents, boards, answer_delivery, clock),
        boards=boards,
        dead=DeadLetterStore(database),
        repeats=IdempotencyStore(home.human.repeats, clock.now()),
    )
