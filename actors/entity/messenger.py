"""Messenger: the messages and questions that an entity sends."""

from contextlib import nullcontext

from actors.entity.context import EntityContext
from actors.entity.questions import (
    ASK_HUMAN,
    ArrivedAnswer,
    ArrivedAnswers,
    ask,
    question_id,
    withdraw,
)
from agiraph.agent.activity import FOR_ANSWER
from agiraph.agent.answers import answer_in_words, asked_in_words, spoken_in_words
from agiraph.agent.inbox import IncomingMessage
from agiraph.agent.loop import CallEffects
from agiraph.agent.replies import ReplyReference, key_of
from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.ids import (
    COORDINATOR_NAME,
    EVERYBODY,
    HUMAN,
    HUMAN_NAME,
    Address,
    QuestionId,
    message_id,
)
from agiraph.core.models import DeliveryMode
from agiraph.messages.question import AskQuestion, QuestionAnswered
from agiraph.messages.text import TextMessage
from agiraph.settings.channels import check_channel
from agiraph.tools.ports import NewQuestion
from transport.errors import Nacked

NOTHING = ReplyReference()


class Messenger:
    """The messages and questions of one entity."""

    def __init__(self, context: EntityContext, answers: ArrivedAnswers) -> None:
        self._context = context
        self._runtime = context.runtime
        self._answers = answers
        self._shown: list[IncomingMessage] = []
        self._asked: QuestionId | None = None
        self.received_answer: str | None = None

    async def send_message(
        self, call_id: str, to: str, content: str, mode: DeliveryMode
    ) -> tuple[str, ...]:
        """Send text; return its receivers when the router has accepted it.

        Raises Refused for an unknown name.
        """
        if not content.strip():
            raise InvalidInput("content is empty: there is nothing to send")
        recipients = await self._context.recipients(to)
        if not recipients and to.strip().lstrip("@") != EVERYBODY:
            names = [name for name in self._context.roster.names if name != self._context.name]
            raise unknown("recipient", to, [*names, COORDINATOR_NAME, HUMAN_NAME, EVERYBODY])
        first = self._context.message_id(call_id)
        for number, (name, address) in enumerate(recipients):
            link = self._context.transcript.mail.unanswered.get(key_of(name), NOTHING)
            message = self._context.message_id(call_id, number)
            await self._send_text(
                message, name, address, content, link, mode, first.hex() if number else ""
            )
        return tuple(name for name, _ in recipients)

    async def tell_human(self, content: str, about: str = "say") -> None:
        """Send text to the human, once per `about` at this step of the conversation."""
        message = self._context.message_id(f"{about}.{self._context.transcript.place}")
        await self._send_text(message, HUMAN_NAME, HUMAN, content, NOTHING)

    async def pass_on(self, answer: str) -> None:
        """Send `answer`, the last text of the model, to the human.

        The message id is that of the recorded text, so a repeated call sends no second message.
        """
        transcript = self._context.transcript
        message = bytes.fromhex(transcript.said_message)
        await self._send_text(message, HUMAN_NAME, HUMAN, answer, transcript.mail.spoke_to)

    async def _send_text(
        self,
        message: bytes,
        name: str,
        address: Address,
        content: str,
        link: ReplyReference,
        mode: DeliveryMode = "steer",
        copy_of: str = "",
    ) -> None:
        text = TextMessage(
            content=content,
            from_name=self._context.name,
            to_name=name,
            mode=mode,
            in_reply_to=link.message,
            quoted=link.quoted,
            copy_of=copy_of,
        )
        try:
            await self._context.send(address, text, message)
        except Nacked as error:
            raise Refused(f"{name} did not get it: {error}") from None
        data = {"from": self._context.name, "to": name, "content": content}
        data |= {"id": message.hex()} | ({"copy_of": copy_of} if copy_of else {})
        data |= {"in_reply_to": link.message} if link.message else {}
        self._context.report("message.sent", data, message.hex())

    def check_messages(self) -> list[str]:
        """Return the new messages; they count as read once the next record is written."""
        context = self._context
        taken = context.inbox.take_into(context.conversation, with_followups=False)
        self._shown.extend(taken)
        for incoming in taken:
            context.report(*incoming.event)
        return [incoming.shown for incoming in taken]

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        """Ask the human; return the outcome as text, at once if the question need not wait.

        A waiting question stays open if the wait is interrupted, or if the human writes another
        message first: the answer then arrives as a message.
        """
        if not question.question.strip():
            raise InvalidInput("question is empty")
        check_channel(question.channel, self._runtime.config.channels)
        identity = question_id(self._runtime.address, call_id)
        body = self._context.question(
            identity,
            question.question,
            question.options,
            channel=question.channel,
            deadline_seconds=question.deadline_seconds,
            default=question.default,
            urgency=question.urgency,
        )
        shown = f"asks: {question.question[:80]}"
        with self._context.waiting_for_human(shown) if question.waits else nullcontext():
            await ask(self._runtime, body, call_id)
            self._asked = identity
            if not question.waits:
                return asked_in_words(identity)
            taken, _ = await self._context.first_of(
                self._answers.take(identity), self._context.inbox.spoken.wait()
            )
        if taken.cancelled():
            return spoken_in_words(identity)
        self._asked = None
        answered = self._record_answer(taken.result())
        return answer_in_words(answered, self._runtime.config.questions.unanswered)

    async def ask_with_others(self, body: AskQuestion, shown: str) -> QuestionAnswered:
        """Ask a question that other entities of the agent ask, too; return its outcome.

        A paused entity continues only when it is resumed. A person, or an earlier permanent
        approval, may have answered the question already.
        """
        digest = body.about.digest if body.about else ""
        with (
            self._answers.expecting(body.question_id, digest),
            self._context.waiting_for_human(shown),
        ):
            await self._runtime.send(HUMAN, body, id=message_id())
            answered = await self._take_answer(body.question_id, digest)
        await self._context.pause_switch.until_resumed()
        return answered

    async def answer_to(
        self, question: QuestionId, shown: str, digest: str = ""
    ) -> QuestionAnswered:
        """Return the outcome of a question; it counts as received once the next record is written.

        A paused entity continues only when it is resumed. `digest` is the digest of the action that
        the question is about, if any.
        """
        with self._context.waiting_for_human(shown):
            answered = await self._take_answer(question, digest)
        await self._context.pause_switch.until_resumed()
        return answered

    def expect(self, question: QuestionId) -> None:
        """Keep the answer to a question that a repeated call will ask again, if it comes first."""
        self._answers.expect(question)

    async def _take_answer(self, question: QuestionId, digest: str) -> QuestionAnswered:
        [taken] = await self._context.first_of(self._answers.take(question, digest))
        return self._record_answer(taken.result())

    def _record_answer(self, arrived: ArrivedAnswer) -> QuestionAnswered:
        self._runtime.take_up([arrived.message])
        self._context.conversation.when_recorded(arrived.done)
        self.received_answer = arrived.message
        return arrived.answered

    async def until_message(self) -> None:
        """Wait for a message; no deadline runs while the entity waits for the human's answer."""
        context = self._context
        is_for_human = bool(context.transcript.mail.pending)
        with context.waiting_for_human(FOR_ANSWER) if is_for_human else nullcontext():
            await context.first_of(context.inbox.arrived.wait())

    async def withdraw_all(self, reason: str) -> None:
        """Withdraw all open questions of this entity, because no answer is needed any more."""
        address, transcript = self._runtime.address, self._context.transcript
        asking = [o.key for o in transcript.open_calls if o.call.name == ASK_HUMAN]
        open_ids = [QuestionId(id) for id in transcript.mail.pending]
        open_ids += [question_id(address, key) for key in asking]
        for id in dict.fromkeys(open_ids):
            await withdraw(self._runtime, id, reason)

    def take_effects(self) -> CallEffects:
        """Return the messages that the last call has shown, and clear them."""
        answer = () if self.received_answer is None else (self.received_answer,)
        effects = CallEffects(
            messages=(*answer, *(incoming.id for incoming in self._shown)),
            human=tuple(i.shown for i in self._shown if i.from_name == HUMAN_NAME),
            asked=self._asked,
        )
        self._shown.clear()
        self._asked = self.received_answer = None
        return effects
