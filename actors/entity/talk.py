"""Talk: the part of a team that coordinator and workers share: messages and questions."""

from contextlib import AbstractContextManager
from typing import Protocol

from actors.entity.patience import Patience
from actors.entity.questions import Answers, ask_human
from actors.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import Inbox, Incoming
from agiraph.agent.loop import Effects
from agiraph.agent.transcript import Transcript
from agiraph.errors import InvalidInput, Refused, unknown
from agiraph.ids import (
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    Address,
    AgentId,
    coordinator_address,
    derived_message_id,
    slug,
)
from agiraph.messages import Text
from agiraph.models import DeliveryMode
from agiraph.turns import JsonObject
from transport.errors import Nacked

SHOWN_CHARACTERS = 2000


class Speaker(Protocol):
    """The entity that talks, as far as its tools need to know it."""

    name: str
    agent: AgentId
    runtime: Runtime
    inbox: Inbox
    conversation: Conversation
    patience: Patience

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


class Talk:
    """How one entity talks."""

    def __init__(self, speaker: Speaker, answers: Answers) -> None:
        """Talk for `speaker`."""
        self._speaker = speaker
        self._runtime = speaker.runtime
        self._conversation = speaker.conversation
        self._inbox = speaker.inbox
        self._answers = answers
        self._shown: list[Incoming] = []

    async def send_message(self, call_id: str, to: str, content: str, mode: DeliveryMode) -> None:
        """Send text; return once the router holds it. Raises Refused for an unknown name."""
        if not content.strip():
            raise InvalidInput("content is empty: there is nothing to send")
        for number, (name, address) in enumerate(await self._recipients(to)):
            text = Text(content=content, from_name=self._speaker.name, to_name=name, mode=mode)
            message = derived_message_id(self._runtime.address, call_id, number)
            try:
                await self._runtime.send(address, text, id=message)
            except Nacked as error:
                raise Refused(f"{name} did not get it: {error}") from None
            shown = content[:SHOWN_CHARACTERS]
            data = {"from": self._speaker.name, "to": name, "content": shown}
            self._speaker.report("message.sent", data, message.hex())

    async def check_messages(self, call_id: str) -> list[str]:
        """Return what has arrived; it counts as seen once this call's result is recorded."""
        taken = [
            incoming
            for incoming in self._inbox.take(with_followups=False)
            if not self._conversation.transcript.has_seen(incoming.id)
        ]
        for incoming in taken:
            self._conversation.when_recorded(incoming.done)
            self._shown.append(incoming)
            told = {"from": incoming.from_name, "id": incoming.id, **incoming.facts}
            self._speaker.report("message.received", told, incoming.id)
        return [incoming.shown for incoming in taken]

    async def ask_human(self, call_id: str, question: str, channel: str) -> str:
        """Ask and wait for the answer, however long it takes."""
        if not question.strip():
            raise InvalidInput("question is empty")
        self._speaker.show("waiting_for_human", question[:80])
        with self._speaker.standing_still():
            asking = ask_human(
                self._runtime,
                self._conversation,
                self._answers,
                agent=self._speaker.agent,
                from_name=self._speaker.name,
                key=call_id,
                question=question,
                channel=channel,
            )
            [answered] = await self._speaker.patience.first_of(asking)
            return str(answered.result())

    def take_effects(self) -> Effects:
        """Return the messages that the last call has shown, and forget them."""
        effects = Effects(
            messages=tuple(incoming.id for incoming in self._shown),
            human=tuple(i.shown for i in self._shown if i.from_name == HUMAN_NAME),
        )
        self._shown.clear()
        return effects

    async def _recipients(self, to: str) -> list[tuple[str, Address]]:
        wanted = to.strip().lstrip("@")
        if wanted.lower() == HUMAN_NAME:
            return [(HUMAN_NAME, HUMAN)]
        coordinator = coordinator_address(self._speaker.agent)
        is_coordinator = self._runtime.address == coordinator
        if wanted.lower() == COORDINATOR_NAME and not is_coordinator:
            return [(COORDINATOR_NAME, coordinator)]
        roster = await self._speaker.roster()
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
