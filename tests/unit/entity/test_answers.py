"""ArrivedAnswers: each is taken once; waits and abandoned waits are recorded."""

import asyncio

from actors.entity.questions import ArrivedAnswer, ArrivedAnswers
from agiraph.core.ids import QuestionId
from agiraph.messages.question import QuestionAnswered

ID = QuestionId("q-1")


YES = QuestionAnswered(question_id=ID, answer="yes", by="human")


def arrived(message: str, done: list[str], answered: QuestionAnswered = YES) -> ArrivedAnswer:
    """Return an answer that notes in `done` when it is said to be recorded."""
    return ArrivedAnswer(answered, message, lambda: done.append(message))


async def test_answer_is_taken_before_or_after_the_wait_begins() -> None:
    async def both() -> list[str]:
        answers = ArrivedAnswers()
        answers.put(arrived("early", []))
        first = await answers.take(ID)
        waiting = asyncio.create_task(answers.take(ID))
        await asyncio.sleep(0)
        assert answers.is_awaited(YES)
        answers.put(arrived("late", []))
        return [first.message, (await waiting).message]

    assert await both() == ["early", "late"]


async def test_first_of_two_answers_to_a_question_is_used() -> None:
    done: list[str] = []

    async def put_both() -> str:
        answers = ArrivedAnswers()
        answers.put(arrived("one", done))
        answers.put(arrived("two", done))
        return (await answers.take(ID)).message

    assert await put_both() == "two"
    assert done == ["one"]


async def test_abandoned_wait_is_recorded_until_the_next_wait() -> None:
    answers = ArrivedAnswers()
    waiting = asyncio.create_task(answers.take(ID))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert answers.was_abandoned(ID)
    assert not answers.is_awaited(YES)
    again = asyncio.create_task(answers.take(ID))
    await asyncio.sleep(0)
    assert not answers.was_abandoned(ID)
    answers.put(arrived("now", []))
    assert (await again).message == "now"
