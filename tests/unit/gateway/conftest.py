"""Stores of a gateway that are closed after each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.database import GatewayDatabase


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the gateway's database."""
    return tmp_path / "book.db"


@pytest.fixture
def open_book(path: Path) -> Iterator[Callable[[], QuestionStore]]:
    """Yield what opens the questions; again, as after a restart."""
    opened: list[QuestionStore] = []

    def open_again() -> QuestionStore:
        while opened:
            opened.pop().database.close()
        opened.append(QuestionStore(GatewayDatabase(path)))
        return opened[0]

    yield open_again
    while opened:
        opened.pop().database.close()
