"""The gateway: all of its parts in one record, which every endpoint and the bus loop are handed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from actors.event_log import EventLog
from actors.human.agents import Agents
from actors.human.boards import Boards
from actors.human.census import Census
from actors.human.channels.courier import Courier
from actors.human.channels.ledger import Ledger
from actors.human.channels.links import Links
from actors.human.channels.presence import in_words
from actors.human.database import Database
from actors.human.dead import DeadLetters
from actors.human.deadlines import Deadlines
from actors.human.followers import Bells
from actors.human.latest import Latest
from actors.human.line import Line
from actors.human.orphans import Orphans
from actors.human.postman import Postman
from actors.human.questions import Questions
from actors.human.repeats import Repeats
from actors.human.statuses import Statuses
from actors.human.tallies import Tallies
from actors.human.telling import Telling
from actors.human.thread import Thread
from agiraph.api import AgentSummary, EventPage
from agiraph.clock import Clock
from agiraph.config import Config
from agiraph.ids import AgentId
from agiraph.models import Agent
from agiraph.storage.home import Home

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Gateway:
    """One person's door: journals, readers and the bus. `close` lets the journals go."""

    line: Line
    home: Home
    config: Config
    clock: Clock
    log: Any
    agents: Agents
    thread: Thread
    questions: Questions
    telling: Telling
    postman: Postman
    deadlines: Deadlines
    orphans: Orphans
    boards: Boards
    census: Census
    dead: DeadLetters
    courier: Courier
    repeats: Repeats
    bells: Bells = field(default_factory=Bells)
    statuses: Statuses = field(default_factory=Statuses)
    tallies: Tallies = field(default_factory=Tallies)
    summaries: Latest[AgentSummary] = field(default_factory=Latest)
    event_pages: Latest[EventPage] = field(default_factory=Latest)
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
        self.bells.say_gone(agent.id)

    def close(self) -> None:
        """Close the database and the journals."""
        self.thread.database.close()
        self.courier.close()
        self.repeats.close()


def open_gateway(
    line: Line,
    home: Home,
    config: Config,
    clock: Clock,
    log: Any,
    environ: Mapping[str, str] = NOTHING,
) -> Gateway:
    """Open the gateway of a home. Raises Corrupt, OSError.

    `environ` holds the variables that its channels name.
    """
    agents = Agents(home)
    telling = Telling(line, agents, clock)
    database = Database(home.human.book)
    questions = Questions(database)
    thread = Thread(database)
    postman = Postman(line, questions, thread, telling, log)
    boards = Boards()
    links = Links(home.human.answer_key, config.gateway.answer_link_seconds)
    ledger = Ledger(home.human.channels)
    courier = Courier(ledger, links, config.channels, config.gateway, environ)
    bells = Bells()
    thread.when_added, bells.ear = courier.ring, courier.hear
    postman.absence = lambda: in_words(courier.book.away_at(clock.now()))
    tallies = Tallies()
    courier.when_delivered = tallies.delivered
    return Gateway(
        line=line,
        home=home,
        config=config,
        clock=clock,
        log=log,
        agents=agents,
        thread=thread,
        bells=bells,
        courier=courier,
        tallies=tallies,
        questions=questions,
        telling=telling,
        postman=postman,
        deadlines=Deadlines(questions, postman, clock),
        orphans=Orphans(questions, agents, boards, postman, clock),
        boards=boards,
        census=Census(line),
        dead=DeadLetters(database),
        repeats=Repeats(home.human.repeats, clock.now()),
    )
