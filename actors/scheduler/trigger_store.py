"""TriggerStore: the trigger sets of all agents on disk, and the event logs beside them."""

from collections.abc import Callable
from typing import Any

from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import CLOCK, AgentId
from agiraph.core.models import Event
from agiraph.logs.event_log import EventLog
from agiraph.storage.agent_folders import AgentFolders
from agiraph.storage.files import is_folder, read_bytes, replace_file
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.walk import is_about_place
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

PAGE = 500
EMPTY_BYTES = 3


class TriggerStore:
    """Reads (with `load`) and writes `agents/*/triggers.json`; it is their only writer."""

    def __init__(
        self,
        home: Home,
        bounds: FiringLimits,
        log: Any,
        report: Callable[[Event], None],
        now: Callable[[], float],
    ) -> None:
        self._report = report
        self._now = now
        self._reported: dict[AgentId, str] = {}
        self._home = home
        self._bounds = bounds
        self._log = log
        self._logs: dict[AgentId, EventLog] = {}
        self.trigger_sets: dict[AgentId, TriggerSet] = {}
        self.damaged: dict[AgentId, Corrupt] = {}
        self._without: set[AgentId] = set()

    def load(self) -> None:
        """Read every trigger set; a damaged file affects only its own agent."""
        for name in AgentFolders(self._home.agents, self._log).names():
            self._load_one(AgentId(name))

    def load_again(self) -> None:
        """Read the damaged files again: a person may have repaired them."""
        for agent in list(self.damaged):
            self._reload(agent)

    def has_any(self, agent: AgentId) -> bool:
        """Whether an agent has usable triggers; reads them if the agent was archived until now."""
        if not any(agent in known for known in (self.trigger_sets, self.damaged, self._without)):
            self._reload(agent)
        return agent in self.trigger_sets

    def _reload(self, agent: AgentId) -> None:
        """Read the triggers of an agent that was archived, or whose file was damaged."""
        self.damaged.pop(agent, None)
        self._load_one(agent)
        if agent in self.trigger_sets:
            self.trigger_sets[agent].put_back()

    def _load_one(self, agent: AgentId) -> None:
        path = self._folder(agent).triggers
        try:
            text = read_bytes(path).decode()
            if len(text) > EMPTY_BYTES:
                self.trigger_sets[agent] = TriggerSet.read(agent, text, self._bounds, path)
            else:
                self._without.add(agent)
        except FileNotFoundError:
            if self.is_there(agent):
                self._without.add(agent)
        except (Corrupt, UnicodeDecodeError, OSError) as error:
            self._quarantine(agent, error)

    def _quarantine(self, agent: AgentId, error: Exception) -> Corrupt:
        """Stop an agent's triggers, report the reason, and return the error to raise."""
        if isinstance(error, OSError) and not is_about_place(error):
            raise error
        damage = Corrupt(f"the triggers of agent '{agent}' cannot be used: {error}")
        self.forget(agent)
        self.damaged[agent] = damage
        if self._reported.get(agent) != str(error):
            self._reported[agent] = str(error)
            self._log.error("an agent's triggers cannot be used", agent=agent, reason=str(error))
            self._report(_event(agent, str(error), self._now()))
        return damage

    def book(self, agent: AgentId) -> TriggerSet:
        """Return an agent's trigger set, an empty one if it has none.

        Raises Corrupt, InvalidInput if there is no such agent.
        """
        if not self.is_there(agent):
            self.forget(agent)
            raise InvalidInput(f"there is no agent '{agent}'")
        if agent not in self.trigger_sets:
            self._reload(agent)
        if agent in self.damaged:
            raise self.damaged[agent]
        return self.trigger_sets.get(agent) or TriggerSet(agent, self._bounds)

    def save(self, book: TriggerSet) -> None:
        """Write a trigger set to disk; forget the set of an archived agent. Raises Corrupt."""
        if not self.is_there(book.agent):
            self.forget(book.agent)
            return
        self.trigger_sets[book.agent] = book
        self._without.discard(book.agent)
        try:
            replace_file(self._folder(book.agent).triggers, book.write())
        except OSError as error:
            raise self._quarantine(book.agent, error) from error

    def forget(self, agent: AgentId) -> None:
        """Forget the triggers of an archived agent; they are read when it is restored."""
        self.trigger_sets.pop(agent, None)
        self._logs.pop(agent, None)

    def is_there(self, agent: AgentId) -> bool:
        """Whether an agent has a folder; archived agents have none here."""
        return is_folder(self._folder(agent).path)

    def catch_up(self, book: TriggerSet, now: float) -> bool:
        """Apply the events since the last call; return whether a trigger changed.

        Raises Corrupt.
        """
        log, is_changed = self._log_of(book.agent), False
        try:
            if book.seen > log.last():
                book.seen = log.last()  # a person has truncated the log
            while events := log.page(book.seen, PAGE):
                is_changed |= book.apply(events, now)
        except (OSError, Corrupt) as error:
            raise self._quarantine(book.agent, error) from error
        return is_changed

    def start_watching(self, book: TriggerSet) -> None:
        """Let a trigger set that has read no events begin at the log's end.

        Raises Corrupt.
        """
        try:
            book.seen = self._log_of(book.agent).last()
        except (OSError, Corrupt) as error:
            raise self._quarantine(book.agent, error) from error

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
    return Event(type="agent.quarantined", agent_id=agent, ts=now, entity=CLOCK, data=data)
