"""Messenger: the part of a team that coordinator and workers share: messages and questions."""

import asyncio
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from actors.entity.idle_parking import IdleParking
from actors.entity.questions import (
    ASK_HUMAN,
    ArrivedAnswer,
    ArrivedAnswers,
    ask,
    question_id,
    withdraw,
)
from actors.runtime.runtime import Runtime
from agiraph.agent.answers import answer_in_words, asked_in_words, spoken_in_words
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox, IncomingMessage
from agiraph.agent.loop import CallEffects
from agiraph.agent.replies import ReplyReference, key_of
from agiraph.agent.transcript import Transcript
from agiraph.core.channel_settings import check_channel
from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.ids import (
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    Address,
    AgentId,
    QuestionId,
    coordinator_address,
    derived_message_id,
    message_id,
    slug,
)
from agiraph.core.models import DeliveryMode
from agiraph.core.turns import JsonObject
from agiraph.messages import AskQuestion, QuestionAnswered, TextMessage
from agiraph.tools.ports import NewQuestion
from transport.errors import Nacked

SHOWN_CHARACTERS = 2000
BORN_WITHIN_SECONDS = 3.0
LOOK_AGAIN_SECONDS = 0.05
NOTHING = ReplyReference()


class EntityContext(Protocol):
    """The entity that talks, as far as its tools need to know it."""

    name: str
    agent: AgentId
    runtime: Runtime
    inbox: EntityInbox
    conversation: Conversation
    patience: IdleParking

    @property
    def transcript(self) -> Transcript:
        """Return what the entity has been through."""
        ...

    async def roster(self) -> dict[str, Address]:
        """Return the addresses of the team's workers, under their names and their ids."""
        ...

    def report(self, event: str, data: JsonObject, key: str = "") -> None:
        """Tell the world that something happened; told again with the same key it is one event."""
        ...

    def show(self, state: str, step: str) -> None:
        """Show what is being done right now."""
        ...

    def standing_still(self) -> AbstractContextManager[None]:
        """Stop the entity's deadline inside this block."""
        ...


class Messenger:
    """How one entity talks."""

    def __init__(self, entity_context: EntityContext, answers: ArrivedAnswers) -> None:
        """Talk for `entity_context`."""
        self._entity = entity_context
        self._runtime = entity_context.runtime
        self._conversation = entity_context.conversation
        self._inbox = entity_context.inbox
        self._answers = answers
        self._shown: list[IncomingMessage] = []
        self._asked: QuestionId | None = None
        self.heard_answer: str | None = None

    async def send_message(self, call_id: str, to: str, content: str, mode: DeliveryMode) -> None:
        """Send text; return once the router holds it. Raises Refused for an unknown name."""
        if not content.strip():
            raise InvalidInput("content is empty: there is nothing to send")
        for number, (name, address) in enumerate(await self._recipients(to)):
            link = self._entity.transcript.unanswered.get(key_of(name), NOTHING)
            text = TextMessage(
                content=content,
                from_name=self._entity.name,
                to_name=name,
                mode=mode,
                in_reply_to=link.message,
                quoted=link.quoted,
            )
            message = derived_message_id(self._runtime.address, call_id, number)
            try:
                await self._deliver(address, text, message)
            except Nacked as error:
                raise Refused(f"{name} did not get it: {error}") from None
            shown = content[:SHOWN_CHARACTERS]
            data = {"from": self._entity.name, "to": name, "content": shown}
            data |= {"in_reply_to": link.message} if link.message else {}
            self._entity.report("message.sent", data, message.hex())

    async def _deliver(self, address: Address, text: TextMessage, message: bytes) -> None:
        """Send text to one of the team: one who has just been spawned may not be known yet."""
        waited = 0.0
        while True:
            try:
                await self._runtime.send(address, text, id=message)
                return
            except Nacked as error:
                if error.reason != "unknown_recipient" or waited >= BORN_WITHIN_SECONDS:
                    raise
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            waited += LOOK_AGAIN_SECONDS

    async def check_messages(self, call_id: str) -> list[str]:
        """Return what has arrived; it counts as seen once this call's result is recorded."""
        taken = list[IncomingMessage]()
        for incoming in self._inbox.take(with_followups=False):
            if self._conversation.transcript.has_seen(incoming.id):
                incoming.done()
                continue
            taken.append(incoming)
            self._conversation.when_recorded(incoming.done)
            self._shown.append(incoming)
            told = {"from": incoming.from_name, "id": incoming.id, **incoming.facts}
            self._entity.report("message.received", told, incoming.id)
        return [incoming.shown for incoming in taken]

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        """Ask; wait for the answer, however long it takes, unless the question need not wait.

        One that waits stays open when it is interrupted, or when the human writes something else
        first: its answer then comes as a message.
        """
        if not question.question.strip():
            raise InvalidInput("question is empty")
        check_channel(question.channel, self._runtime.config.channels)
        identity = question_id(self._runtime.address, call_id)
        body = AskQuestion(
            question_id=identity,
            agent=self._entity.agent,
            from_name=self._entity.name,
            question=question.question,
            channel=question.channel,
            options=question.options,
            deadline_seconds=question.deadline_seconds,
            default=question.default,
            urgency=question.urgency,
        )
        await ask(self._runtime, body, call_id)
        self._asked = identity
        if not question.waits:
            return asked_in_words(identity)
        asking = f"asks: {question.question[:80]}"
        answered = await self._answer_or_word(identity, asking)
        if answered is None:
            return spoken_in_words(identity)
        self._asked = None
        return answer_in_words(answered, self._runtime.config.questions.unanswered)

    async def ask_with_others(self, body: AskQuestion, shown: str) -> QuestionAnswered:
        """Put a question that others of the agent put, too; wait for what becomes of it.

        It may be answered already, by a person or by what he has allowed for always.
        """
        digest = body.about.digest if body.about else ""
        with self._answers.expecting(body.question_id, digest):
            await self._runtime.send(HUMAN, body, id=message_id())
            return await self.answer_to(body.question_id, shown, digest)

    async def answer_to(
        self, question: QuestionId, shown: str, digest: str = ""
    ) -> QuestionAnswered:
        """Wait for what becomes of a question; it counts as heard once the next record stands.

        `digest` is that of the deed that it is asked for, if it is for one.
        """
        with self._waiting(shown):
            [taken] = await self._entity.patience.first_of(self._answers.take(question, digest))
        return self._heard(taken.result())

    async def _answer_or_word(self, question: QuestionId, shown: str) -> QuestionAnswered | None:
        """Like `answer_to`, but None if the human writes something else first."""
        with self._waiting(shown):
            taken, _ = await self._entity.patience.first_of(
                self._answers.take(question), self._inbox.spoken.wait()
            )
        return None if taken.cancelled() else self._heard(taken.result())

    def _waiting(self, shown: str) -> AbstractContextManager[None]:
        self._entity.show("waiting_for_human", shown)
        return self._entity.standing_still()

    def _heard(self, arrived: ArrivedAnswer) -> QuestionAnswered:
        self._runtime.take_up([arrived.message])
        self._conversation.when_recorded(arrived.done)
        self.heard_answer = arrived.message
        return arrived.answered

    async def until_message(self) -> None:
        """Wait for a message; the deadline stands still if it is the human that is waited for."""
        is_for_human = bool(self._entity.transcript.pending)
        if is_for_human:
            self._entity.show("waiting_for_human", "for an answer")
        with self._entity.standing_still() if is_for_human else nullcontext():
            await self._entity.patience.first_of(self._inbox.arrived.wait())

    async def withdraw_all(self, reason: str) -> None:
        """Withdraw every question of this entity that is still open: nobody needs its answer."""
        address, transcript = self._runtime.address, self._entity.transcript
        asking = [o.key for o in transcript.open_calls if o.call.name == ASK_HUMAN]
        open_ids = [QuestionId(id) for id in transcript.pending]
        open_ids += [question_id(address, key) for key in asking]
        for id in dict.fromkeys(open_ids):
            await withdraw(self._runtime, id, reason)

    def take_effects(self) -> CallEffects:
        """Return the messages that the last call has shown, and forget them."""
        answer = () if self.heard_answer is None else (self.heard_answer,)
        effects = CallEffects(
            messages=(*answer, *(incoming.id for incoming in self._shown)),
            human=tuple(i.shown for i in self._shown if i.from_name == HUMAN_NAME),
            asked=self._asked,
        )
        self._shown.clear()
        self._asked = self.heard_answer = None
        return effects

    async def _recipients(self, to: str) -> list[tuple[str, Address]]:
        wanted = to.strip().lstrip("@")
        if wanted.lower() == HUMAN_NAME:
            return [(HUMAN_NAME, HUMAN)]
        coordinator = coordinator_address(self._entity.agent)
        is_coordinator = self._runtime.address == coordinator
        if wanted.lower() == COORDINATOR_NAME and not is_coordinator:
            return [(COORDINATOR_NAME, coordinator)]
        roster = await self._entity.roster()
        mates = {name: a for name, a in roster.items() if a != self._runtime.address}
        if wanted == "*":
            everyone = {address: name for name, address in mates.items()}
            if not is_coordinator:
                everyone[coordinator] = COORDINATOR_NAME
            return [(name, address) for address, name in sorted(everyone.items())]
        address = mates.get(wanted) or mates.get(slug(wanted))
        if address is None:
            raise unknown("recipient", to, [*mates, COORDINATOR_NAME, HUMAN_NAME, "*"])
        return [(wanted, address)]
