"""TriggerStore: the book of triggers of every agent that has any, on disk, and its event log beside
it."""

from collections.abc import Callable
from typing import Any

from actors.recorder.event_log import EventLog
from actors.runtime.agent_folders import AgentFolders
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import CLOCK, AgentId
from agiraph.core.models import Event
from agiraph.storage.files import is_about_place, is_folder, read_bytes, replace_file
from agiraph.storage.home import AgentHome, Home
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

PAGE = 500
EMPTY_BYTES = 3


class TriggerStore:
    """Reads and writes `agents/*/triggers.json`; nobody else does."""

    def __init__(
        self,
        home: Home,
        bounds: FiringLimits,
        log: Any,
        report: Callable[[Event], None],
        now: Callable[[], float],
    ) -> None:
        """Keep the books of `home`; `load` reads them. `report` tells the recorder."""
        self._report = report
        self._now = now
        self._told: dict[AgentId, str] = {}
        self._home = home
        self._bounds = bounds
        self._log = log
        self._logs: dict[AgentId, EventLog] = {}
        self.books: dict[AgentId, TriggerSet] = {}
        self.damaged: dict[AgentId, Corrupt] = {}

    def load(self) -> None:
        """Read every book; a damaged one hides itself alone."""
        for name in AgentFolders(self._home.agents, self._log).names():
            self._load_one(AgentId(name))

    def load_again(self) -> None:
        """Read those that were set aside: a person may have mended them."""
        for agent in list(self.damaged):
            self._look_again(agent)

    def _look_again(self, agent: AgentId) -> None:
        del self.damaged[agent]
        self._load_one(agent)

    def _load_one(self, agent: AgentId) -> None:
        path = self._home.agent(agent).triggers
        try:
            text = read_bytes(path).decode()
            if len(text) > EMPTY_BYTES:
                self.books[agent] = TriggerSet.read(agent, text, self._bounds, path)
        except FileNotFoundError:
            return
        except (Corrupt, UnicodeDecodeError, OSError) as error:
            self._set_aside(agent, error)

    def _set_aside(self, agent: AgentId, error: Exception) -> Corrupt:
        """Keep an agent's triggers from firing, say why, and return what to raise."""
        if isinstance(error, OSError) and not is_about_place(error):
            raise error
        told = Corrupt(f"the triggers of agent '{agent}' stand still: {error}")
        self.forget(agent)
        self.damaged[agent] = told
        if self._told.get(agent) != str(error):
            self._told[agent] = str(error)
            self._log.error("an agent is set aside", agent=agent, reason=str(error))
            self._report(_event(agent, str(error), self._now()))
        return told

    def book(self, agent: AgentId) -> TriggerSet:
        """Return an agent's book, an empty one if it has none; Corrupt, or InvalidInput."""
        if agent in self.damaged:
            self._look_again(agent)
        if agent in self.damaged:
            raise self.damaged[agent]
        if agent in self.books:
            return self.books[agent]
        if not is_folder(self._folder(agent).path):
            raise InvalidInput(f"there is no agent '{agent}'")
        return TriggerSet(agent, self._bounds)

    def save(self, book: TriggerSet) -> None:
        """Write a book down, unless its agent has been archived meanwhile; that one is let go.

        Raises Corrupt if the agent had to be set aside.
        """
        home = self._folder(book.agent)
        if not is_folder(home.path):
            self.forget(book.agent)
            return
        self.books[book.agent] = book
        try:
            replace_file(home.triggers, book.write())
        except OSError as error:
            raise self._set_aside(book.agent, error) from error

    def forget(self, agent: AgentId) -> None:
        """Let go of an agent that is there no more."""
        self.books.pop(agent, None)
        self._logs.pop(agent, None)

    def catch_up(self, book: TriggerSet, now: float) -> bool:
        """Let a book take in what was logged since it looked; return whether a trigger changed.

        Raises Corrupt if the agent had to be set aside.
        """
        log, is_changed = self._log_of(book.agent), False
        try:
            if book.seen > log.last():
                book.seen = log.last()  # the log was cut back to what a person decided
            while events := log.page(book.seen, PAGE):
                is_changed |= book.take(events, now)
        except (OSError, Corrupt) as error:
            raise self._set_aside(book.agent, error) from error
        return is_changed

    def start_watching(self, book: TriggerSet) -> None:
        """Let a book that looked at nothing so far begin at the log's end; Corrupt."""
        try:
            book.seen = self._log_of(book.agent).last()
        except (OSError, Corrupt) as error:
            raise self._set_aside(book.agent, error) from error

    def _log_of(self, agent: AgentId) -> EventLog:
        if agent not in self._logs:
            self._logs[agent] = EventLog(self._folder(agent).events)
        return self._logs[agent]

    def _folder(self, agent: AgentId) -> AgentHome:
        if not agent or agent.startswith(".") or "/" in agent or "\0" in agent:
            raise InvalidInput(f"there is no agent '{agent}'")
        return self._home.agent(agent)


def _event(agent: AgentId, reason: str, now: float) -> Event:
    data = {"service": CLOCK, "reason": reason}
    return Event(type="agent.set_aside", agent_id=agent, ts=now, entity=CLOCK, data=data)
