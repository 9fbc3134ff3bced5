"""The gateway: all of its parts in one record, which every endpoint and the bus loop are handed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from actors.gateway.events.event_reporter import GatewayEventReporter
from actors.gateway.events.followers import LogSignals
from actors.gateway.lru_cache import LruCache
from actors.gateway.notifications.answer_links import AnswerLinks
from actors.gateway.notifications.delivery_journal import DeliveryJournal
from actors.gateway.notifications.dispatcher import NotificationDispatcher
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
from actors.gateway.state.process_overview import ProcessOverview
from actors.recorder.event_log import EventLog
from actors.runtime.runtime import Runtime
from agiraph.core.clock import Clock
from agiraph.core.config import Config
from agiraph.core.models import Agent
from agiraph.http.api import AgentView, EventPageView
from agiraph.storage.home import Home

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Gateway:
    """Stores, readers and the bus of one home's gateway. `close` closes the files."""

    line: Runtime
    home: Home
    config: Config
    clock: Clock
    log: Any
    agents: AgentDirectory
    thread: MessageHistory
    questions: QuestionStore
    telling: GatewayEventReporter
    answer_delivery: AnswerDelivery
    boards: BoardReader
    overview: ProcessOverview
    dead: DeadLetterStore
    dispatcher: NotificationDispatcher
    repeats: IdempotencyStore
    bells: LogSignals
    tallies: GatewayCounters
    statuses: EntityActivities = field(default_factory=EntityActivities)
    summaries: LruCache[AgentView] = field(default_factory=LruCache)
    event_pages: LruCache[EventPageView] = field(default_factory=LruCache)
    cpu: dict[tuple[str, int], tuple[float, float, float]] = field(default_factory=dict)

    def events_of(self, agent: Agent) -> EventLog:
        """Return the reader of an agent's event log."""
        return self.agents.events_of(agent)

    def forget(self, agent: Agent) -> None:
        """Disconnect the followers of an agent that is archived."""
        self.bells.say_gone(agent.id)

    def close(self) -> None:
        """Close the database and the journals."""
        self.thread.database.close()
        self.dispatcher.close()
        self.repeats.close()


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
    agents, boards, signals, counters = (
        AgentDirectory(home),
        BoardReader(),
        LogSignals(),
        GatewayCounters(),
    )
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
    history.when_added, signals.ear = dispatcher.on_message, dispatcher.on_event
    answers.absence = lambda: dispatcher.book.absence_at(clock.now())
    dispatcher.when_delivered = counters.delivered
    return Gateway(
        line=bus,
        home=home,
        config=config,
        clock=clock,
        log=log,
        agents=agents,
        thread=history,
        questions=questions,
        telling=reporter,
        answer_delivery=answers,
        boards=boards,
        overview=ProcessOverview(bus),
        dead=DeadLetterStore(database),
        dispatcher=dispatcher,
        repeats=IdempotencyStore(home.human.repeats, clock.now()),
        bells=signals,
        tallies=counters,
    )
