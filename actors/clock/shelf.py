"""Shelf: the book of triggers of every agent that has any, on disk, and its event log beside it."""

from typing import Any

from actors.event_log import EventLog
from agiraph.errors import Corrupt, InvalidInput
from agiraph.ids import AgentId
from agiraph.storage.files import replace_file
from agiraph.storage.home import AgentHome, Home
from agiraph.triggers.book import Book, Bounds

PAGE = 500
EMPTY_BYTES = 3


class Shelf:
    """Reads and writes `agents/*/triggers.json`; nobody else does."""

    def __init__(self, home: Home, bounds: Bounds, log: Any) -> None:
        """Keep the books of `home`; `load` reads them."""
        self._home = home
        self._bounds = bounds
        self._log = log
        self._logs: dict[AgentId, EventLog] = {}
        self.books: dict[AgentId, Book] = {}
        self.damaged: dict[AgentId, Corrupt] = {}

    def load(self) -> None:
        """Read every book; a damaged one hides itself alone."""
        try:
            folders = sorted(self._home.agents.iterdir())
        except FileNotFoundError:
            return
        for folder in folders:
            if not folder.name.startswith("."):
                self._load_one(AgentId(folder.name))

    def _load_one(self, agent: AgentId) -> None:
        path = self._home.agent(agent).triggers
        try:
            if path.stat().st_size <= EMPTY_BYTES:
                return
            self.books[agent] = Book.read(agent, path.read_text(encoding="utf-8"), self._bounds)
        except (FileNotFoundError, NotADirectoryError):
            return
        except (Corrupt, UnicodeDecodeError) as error:
            self._log.error("triggers cannot be read", agent=agent, reason=str(error))
            self.damaged[agent] = Corrupt(f"{path}: {error}")

    def book(self, agent: AgentId) -> Book:
        """Return an agent's book, an empty one if it has none; Corrupt, or InvalidInput."""
        if agent in self.damaged:
            raise self.damaged[agent]
        if agent in self.books:
            return self.books[agent]
        if not self._folder(agent).path.is_dir():
            raise InvalidInput(f"there is no agent '{agent}'")
        return Book(agent, self._bounds)

    def save(self, book: Book) -> None:
        """Write a book down, unless its agent has been archived meanwhile; that one is let go."""
        home = self._folder(book.agent)
        if not home.path.is_dir():
            self.forget(book.agent)
            return
        self.books[book.agent] = book
        replace_file(home.triggers, book.write())

    def forget(self, agent: AgentId) -> None:
        """Let go of an agent that is there no more."""
        self.books.pop(agent, None)
        self._logs.pop(agent, None)

    def catch_up(self, book: Book, now: float) -> bool:
        """Let a book take in what was logged since it looked; return whether a trigger changed."""
        log, is_changed = self._log_of(book.agent), False
        if book.seen > log.last():
            book.seen = log.last()  # the log was cut back to what a person decided
        while events := log.page(book.seen, PAGE):
            is_changed |= book.take(events, now)
        return is_changed

    def start_watching(self, book: Book) -> None:
        """Let a book that looked at nothing so far begin at the log's end."""
        book.seen = self._log_of(book.agent).last()

    def _log_of(self, agent: AgentId) -> EventLog:
        if agent not in self._logs:
            self._logs[agent] = EventLog(self._folder(agent).events)
        return self._logs[agent]

    def _folder(self, agent: AgentId) -> AgentHome:
        if not agent or agent.startswith(".") or "/" in agent or "\0" in agent:
            raise InvalidInput(f"there is no agent '{agent}'")
        return self._home.agent(agent)
