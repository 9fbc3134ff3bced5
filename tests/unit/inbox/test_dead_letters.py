"""The gateway's book of dead letters: kept once, sent back once, and the same after a restart."""

import pytest

from actors.runtime.quarantine import letter_of, message_in
from agiraph.http.errors import ApiError
from agiraph.inbox.dead_letters import DeadLetterStore, letter_id
from agiraph.messages.control import DeadLetter
from agiraph.messages.text import TextMessage
from tests.unit.inbox.conftest import OpenDatabase
from transport.endpoint import Received
from transport.envelope import Flag, Header


def message(number: int) -> Received:
    flags = int(Flag.DURABLE | Flag.ASK)
    sender, reply_to = "shop/coordinator", b"r" * 16
    header = Header(
        1, bytes([number] * 16), "text", "shop/ada", sender, 3, reply_to, 12.5, flags, None
    )
    return Received(header, TextMessage(content="die\0ü", from_name="coordinator"))


def letter(number: int) -> DeadLetter:
    return letter_of(message(number), "shop/ada", "it ended shop/ada 3 times")


def test_dead_letter_contains_the_whole_message() -> None:
    again = message_in(letter(1))
    assert again == message(1)


def test_dead_letter_is_stored_once_and_survives_a_restart(open_database: OpenDatabase) -> None:
    book = DeadLetterStore(open_database())
    assert book.add(letter(1), 10.0)
    assert not book.add(letter(1), 11.0)
    assert book.add(letter(2), 12.0)
    book = DeadLetterStore(open_database())
    assert [(view.to, view.sender, view.type, view.at) for view in book.views()] == [
        ("shop/ada", "shop/coordinator", "text", 10.0),
        ("shop/ada", "shop/coordinator", "text", 12.0),
    ]
    assert book.find(letter_id(letter(2))) == letter(2)


def test_returned_dead_letter_is_removed_and_may_be_added_again(
    open_database: OpenDatabase,
) -> None:
    book = DeadLetterStore(open_database())
    book.add(letter(1), 10.0)
    book.sent_back(letter_id(letter(1)), "c1")
    assert book.views() == []
    with pytest.raises(ApiError, match="unknown dead letter"):
        book.find(letter_id(letter(1)))
    assert book.add(letter(1), 20.0)
