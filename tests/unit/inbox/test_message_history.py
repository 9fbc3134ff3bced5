"""The person's thread: every message once, in order, by agent, through restarts."""

from collections.abc import Callable
from typing import Any

import pytest

from agiraph.board.board import Board
from agiraph.board.names import find_worker
from agiraph.core.errors import InvalidInput, unknown
from agiraph.http.errors import ApiError
from agiraph.inbox.message_history import MessageHistory

OpenThread = Callable[[], MessageHistory]


def add(thread: MessageHistory, id: str, agent: str = "a-1", content: str = "x") -> bool:
    return thread.add(id=id, agent=agent, sender="Ada", to="human", content=content, ts=1.0)


def test_a_message_is_written_once_even_after_a_restart(open_thread: OpenThread) -> None:
    thread = open_thread()
    assert add(thread, "1")
    assert not add(thread, "1")
    thread = open_thread()
    assert not add(thread, "1")
    assert "1" in thread
    assert add(thread, "2")
    assert [message.seq for message in thread.page("a-1", 0, 10).messages] == [1, 2]


def test_page_has_messages_of_one_agent_and_a_line_cursor(
    open_thread: OpenThread,
) -> None:
    thread = open_thread()
    for number in range(6):
        add(thread, str(number), agent="even" if number % 2 == 0 else "odd")
    page = thread.page("odd", 0, 2)
    assert [message.id for message in page.messages] == ["1", "3"]
    assert [message.id for message in thread.page("odd", page.next, 2).messages] == ["5"]
    assert thread.page("odd", 6, 2).next == 6
    assert thread.page("nobody", 0, 2).messages == ()


def test_the_thread_is_paged_both_ways_and_by_entity(open_thread: OpenThread) -> None:
    thread = open_thread()
    for number in range(1, 8):
        who = "Ada" if number % 2 else "Bob"
        agent = "mill" if number == 4 else "shop"
        thread.add(id=f"{number}", agent=agent, sender=who, to="human", content="x", ts=1.0)

    def seqs(**named: Any) -> tuple[list[int], int, int | None]:
        page = thread.page("shop", **{"after": 0, "limit": 2} | named)
        return [message.seq for message in page.messages], page.next, page.previous

    assert seqs() == ([1, 2], 2, None)
    assert seqs(after=2) == ([3, 5], 5, 3)
    assert seqs(after=7) == ([], 7, None)
    assert seqs(before=2**53) == ([6, 7], 7, 6)
    assert seqs(before=6) == ([3, 5], 5, 3)
    assert seqs(before=3) == ([1, 2], 2, None)
    assert seqs(before=7, after=5) == ([6], 6, 6)
    assert seqs(entity="bob") == ([2, 6], 6, None)
    assert seqs(entity="bob", before=6) == ([2], 2, None)


def test_history_search_ignores_case_and_is_paged(open_thread: OpenThread) -> None:
    thread = open_thread()
    for number, text in enumerate(("Über 50% fertig", "x", "über_alles", "ÜBER 50%", "50 %")):
        add(thread, str(number), content=text)
    page = thread.page("a-1", 0, 1, search="über")
    assert ([m.id for m in page.messages], page.previous) == (["0"], None)
    assert [m.id for m in thread.page("a-1", page.next, 9, search="über").messages] == ["2", "3"]
    assert [m.id for m in thread.page("a-1", 0, 9, search="50%").messages] == ["0", "3"]
    back = thread.page("a-1", 0, 1, before=9, search="über", entity="Ada")
    assert ([m.id for m in back.messages], back.previous) == (["3"], 4)
    assert thread.page("a-1", 0, 9, search="x", entity="Bob").messages == ()


def test_read_messages_stay_read_after_a_restart(open_thread: OpenThread) -> None:
    thread = open_thread()
    for id in "12":
        add(thread, id)
    add(thread, "3", agent="a-2")
    assert (thread.unread("a-1"), thread.unread("a-2")) == ({"Ada": 2}, {"Ada": 1})
    thread.mark_read("a-1", 1)
    assert thread.unread("a-1") == {"Ada": 1}
    thread.mark_read("a-1", 99)
    assert (thread.read_to("a-1"), thread.unread("a-1")) == (3, {})
    thread = open_thread()
    assert (thread.read_to("a-1"), thread.unread("a-1")) == (3, {})
    assert thread.unread("a-2") == {"Ada": 1}


def test_unread_messages_are_counted_per_conversation(open_thread: OpenThread) -> None:
    thread = open_thread()
    for number, who in enumerate(("Ada", "Bob", "Ada", "Bob"), start=1):
        thread.add(id=f"{number}", agent="shop", sender=who, to="human", content="x", ts=1.0)
    thread.mark_read("shop", entity="bob")
    assert (thread.unread("shop"), thread.read_to("shop")) == ({"Ada": 2}, 0)
    thread.mark_read("shop", 1, "Ada")
    thread.mark_read("shop", 1, "Bob")  # an older tab
    thread = open_thread()
    assert (thread.unread("shop"), thread.read_with("shop")) == ({"Ada": 1}, {"Ada": 1, "Bob": 4})
    thread.mark_read("shop", 3)
    assert (thread.unread("shop"), thread.read_with("shop")) == ({}, {"Bob": 4})
    thread.mark_read("shop", 2, "Ada")
    assert (thread.unread("shop"), thread.unread("mill")) == ({}, {})


# --- which message a person answers ---


def said(thread: MessageHistory, id: str, sender: str, to: str, content: str = "x") -> None:
    thread.add(id=id, agent="shop-1", sender=sender, to=to, content=content, ts=1.0)


def test_last_message_of_a_sender_is_unanswered_until_a_reply(open_thread: OpenThread) -> None:
    thread = open_thread()
    said(thread, "aaaa01", "Ada", "human", "Which?")
    said(thread, "bbbb02", "Bob", "human", "When?")
    found = thread.unanswered("shop-1", "ada")
    assert found is not None
    assert found.id == "aaaa01"
    said(thread, "cccc03", "human", "Ada", "This one")
    assert thread.unanswered("shop-1", "Ada") is None
    assert thread.unanswered("shop-1", "Bob") is not None
    assert thread.unanswered("mill-2", "Bob") is None


def test_a_message_is_found_by_the_beginning_of_its_id(open_thread: OpenThread) -> None:
    thread = open_thread()
    said(thread, "aaaa01", "Ada", "human", "Which?")
    said(thread, "aaab02", "Bob", "human", "When?")
    assert thread.find("shop-1", "aaaa").sender == "Ada"
    with pytest.raises(ApiError, match="several messages begin with 'aaa'"):
        thread.find("shop-1", "aaa")
    with pytest.raises(ApiError, match=r"unknown message 'ffff' .*aaab02 Bob: When\?"):
        thread.find("shop-1", "ffff")


def test_misspelled_name_gets_a_suggestion() -> None:
    error = unknown("recipient", "alise", ["coordinator", "Alice", "bob"])
    assert str(error) == (
        "unknown recipient 'alise', did you mean 'Alice'? (known: Alice, bob, coordinator)"
    )
    assert "did you mean" not in str(unknown("recipient", "zoe", ["Alice"]))
    with pytest.raises(InvalidInput, match="unknown worker 'x'"):
        find_worker(Board(), "x")
