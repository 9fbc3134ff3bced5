"""Questions to the human: asked once, answered at any time, also after all processes restarted."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from actors.runtime.runtime import Runtime
from agiraph.core.concurrency import Signal
from agiraph.core.ids import (
    HUMAN,
    QuestionId,
    derived_id,
    derived_message_id,
)
from agiraph.core.turns import ToolCall
from agiraph.messages.question import AskQuestion, QuestionAnswered, WithdrawQuestion

ASK_HUMAN = "ask_human"


def question_id(address: str, key: str) -> QuestionId:
    """Return the id of the question that step `key` of an entity asks, the same after a crash."""
    return QuestionId(f"q-{derived_id(address, key)}")


def approval_id(address: str, key: str) -> QuestionId:
    """Return the id of the question for the approval of step `key` of an entity."""
    return QuestionId(f"a-{derived_id(address, key, 'approval')}")


def digest_of(call: ToolCall) -> str:
    """Return the digest of a call's tool and arguments, which identifies its action."""
    return derived_id(call.name, json.dumps(call.arguments, sort_keys=True))


def is_about(answered: QuestionAnswered, digest: str) -> bool:
    """Whether an answer is about the action with this digest; one without a digest counts."""
    told = answered.about.digest if answered.about else ""
    return not told or told == digest


@dataclass(frozen=True, slots=True)
class ArrivedAnswer:
    """The outcome of a question and its message; call `done` once the outcome is recorded."""

    answered: QuestionAnswered
    message: str
    done: Callable[[], None]


class ArrivedAnswers:
    """Outcomes of questions that have arrived, until a call takes them."""

    def __init__(self) -> None:
        self._arrived: dict[QuestionId, ArrivedAnswer] = {}
        self._awaited: dict[QuestionId, str] = {}
        self._abandoned: set[QuestionId] = set()
        self._changed = Signal()

    def put(self, arrived: ArrivedAnswer) -> None:
        """Store an answer; a second answer to the same question replaces the first."""
        before = self._arrived.get(arrived.answered.question_id)
        if before is not None and before.message != arrived.message:
            before.done()
        self._arrived[arrived.answered.question_id] = arrived
        self._changed.set()

    def is_awaited(self, answered: QuestionAnswered) -> bool:
        """Whether a caller waits for this answer right now."""
        digest = self._awaited.get(answered.question_id)
        return digest is not None and is_about(answered, digest)

    def expect(self, question: QuestionId) -> None:
        """Count the answer to `question` as awaited until it is taken."""
        self._awaited[question] = ""

    @contextmanager
    def expecting(self, question: QuestionId, digest: str = "") -> Iterator[None]:
        """Count the answer to `question` as awaited before it is asked: it may come at once.

        `digest` is the digest of the action that the question is about, if any.
        """
        self._awaited[question] = digest
        try:
            yield
        finally:
            self._awaited.pop(question, None)

    def was_abandoned(self, question: QuestionId) -> bool:
        """Whether a caller has stopped waiting for the answer to `question`."""
        return question in self._abandoned

    async def take(self, question: QuestionId, digest: str = "") -> ArrivedAnswer:
        """Wait for and return the answer to `question` about the action with `digest`.

        An answer about another action is ignored: it permits nothing.
        """
        self._awaited[question] = digest
        self._abandoned.discard(question)
        try:
            while True:
                await self._changed.until(lambda: question in self._arrived)
                arrived = self._arrived.pop(question)
                if is_about(arrived.answered, digest):
                    return arrived
                arrived.done()
        except asyncio.CancelledError:
            self._abandoned.add(question)
            raise
        finally:
            self._awaited.pop(question, None)


async def ask(runtime: Runtime, body: AskQuestion, key: str) -> None:
    """Ask a question; asked again with the same key after a crash, it is the same question.

    A different text, or another action, is another message: the router must not take it for a
    repeated message.
    """
    act = body.about.digest if body.about else ""
    asked = derived_id(body.question, *body.options, act)
    await runtime.send(HUMAN, body, id=derived_message_id(runtime.address, f"{key}.{asked}"))


async def withdraw(runtime: Runtime, question: QuestionId, reason: str) -> None:
    """Tell the gateway that the entity needs no answer any more; an earlier answer stays."""
    message = derived_message_id(runtime.address, f"withdraw.{question}")
    body = WithdrawQuestion(question_id=question, reason=reason)
    await runtime.send(HUMAN, body, id=message)
