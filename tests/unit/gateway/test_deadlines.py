"""A question that nobody answers expires once, whoever is alive; late answers are told so."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.database import GatewayDatabase
from agiraph.core.ids import AgentId, QuestionId
from agiraph.http.api import ApiError
from agiraph.messages import AskQuestion

ASKER = "shop-1/ada-1"


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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "book.db"


def test_a_deadline_counts_from_the_first_asking_and_outlives_a_restart(path: Path) -> None:
    book = QuestionStore(GatewayDatabase(path))
    book.ask(body(), ASKER, "01", 100.0)
    book.ask(body(), ASKER, "02", 105.0)
    book.database.close()
    book = QuestionStore(GatewayDatabase(path))
    assert book.next_deadline() == 110.0
    assert book.expire(109.9) == []
    [expired] = book.expire(110.0)
    assert (expired.status, expired.answer, expired.default) == ("expired", None, "this")
    assert book.expire(200.0) == []
    assert book.undelivered()[0].undelivered == ("01", "02")
    book.database.close()


def test_who_answers_too_late_is_told_that_the_default_holds(path: Path) -> None:
    book = QuestionStore(GatewayDatabase(path))
    book.ask(body(), ASKER, "01", 100.0)
    with pytest.raises(ApiError, match=r"expired at .*, unanswered: the default holds, this"):
        book.answer("q1", "that", "human", 110.0)
    assert book.listed(99)[0].status == "expired"
    book.database.close()


def test_the_second_answer_is_told_who_was_first_when_and_from_where(path: Path) -> None:
    book = QuestionStore(GatewayDatabase(path))
    book.ask(body(within=None), ASKER, "01", 100.0)
    book.answer("q1", "that", "Alice", 101.0, "webhook")
    with pytest.raises(ApiError, match=r"by Alice at 1970-.* over webhook: that") as second:
        book.answer("q1", "this", "Bob", 102.0, "cli")
    assert second.value.status == 409
    book.database.close()


def test_what_its_asker_withdrew_cannot_be_answered(path: Path) -> None:
    book = QuestionStore(GatewayDatabase(path))
    book.ask(body(), ASKER, "01", 100.0)
    assert book.withdraw_one("shop-1/bob-1", "q1", "", 101.0) is None
    withdrawn = book.withdraw_one(ASKER, "q1", "interrupted", 101.0)
    assert withdrawn is not None
    assert book.withdraw_one(ASKER, "q1", "interrupted", 101.0) is None
    with pytest.raises(ApiError, match="withdrawn"):
        book.answer("q1", "this", "human", 102.0)
    assert book.undelivered()[0].undelivered == ("01",), "who waits all the same is told"
    book.database.close()


def test_a_shared_question_is_one_and_every_asker_is_told(path: Path) -> None:
    book = QuestionStore(GatewayDatabase(path))
    assert book.ask(body(shared=True), ASKER, "01", 100.0) is not None
    assert book.ask(body(shared=True), "shop-1/bob-1", "02", 101.0) is None
    book.answer("q1", "this", "human", 102.0)
    book.database.close()
    book = QuestionStore(GatewayDatabase(path))
    [case] = book.undelivered()
    assert [case.asker_of(ask) for ask in case.undelivered] == [ASKER, "shop-1/bob-1"]
    book.database.close()


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


def test_a_book_of_an_older_version_opens_as_it_was(path: Path) -> None:
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
    book = QuestionStore(GatewayDatabase(path))
    first, second = book.listed(99)
    assert (first.status, first.answer, first.options) == ("answered", "this", ())
    assert (second.status, second.deadline_at, second.kind) == ("withdrawn", None, "question")
    [case] = book.undelivered()
    assert case.question.id == "q1", "nobody is told of what was withdrawn with its agent"
    book.database.close()
