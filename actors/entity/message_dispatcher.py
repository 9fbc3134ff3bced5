"""MessageDispatcher: passes each received message to the part of the entity that handles it."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Literal

from actors.entity.context import EntityContext
from actors.entity.model_client import BrokerModelClient
from actors.entity.questions import (
    ASK_HUMAN,
    ArrivedAnswer,
    ArrivedAnswers,
    approval_id,
    digest_of,
    is_about,
    question_id,
)
from agiraph.agent.activity import STEP_LIMIT
from agiraph.agent.answers import late_answer_in_words
from agiraph.agent.records import StateChanged
from agiraph.core.ids import QuestionId
from agiraph.core.models import BUDGET
from agiraph.messages.authorization import shown_name
from agiraph.messages.control import Pause, Resume, Step
from agiraph.messages.model import ModelDelta
from agiraph.messages.question import QuestionAnswered
from agiraph.messages.text import TextMessage
from agiraph.messages.tool import ToolProgress
from transport.endpoint import Received

Handler = Callable[[Received], Awaitable[None]]


class MessageDispatcher:
    """Receives the messages of one entity; `handler` handles those of its kind."""

    def __init__(
        self,
        context: EntityContext,
        model_client: BrokerModelClient,
        answers: ArrivedAnswers,
        handler: Handler,
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._model_client = model_client
        self._answers = answers
        self._handler = handler

    async def run(self) -> None:
        """Receive while the process lives.

        A message that needs no waiting is handled on arrival: a text passes only one queue, the
        inbox of the next yield point. A message for which the handler must wait, and all later
        messages, keep their order in the runtime's queue.
        """
        self._runtime.on_message = self._accept
        try:
            while True:
                received = await self._runtime.receive()
                if not self._accept(received):
                    await self._handler(received)
        finally:
            self._runtime.on_message = None

    def _accept(self, received: Received) -> bool:
        """Handle a message if that needs no waiting; return whether it was handled."""
        body, sender = received.body, received.header.sender
        if self._context.transcript.has_seen(received.header.id.hex()):
            self._runtime.done(received)
            return True
        match body:
            case ModelDelta():
                self._model_client.on_delta(body)
            case ToolProgress(call=call, text=text):
                self._show_progress(call, text)
            case TextMessage(from_name=claimed):
                name = shown_name(sender, claimed)
                self._put(received, body.model_copy(update={"from_name": name}))
            case QuestionAnswered():
                self._on_answer(received, body)
            case Pause():
                self._note(received, "paused")
            case Step():
                self._note(received, "dropped" if self._context.is_external else "stepped")
            case Resume():
                self._note(received, "resumed")
            case _:
                return False
        return True

    def _show_progress(self, call: bytes, text: str) -> None:
        """Show the progress of the running call."""
        for opened in self._context.transcript.open_calls[:1]:
            if self._context.message_id(opened.key) == call:
                self._context.show("busy", f"{opened.call.name}: {text}"[:STEP_LIMIT])

    def _on_answer(self, received: Received, answered: QuestionAnswered) -> None:
        """Pass an answer to the call that waits for it; without such a call it is a message.

        The outcome of an approval for which no call waits any more is dropped.
        """
        id, message = answered.question_id, received.header.id.hex()
        if self._answers.is_awaited(answered) or self._is_waited_for(answered):
            self._answers.put(
                ArrivedAnswer(answered, message, lambda: self._runtime.done(received))
            )
            return
        if answered.kind in ("approval", BUDGET) or answered.outcome == "withdrawn":
            dropped = StateChanged(
                what="dropped", message=message, answers=id, ts=self._context.now()
            )
            self._context.conversation.append(dropped)
            self._runtime.done(received)
            return
        content = late_answer_in_words(answered, self._runtime.config.questions.unanswered)
        name = shown_name(received.header.sender, "")
        self._put(received, TextMessage(content=content, from_name=name), answers=id)

    def _is_waited_for(self, answered: QuestionAnswered) -> bool:
        """Whether an open call waits for the answer, or will wait when it is repeated."""
        id = answered.question_id
        return not self._answers.was_abandoned(id) and any(
            id == wanted and is_about(answered, digest) for wanted, digest in self._waiting_for()
        )

    def _waiting_for(self) -> Iterator[tuple[QuestionId, str]]:
        """Yield the question of each open call, with the digest of the action it is about."""
        address = self._runtime.address
        for opened in self._context.transcript.open_calls:
            if opened.call.name == ASK_HUMAN:
                yield question_id(address, opened.key), ""
            if not opened.was_started:
                yield approval_id(address, opened.key), digest_of(opened.call)

    def _put(self, received: Received, text: TextMessage, answers: str = "") -> None:
        self._context.enqueue(
            received,
            text.from_name,
            text.content,
            mode=text.mode,
            quoted=text.quoted,
            answers=answers,
            facts={"in_reply_to": text.in_reply_to} if text.in_reply_to else {},
        )

    def _note(
        self, received: Received, what: Literal["paused", "stepped", "resumed", "dropped"]
    ) -> None:
        context = self._context
        message, now = received.header.id.hex(), context.now()
        context.conversation.append(StateChanged(what=what, message=message, ts=now))
        self._runtime.done(received)
        if what == "dropped":
            return
        context.follow_pause()
        context.report_pause(what, message)
        context.show_pause()
