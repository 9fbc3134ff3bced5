"""Stores of a gateway that are closed after each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.questions import QuestionStore

OpenDatabase = Callable[[], GatewayDatabase]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the gateway's database."""
    return tmp_path / "book.db"


@pytest.fixture
def open_database(path: Path) -> Iterator[OpenDatabase]:
    """Yield a function that opens the database; again, as after a restart."""
    opened: list[GatewayDatabase] = []

    def open_again() -> GatewayDatabase:
        while opened:
            opened.pop().close()
        opened.append(GatewayDatabase(path))
        return opened[0]

    yield open_again
    while opened:
        opened.pop().close()


@pytest.fixture
def open_book(open_database: OpenDatabase) -> Callable[[], QuestionStore]:
    """Return a function that opens the questions; again, as after a restart."""
    return lambda: QuestionStore(open_database())


@pytest.fixture
def open_thread(open_database: OpenDatabase) -> Callable[[], MessageHistory]:
    """Return a function that opens the messages; again, as after a restart."""
    return lambda: MessageHistory(open_database())
