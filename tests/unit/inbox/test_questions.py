"""The store of questions: asked once, ended once across crashes, delivered to all askers."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.board.board import Board, RunFacts
from agiraph.core.ids import QuestionId
from agiraph.core.models import ProposedAction
from agiraph.http.errors import ApiError
from agiraph.inbox.answer_delivery import has_run_ended
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.questions import QuestionStore
from agiraph.messages.question import AskQuestion
from tests.unit.inbox.question_requests import ADA, BOB, asking

OpenBook = Callable[[], QuestionStore]


def test_a_question_asked_again_by_the_same_message_is_not_new(open_book: OpenBook) -> None:
    book = open_book()
    assert book.ask(asking(), ADA, "01", 1.0) is not None
    assert book.ask(asking(), ADA, "01", 1.0) is None
    again = open_book()
    assert again.ask(asking(), ADA, "01", 1.0) is None
    assert len(again.listed(99)) == 1


def test_an_asker_that_asks_again_after_a_crash_gets_the_answer_to_both_messages(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(asking(), ADA, "01", 1.0)
    assert book.ask(asking(), ADA, "02", 2.0) is None
    book.answer("q1", "this", "human", 3.0)
    assert book.undelivered()[0].undelivered == ("01", "02")
    book.delivered("q1", "01")
    book = open_book()
    assert book.undelivered()[0].undelivered == ("02",)
    book.delivered("q1", "02")
    assert book.undelivered() == []


@pytest.mark.parametrize(
    ("run", "ended_at", "is_over"),
    [("r1", None, False), ("r1", 20.0, True), (None, 20.0, False), ("r0", None, True)],
    ids=["of the run", "before its end", "after its end", "of the run before"],
)
def test_question_ends_with_its_run_regardless_of_the_clock(
    open_book: OpenBook, run: str | None, ended_at: float | None, is_over: bool
) -> None:
    question = open_book().ask(asking(run=run), ADA, "01", 5.0)
    assert question is not None
    facts = {"run_id": "r1", "goal": "x", "model": "m", "worker_model": "m", "started_at": 10.0}
    status = "running" if ended_at is None else "completed"
    board = Board(run=RunFacts.model_validate(facts | {"ended_at": ended_at, "status": status}))
    assert has_run_ended(question, board) is is_over


def test_two_askers_may_use_the_same_id(open_book: OpenBook) -> None:
    book = open_book()
    first = book.ask(asking(), ADA, "01", 1.0)
    second = book.ask(asking(agent="mill-2"), "mill-2/ada-1", "02", 1.0)
    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("q1", "q1-2")
    book.answer("q1-2", "that", "human", 2.0)
    case = book.undelivered()[0]
    assert (case.asker, case.asked_as) == ("mill-2/ada-1", "q1")


def test_first_answer_counts_and_second_is_refused_with_author_and_time(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(asking(), ADA, "01", 1.0)
    book.answer("q1", "this", "human", 1000.0, "webhook")
    book = open_book()
    with pytest.raises(
        ApiError, match="answered by human at 1970-01-01T00:16:40Z over webhook: this"
    ) as refused:
        book.answer("q1", "that", "human", 2000.0)
    assert refused.value.status == 409
    assert book.listed(99)[0].answer == "this"


def test_withdrawn_questions_accept_no_answer_and_answered_ones_stay_answered(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(asking("q1"), ADA, "01", 1.0)
    book.ask(asking("q2"), ADA, "02", 1.0)
    book.answer("q1", "this", "human", 2.0)
    book.withdraw("shop-1")
    assert [question.status for question in book.listed(99)] == ["answered", "withdrawn"]
    with pytest.raises(ApiError) as refused:
        book.answer("q2", "late", "human", 3.0)
    assert refused.value.status == 409


def approval(command: str, digest: str = "") -> AskQuestion:
    about = ProposedAction(tool="bash", subject=command, digest=digest)
    return asking(kind="approval", about=about, question="May I?")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (approval("ls -l"), approval("rm -rf /")),
        (approval("ls -l", "d1"), approval("ls -l", "d2")),
        (asking(), approval("ls -l")),
        (asking(), asking(question="Which other?")),
    ],
)
def test_old_answer_is_not_given_to_another_question_with_the_same_id(
    open_book: OpenBook, first: AskQuestion, second: AskQuestion
) -> None:
    book = open_book()
    book.ask(first, ADA, "01", 1.0)
    book.answer("q1", "allow once", "human", 2.0)
    book = open_book()
    other = book.ask(second, ADA, "02", 3.0)
    assert other is not None
    assert (other.id, other.status) == ("q1-2", "open")
    assert book.undelivered()[0].undelivered == ("01",)


def test_question_is_found_by_a_prefix_of_its_id(open_book: OpenBook) -> None:
    book = open_book()
    long, other = "q-3f9c1d0a" + "0" * 24, "q-3f9c1d0b" + "0" * 24
    for number, id in enumerate((long, other, "q-3f9c1d")):
        book.ask(asking(id, question=f"Number {number}?"), ADA, f"0{number}", 1.0)
    assert book.meant(long) == book.meant("q-3f9c1d0a") == long
    assert book.meant("q-3f9c1d") == "q-3f9c1d", "an id of older versions is itself"
    assert book.meant("3f9c1d0b") == other, "the letter of its kind may be missing"
    with pytest.raises(ApiError, match="several questions") as refused:
        book.meant("q-3")
    assert refused.value.status == 409
    assert long in str(refused.value)
    assert other in str(refused.value)
    for unknown in ("q-4", "a-3f9c1d0a", "q-"):
        with pytest.raises(ApiError, match="q-3f9c1d0a, q-3f9c1d0b") as refused:
            book.meant(unknown)
        assert refused.value.status == 404


# --- deadlines ---

LATE: dict[str, Any] = {"options": ("this", "that"), "deadline_seconds": 10.0, "default": "this"}


def test_deadline_counts_from_the_first_request_and_survives_a_restart(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(asking(**LATE), ADA, "01", 100.0)
    book.ask(asking(**LATE), ADA, "02", 105.0)
    book = open_book()
    assert book.next_deadline() == 110.0
    assert book.expire(109.9) == []
    [expired] = book.expire(110.0)
    assert (expired.status, expired.answer, expired.default) == ("expired", None, "this")
    assert book.expire(200.0) == []
    assert book.undelivered()[0].undelivered == ("01", "02")


def test_late_answer_is_refused_with_the_default(open_book: OpenBook) -> None:
    book = open_book()
    book.ask(asking(**LATE), ADA, "01", 100.0)
    with pytest.raises(ApiError, match=r"expired at .*, unanswered: the default applies, this"):
        book.answer("q1", "that", "human", 110.0)
    assert book.listed(99)[0].status == "expired"


def test_withdrawn_question_cannot_be_answered(open_book: OpenBook) -> None:
    book = open_book()
    book.ask(asking(**LATE), ADA, "01", 100.0)
    assert book.withdraw_own(BOB, "q1", "", 101.0) is None
    withdrawn = book.withdraw_own(ADA, "q1", "interrupted", 101.0)
    assert withdrawn is not None
    assert book.withdraw_own(ADA, "q1", "interrupted", 101.0) is None
    with pytest.raises(ApiError, match="withdrawn"):
        book.answer("q1", "this", "human", 102.0)
    assert book.undelivered()[0].undelivered == ("01",), "who waits all the same is told"


def test_shared_question_exists_once_and_every_asker_is_notified(open_book: OpenBook) -> None:
    book = open_book()
    assert book.ask(asking(shared=True), ADA, "01", 100.0) is not None
    assert book.ask(asking(shared=True), BOB, "02", 101.0) is None
    book.answer("q1", "this", "human", 102.0)
    book = open_book()
    [case] = book.undelivered()
    assert [case.asker_of(ask) for ask in case.undelivered] == [ADA, BOB]


STEP = st.tuples(
    st.sampled_from(["ask", "answer", "expire", "withdraw", "open again"]),
    st.integers(0, 2),
    st.integers(0, 5),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEP, max_size=25))
def test_each_question_ends_once_and_stays_so(
    steps: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("book") / "book.db"
    book, now = QuestionStore(GatewayDatabase(path)), 0.0
    ended: dict[str, tuple[str, str | None]] = {}
    for number, (what, which, wait) in enumerate(steps):
        now += wait
        id = f"q{which}"
        if what == "ask":
            book.ask(asking(id, **(LATE | {"deadline_seconds": 5.0})), ADA, f"{number:02}", now)
        elif what == "expire":
            book.expire(now)
        elif what == "withdraw":
            book.withdraw_own(ADA, id, "", now)
        elif what == "open again":
            book.database.close()
            book = QuestionStore(GatewayDatabase(path))
        else:
            was = {q.id: q.status for q in book.listed(99)}.get(QuestionId(id))
            with suppress(ApiError):
                assert book.answer(id, f"a{number}", "human", now).status == "answered"
                assert was == "open"
        for question in book.listed(99):
            state = (question.status, question.answer)
            if question.status != "open":
                assert ended.setdefault(question.id, state) == state
        assert [q.id for q in book.open()] == [q.id for q in book.listed(99) if q.status == "open"]
    book.database.close()
