"""MessageDispatcher: takes each message that reaches an entity to the place where it belongs."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Literal

from actors.entity.messenger import EntityContext
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
from agiraph.agent.inbox import IncomingMessage
from agiraph.agent.loop import PauseSwitch
from agiraph.agent.records import StateNoted
from agiraph.core.ids import QuestionId, coordinator_address, derived_message_id
from agiraph.core.models import BUDGET
from agiraph.messages import (
    ModelDelta,
    Pause,
    QuestionAnswered,
    Resume,
    TextMessage,
    ToolProgress,
)
from agiraph.messages.authorization import shown_name
from transport.endpoint import Received

Handler = Callable[[Received], Awaitable[None]]


class MessageDispatcher:
    """The front desk of one entity; `handler` takes what is particular to its kind."""

    def __init__(
        self,
        entity_context: EntityContext,
        gate: PauseSwitch,
        model_client: BrokerModelClient,
        answers: ArrivedAnswers,
        handler: Handler,
    ) -> None:
        """Receive for `entity_context`."""
        self._entity = entity_context
        self._runtime = entity_context.runtime
        self._gate = gate
        self._model_client = model_client
        self._answers = answers
        self._handler = handler
        entity_context.inbox.take_up = self._runtime.take_up

    async def run(self) -> None:
        """Receive for as long as the process lives."""
        while True:
            await self._take(await self._runtime.receive())

    async def _take(self, received: Received) -> None:
        body, sender = received.body, received.header.sender
        if self._entity.transcript.has_seen(received.header.id.hex()):
            self._runtime.done(received)
            return
        match body:
            case ModelDelta():
                self._model_client.hear_delta(body)
            case ToolProgress(call=call, text=text):
                self._show_progress(call, text)
            case TextMessage(from_name=claimed):
                name = shown_name(sender, claimed)
                self._hear(received, body.model_copy(update={"from_name": name}))
            case QuestionAnswered():
                self._take_answer(received, body)
            case Pause():
                self._gate.shut()
                self._note(received, "paused")
            case Resume():
                self._gate.open()
                self._note(received, "resumed")
            case _:
                await self._handler(received)

    def _show_progress(self, call: bytes, text: str) -> None:
        """Show how far the call that runs now has come."""
        address = self._runtime.address
        for opened in self._entity.transcript.open_calls[:1]:
            if derived_message_id(address, opened.key) == call:
                self._entity.show("busy", f"{opened.call.name}: {text}"[:STEP_LIMIT])

    def _take_answer(self, received: Received, answered: QuestionAnswered) -> None:
        """Give an answer to the call that waits for it; if none does, it is a message.

        What became of an approval that nobody waits for any more is of no use to anybody.
        """
        id, message = answered.question_id, received.header.id.hex()
        if self._answers.is_awaited(answered) or self._is_waited_for(answered):
            self._answers.put(
                ArrivedAnswer(answered, message, lambda: self._runtime.done(received))
            )
            return
        if answered.kind in ("approval", BUDGET) or answered.outcome == "withdrawn":
            now = self._runtime.clock.now()
            self._entity.conversation.append(StateNoted(what="dropped", message=message, ts=now))
            self._runtime.done(received)
            return
        content = late_answer_in_words(answered, self._runtime.config.questions.unanswered)
        name = shown_name(received.header.sender, "")
        self._hear(received, TextMessage(content=content, from_name=name), answers=id)

    def _is_waited_for(self, answered: QuestionAnswered) -> bool:
        """Whether an open call waits for the answer, or will when it is run again."""
        id = answered.question_id
        return not self._answers.was_left(id) and any(
            id == wanted and is_about(answered, digest) for wanted, digest in self._waiting_for()
        )

    def _waiting_for(self) -> Iterator[tuple[QuestionId, str]]:
        """Yield what open calls ask, each with the digest of the deed that it is asked for."""
        address = self._runtime.address
        for opened in self._entity.transcript.open_calls:
            if opened.call.name == ASK_HUMAN:
                yield question_id(address, opened.key), ""
            if not opened.was_started:
                yield approval_id(address, opened.key), digest_of(opened.call)

    def _hear(self, received: Received, text: TextMessage, answers: str = "") -> None:
        self._entity.inbox.put(
            IncomingMessage(
                id=received.header.id.hex(),
                from_name=text.from_name,
                content=text.content,
                mode=text.mode,
                done=lambda: self._runtime.done(received),
                quoted=text.quoted,
                answers=answers,
                facts={"in_reply_to": text.in_reply_to} if text.in_reply_to else {},
            )
        )

    def _note(self, received: Received, what: Literal["paused", "resumed"]) -> None:
        message, now = received.header.id.hex(), self._runtime.clock.now()
        self._entity.conversation.append(StateNoted(what=what, message=message, ts=now))
        self._runtime.done(received)
        is_coordinator = self._runtime.address == coordinator_address(self._entity.agent)
        paused = "agent.paused" if is_coordinator else "worker.paused"
        resumed = "agent.resumed" if is_coordinator else "worker.resumed"
        self._entity.report(paused if what == "paused" else resumed, {}, message)
        self._entity.show("paused" if what == "paused" else "idle", "")
