"""A question that nobody answers expires once, whoever is alive; late answers are told so."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.database import GatewayDatabase
from agiraph.core.ids import AgentId, QuestionId
from agiraph.http.errors import ApiError
from agiraph.messages.question import AskQuestion

ASKER = "shop-1/ada-1"

OpenBook = Callable[[], QuestionStore]


def body(id: str = "q1", *, within: float | None = 10.0, shared: bool = False) -> AskQuestion:
    return AskQuestion(
        question_id=QuestionId(id),
        agent=AgentId("shop-1"),
        from_name="Ada",
        question="Which?",
        options=("this", "that"),
        deadline_seconds=within,
        default="this",
        shared=shared,
    )


def test_a_deadline_counts_from_the_first_asking_and_outlives_a_restart(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(body(), ASKER, "01", 100.0)
    book.ask(body(), ASKER, "02", 105.0)
    book = open_book()
    assert book.next_deadline() == 110.0
    assert book.expire(109.9) == []
    [expired] = book.expire(110.0)
    assert (expired.status, expired.answer, expired.default) == ("expired", None, "this")
    assert book.expire(200.0) == []
    assert book.undelivered()[0].undelivered == ("01", "02")


def test_who_answers_too_late_is_told_that_the_default_holds(open_book: OpenBook) -> None:
    book = open_book()
    book.ask(body(), ASKER, "01", 100.0)
    with pytest.raises(ApiError, match=r"expired at .*, unanswered: the default holds, this"):
        book.answer("q1", "that", "human", 110.0)
    assert book.listed(99)[0].status == "expired"


def test_what_its_asker_withdrew_cannot_be_answered(open_book: OpenBook) -> None:
    book = open_book()
    book.ask(body(), ASKER, "01", 100.0)
    assert book.withdraw_one("shop-1/bob-1", "q1", "", 101.0) is None
    withdrawn = book.withdraw_one(ASKER, "q1", "interrupted", 101.0)
    assert withdrawn is not None
    assert book.withdraw_one(ASKER, "q1", "interrupted", 101.0) is None
    with pytest.raises(ApiError, match="withdrawn"):
        book.answer("q1", "this", "human", 102.0)
    assert book.undelivered()[0].undelivered == ("01",), "who waits all the same is told"


def test_a_shared_question_is_one_and_every_asker_is_told(open_book: OpenBook) -> None:
    book = open_book()
    assert book.ask(body(shared=True), ASKER, "01", 100.0) is not None
    assert book.ask(body(shared=True), "shop-1/bob-1", "02", 101.0) is None
    book.answer("q1", "this", "human", 102.0)
    book = open_book()
    [case] = book.undelivered()
    assert [case.asker_of(ask) for ask in case.undelivered] == [ASKER, "shop-1/bob-1"]


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
            book.ask(body(id, within=5.0), ASKER, f"{number:02}", now)
        elif what == "expire":
            book.expire(now)
        elif what == "withdraw":
            book.withdraw_one(ASKER, id, "", now)
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


def test_a_book_of_an_older_version_opens_as_it_was(open_book: OpenBook, path: Path) -> None:
    question = {"id": "q1", "agent": "shop-1", "from_id": "Ada", "question": "Which?"}
    old = {**question, "asked_at": 1.0, "channel": "cli", "status": "open", "answer": None}
    asked = {"type": "asked", "asker": ASKER, "asked_as": "q1", "ask": "01"}
    records = [
        {**asked, "question": old},
        {"type": "answered", "id": "q1", "answer": "this", "by": "human", "at": 2.0},
        {**asked, "question": {**old, "id": "q2"}, "asked_as": "q2", "ask": "02"},
        {"type": "withdrawn", "id": "q2"},
    ]
    path.with_name("questions.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records)
    )
    book = open_book()
    first, second = book.listed(99)
    assert (first.status, first.answer, first.options) == ("answered", "this", ())
    assert (second.status, second.deadline_at, second.kind) == ("withdrawn", None, "question")
    [case] = book.undelivered()
    assert case.question.id == "q1", "nobody is told of what was withdrawn with its agent"
