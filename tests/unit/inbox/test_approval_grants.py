"""The scope of "allow always": narrow, durable, and revocable."""

from collections.abc import Callable

import pytest

from agiraph.core.models import ProposedAction, Question
from agiraph.http.errors import ApiError
from agiraph.inbox.approval_grants import (
    answer_by_standing,
    approval_view,
    revoke,
    standing,
)
from agiraph.inbox.question_records import BY_APPROVAL
from agiraph.inbox.questions import QuestionStore
from tests.unit.inbox.question_requests import ADA, asking

OpenBook = Callable[[], QuestionStore]


def asked(book: QuestionStore, id: str, *, agent: str = "shop-1", subject: str = "ls") -> Question:
    about = ProposedAction(tool="bash", subject=subject, rule="r", remember=subject)
    question = book.ask(asking(id, agent, kind="approval", about=about), ADA, f"0{id}", 1.0)
    assert question is not None
    return question


def test_standing_approval_is_not_asked_again_after_a_restart(
    open_book: OpenBook,
) -> None:
    book = open_book()
    asked(book, "a1")
    book.answer("a1", "allow always", "Eve", 2.0, "cli")
    book = open_book()
    again = asked(book, "a2")
    assert answer_by_standing(book, again, 3.0)
    answered = book.get("a2")
    assert answered is not None
    assert (answered.answer, answered.answered_by) == ("allow once", f"{BY_APPROVAL} a1")
    [view] = [approval_view(case) for case in standing(book)]
    assert (view.tool, view.pattern, view.by, view.via) == ("bash", "ls", "Eve", "cli")


def test_standing_approval_does_not_answer_a_call_that_needs_further_approvals(
    open_book: OpenBook,
) -> None:
    book = open_book()
    asked(book, "a1", subject="ls")
    book.answer("a1", "allow always", "Eve", 2.0)
    about = ProposedAction(tool="bash", subject="ls", rule="r")
    question = book.ask(asking("a2", "shop-1", kind="approval", about=about), ADA, "0a2", 3.0)
    assert question is not None
    assert not answer_by_standing(book, question, 3.0)
    book.answer("a2", "allow always", "Eve", 4.0)
    assert [case.question.id for case in standing(book)] == ["a1"], "it was allowed once"


def test_standing_approval_does_not_apply_to_another_agent_or_command(open_book: OpenBook) -> None:
    book = open_book()
    asked(book, "a1")
    book.answer("a1", "allow always", "Eve", 2.0)
    asked(book, "a2", subject="pwd")
    book.answer("a2", "allow once", "Eve", 2.0)
    for id, agent, subject in (
        ("b1", "mill-2", "ls"),
        ("b2", "shop-1", "ls /"),
        ("b3", "shop-1", "pwd"),
    ):
        assert not answer_by_standing(book, asked(book, id, agent=agent, subject=subject), 3.0)


def test_revoked_approval_is_asked_again(open_book: OpenBook) -> None:
    book = open_book()
    asked(book, "a1")
    book.answer("a1", "allow always", "Eve", 2.0)
    assert revoke(book, "a1", 3.0).pattern == "ls"
    book = open_book()
    assert standing(book) == []
    assert not answer_by_standing(book, asked(book, "a2"), 4.0)
    assert revoke(book, "a1", 5.0).pattern == "ls", "taking it back again changes nothing"
    with pytest.raises(ApiError, match="unknown approval 'a2'"):
        revoke(book, "a2", 5.0)


def test_approval_is_revoked_by_a_prefix_of_its_id(open_book: OpenBook) -> None:
    book = open_book()
    ids = [f"a-3f9c1d0{digit}{'0' * 24}" for digit in "ab"]
    for id in ids:
        asked(book, id, subject=id)
        book.answer(id, "allow always", "Eve", 2.0, "cli")
    with pytest.raises(ApiError, match="several approvals") as refused:
        revoke(book, "a-3f9c1d0", 3.0)
    assert refused.value.status == 409
    assert revoke(book, "a-3f9c1d0b", 3.0).id == ids[1]
    assert [case.question.id for case in standing(book)] == ids[:1]
