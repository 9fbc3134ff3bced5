"""The book of questions: asked once, answered once, delivered until it is ticked off."""

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.gateway.questions.questions import QuestionStore
from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import ProposedAction
from agiraph.http.errors import ApiError
from agiraph.messages.question import AskQuestion

OpenBook = Callable[[], QuestionStore]


def body(id: str = "q1", agent: str = "shop-1") -> AskQuestion:
    return AskQuestion(
        question_id=QuestionId(id), agent=AgentId(agent), from_name="Ada", question="Which?"
    )


def test_a_question_asked_again_by_the_same_message_is_not_new(open_book: OpenBook) -> None:
    book = open_book()
    assert book.ask(body(), "shop-1/ada-1", "01", 1.0) is not None
    assert book.ask(body(), "shop-1/ada-1", "01", 1.0) is None
    again = open_book()
    assert again.ask(body(), "shop-1/ada-1", "01", 1.0) is None
    assert len(again.listed(99)) == 1


def test_an_asker_that_asks_again_after_a_crash_gets_the_answer_to_both_messages(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(body(), "shop-1/ada-1", "01", 1.0)
    assert book.ask(body(), "shop-1/ada-1", "02", 2.0) is None
    book.answer("q1", "this", "human", 3.0)
    assert book.undelivered()[0].undelivered == ("01", "02")
    book.delivered("q1", "01")
    book = open_book()
    assert book.undelivered()[0].undelivered == ("02",)
    book.delivered("q1", "02")
    assert book.undelivered() == []


def test_two_askers_may_use_the_same_id(open_book: OpenBook) -> None:
    book = open_book()
    first = book.ask(body(), "shop-1/ada-1", "01", 1.0)
    second = book.ask(body(agent="mill-2"), "mill-2/ada-1", "02", 1.0)
    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("q1", "q1-2")
    book.answer("q1-2", "that", "human", 2.0)
    case = book.undelivered()[0]
    assert (case.asker, case.asked_as) == ("mill-2/ada-1", "q1")


def test_the_first_answer_holds_and_the_second_is_told_who_and_when(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(body(), "shop-1/ada-1", "01", 1.0)
    book.answer("q1", "this", "human", 1000.0, "webhook")
    book = open_book()
    with pytest.raises(
        ApiError, match="answered by human at 1970-01-01T00:16:40Z over webhook: this"
    ) as refused:
        book.answer("q1", "that", "human", 2000.0)
    assert refused.value.status == 409
    assert book.listed(99)[0].answer == "this"


def test_withdrawn_questions_take_no_answer_and_answered_ones_stay_answered(
    open_book: OpenBook,
) -> None:
    book = open_book()
    book.ask(body("q1"), "shop-1/ada-1", "01", 1.0)
    book.ask(body("q2"), "shop-1/ada-1", "02", 1.0)
    book.answer("q1", "this", "human", 2.0)
    book.withdraw("shop-1")
    assert [question.status for question in book.listed(99)] == ["answered", "withdrawn"]
    with pytest.raises(ApiError) as refused:
        book.answer("q2", "late", "human", 3.0)
    assert refused.value.status == 409


def test_a_record_that_cannot_have_been_written_is_told_with_its_place(
    open_book: OpenBook, path: Path
) -> None:
    path.with_name("questions.jsonl").write_text(
        '{"type":"answered","id":"q9","answer":"x","by":"h","at":1}\n'
    )
    with pytest.raises(Corrupt, match="record 1"):
        open_book()


def approval(command: str, digest: str = "") -> AskQuestion:
    about = ProposedAction(tool="bash", subject=command, digest=digest)
    return body().model_copy(update={"kind": "approval", "about": about, "question": "May I?"})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (approval("ls -l"), approval("rm -rf /")),
        (approval("ls -l", "d1"), approval("ls -l", "d2")),
        (body(), approval("ls -l")),
        (body(), body().model_copy(update={"question": "Which other?"})),
    ],
)
def test_an_old_answer_is_given_to_nothing_else_under_the_same_id(
    open_book: OpenBook, first: AskQuestion, second: AskQuestion
) -> None:
    book = open_book()
    book.ask(first, "shop-1/ada-1", "01", 1.0)
    book.answer("q1", "allow once", "human", 2.0)
    book = open_book()
    other = book.ask(second, "shop-1/ada-1", "02", 3.0)
    assert other is not None
    assert (other.id, other.status) == ("q1-2", "open")
    assert book.undelivered()[0].undelivered == ("01",)


def test_a_deed_from_before_there_were_digests_is_known_again(open_book: OpenBook) -> None:
    book = open_book()
    book.ask(approval("ls -l"), "shop-1/ada-1", "01", 1.0)
    assert book.ask(approval("ls -l", "d1"), "shop-1/ada-1", "02", 2.0) is None


def test_a_question_is_named_by_how_its_id_begins(open_book: OpenBook) -> None:
    book = open_book()
    long, other = "q-3f9c1d0a" + "0" * 24, "q-3f9c1d0b" + "0" * 24
    for number, id in enumerate((long, other, "q-3f9c1d")):
        asker = body(id).model_copy(update={"question": f"Number {number}?"})
        book.ask(asker, "shop-1/ada-1", f"0{number}", 1.0)
    assert book.meant(long) == book.meant("q-3f9c1d0a") == long
    assert book.meant("q-3f9c1d") == "q-3f9c1d", "an id of older versions is itself"
    with pytest.raises(ApiError, match="several questions") as refused:
        book.meant("q-3f9c1d0")
    assert refused.value.status == 409
    assert long in str(refused.value)
    assert other in str(refused.value)
    for unknown in ("q-3f9", "a-3f9c1d0a", "q-"):
        with pytest.raises(ApiError, match="q-3f9c1d0a, q-3f9c1d0b") as refused:
            book.meant(unknown)
        assert refused.value.status == 404
