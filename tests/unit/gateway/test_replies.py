"""Which message of the thread a person answers: the one that is named, or the last unanswered."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.message_history import MessageHistory
from agiraph.board.board import Board
from agiraph.board.names import find_worker
from agiraph.core.errors import InvalidInput, unknown
from agiraph.http.errors import ApiError


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[MessageHistory]:
    made = MessageHistory(GatewayDatabase(tmp_path / "book.db"))
    yield made
    made.database.close()


def said(thread: MessageHistory, id: str, sender: str, to: str, content: str = "x") -> None:
    thread.add(id=id, agent="shop-1", sender=sender, to=to, content=content, ts=1.0)


def test_the_last_text_of_somebody_is_answered_until_it_was(thread: MessageHistory) -> None:
    said(thread, "aaaa01", "Ada", "human", "Which?")
    said(thread, "bbbb02", "Bob", "human", "When?")
    found = thread.unanswered("shop-1", "ada")
    assert found is not None
    assert found.id == "aaaa01"
    said(thread, "cccc03", "human", "Ada", "This one")
    assert thread.unanswered("shop-1", "Ada") is None
    assert thread.unanswered("shop-1", "Bob") is not None
    assert thread.unanswered("mill-2", "Bob") is None


def test_a_message_is_found_by_the_beginning_of_its_id(thread: MessageHistory) -> None:
    said(thread, "aaaa01", "Ada", "human", "Which?")
    said(thread, "aaab02", "Bob", "human", "When?")
    assert thread.find("shop-1", "aaaa").sender == "Ada"
    with pytest.raises(ApiError, match="several messages begin with 'aaa'"):
        thread.find("shop-1", "aaa")
    with pytest.raises(ApiError, match=r"unknown message 'ffff' .*aaab02 Bob: When\?"):
        thread.find("shop-1", "ffff")


def test_a_name_that_is_nearly_right_is_guessed_at() -> None:
    error = unknown("recipient", "alise", ["coordinator", "Alice", "bob"])
    assert str(error) == (
        "unknown recipient 'alise', did you mean 'Alice'? (known: Alice, bob, coordinator)"
    )
    assert "did you mean" not in str(unknown("recipient", "zoe", ["Alice"]))
    with pytest.raises(InvalidInput, match="unknown worker 'x'"):
        find_worker(Board(), "x")
