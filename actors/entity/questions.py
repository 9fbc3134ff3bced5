"""Questions to the human: asked once, answered whenever, also after a restart of everything."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from actors.runtime import Runtime
from agiraph.ids import HUMAN, QuestionId, derived_id, derived_message_id
from agiraph.messages import AskQuestion, QuestionAnswered, WithdrawQuestion

ASK_HUMAN = "ask_human"


def question_id(address: str, key: str) -> QuestionId:
    """Return the id of the question that step `key` of an entity asks: always the same."""
    return QuestionId(f"q-{derived_id(address, key)}")


def approval_id(address: str, key: str) -> QuestionId:
    """Return the id of the question whether step `key` of an entity may be done."""
    return QuestionId(f"a-{derived_id(address, key, 'approval')}")


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of a question, and the message that told it; `done` says that it is recorded."""

    answered: QuestionAnswered
    message: str
    done: Callable[[], None]


class Answers:
    """Answers that have arrived, until the one who asked takes them."""

    def __init__(self) -> None:
        """Make an empty store."""
        self._arrived: dict[QuestionId, Arrived] = {}
        self._awaited: set[QuestionId] = set()
        self._left: set[QuestionId] = set()
        self._changed = asyncio.Event()

    def put(self, arrived: Arrived) -> None:
        """Keep an answer; of two to the same question (it was asked twice) the last."""
        before = self._arrived.get(arrived.answered.question_id)
        if before is not None and before.message != arrived.message:
            before.done()
        self._arrived[arrived.answered.question_id] = arrived
        self._changed.set()

    def is_awaited(self, question: QuestionId) -> bool:
        """Whether somebody waits for the answer to `question` right now."""
        return question in self._awaited

    @contextmanager
    def expecting(self, question: QuestionId) -> Iterator[None]:
        """Take the answer to `question` for awaited from before it is put: it may come at once."""
        self._awaited.add(question)
        try:
            yield
        finally:
            self._awaited.discard(question)

    def was_left(self, question: QuestionId) -> bool:
        """Whether somebody waited for the answer to `question` and no longer does."""
        return question in self._left

    async def take(self, question: QuestionId) -> Arrived:
        """Wait for the answer to `question`."""
        self._awaited.add(question)
        self._left.discard(question)
        try:
            while question not in self._arrived:
                self._changed.clear()
                await self._changed.wait()
            return self._arrived.pop(question)
        except asyncio.CancelledError:
            self._left.add(question)
            raise
        finally:
            self._awaited.discard(question)


async def ask(runtime: Runtime, body: AskQuestion, key: str) -> None:
    """Put a question; put again under the same key after a crash, it is the same question."""
    await runtime.send(HUMAN, body, id=derived_message_id(runtime.address, key))


async def withdraw(runtime: Runtime, question: QuestionId, reason: str) -> None:
    """Say that the answer is no longer needed; one that came first is not undone."""
    message = derived_message_id(runtime.address, f"withdraw.{question}")
    body = WithdrawQuestion(question_id=question, reason=reason)
    await runtime.send(HUMAN, body, id=message)
