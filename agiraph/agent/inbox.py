"""EntityInbox: messages that have arrived and wait for the entity's next yield point."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import InputReceived
from agiraph.agent.replies import header
from agiraph.core.ids import BOARD_NAME, HUMAN_NAME
from agiraph.core.models import Assignment, DeliveryMode
from agiraph.core.turns import JsonObject


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message on its way into a conversation; `done` acknowledges to the bus that it is recorded.

    `trigger` is the id of the trigger that fired the message, whose content then names it; `quoted`
    is the beginning of the message that it replies to, `answers` the question that it settles;
    `facts` are added to the event of its receipt. `assignment` is the changed assignment that it
    brings.
    """

    id: str
    from_name: str
    content: str
    mode: DeliveryMode
    done: Callable[[], None]
    trigger: str = ""
    quoted: str = ""
    answers: str = ""
    facts: JsonObject = field(default_factory=dict)
    assignment: Assignment | None = None

    def record(self, now: float) -> InputReceived:
        return InputReceived(
            content=self.shown,
            from_name=self.from_name,
            ts=now,
            message=self.id,
            trigger=self.trigger or None,
            answers=self.answers or None,
            assignment=self.assignment,
        )

    @property
    def event(self) -> tuple[str, JsonObject, str]:
        """The event of the message's receipt: its type, its data and its key."""
        return "message.received", {"from": self.from_name, "id": self.id, **self.facts}, self.id

    @property
    def shown(self) -> str:
        """The message as shown to the model, with its sender, which may be the board."""
        if self.from_name == BOARD_NAME:
            return f"[Board]: {self.content}"
        if self.trigger:
            return self.content
        return header(self.from_name, self.quoted) + self.content


class EntityInbox:
    """The waiting messages, in order of arrival.

    `arrived` is set while a steer or interrupt waits, `spoken` while a message of the human waits.
    `take_up` receives the ids of the messages that could enter together and returns how many of
    them may enter.
    """

    def __init__(self) -> None:
        self._waiting: list[IncomingMessage] = []
        self.arrived = asyncio.Event()
        self.spoken = asyncio.Event()
        self.urgent = asyncio.Event()
        self.take_up: Callable[[Sequence[str]], int] = len

    def put(self, incoming: IncomingMessage) -> None:
        """Queue a message; ignore a redelivery of a message that still waits."""
        if any(waiting.id == incoming.id for waiting in self._waiting):
            return
        self._waiting.append(incoming)
        self._wake(incoming)

    def _wake(self, incoming: IncomingMessage) -> None:
        if incoming.mode != "followup":
            self.arrived.set()
            if incoming.from_name == HUMAN_NAME:
                self.spoken.set()
        if incoming.mode == "interrupt":
            self.urgent.set()

    def take(self, *, with_followups: bool) -> list[IncomingMessage]:
        """Return and remove the messages that may enter the conversation now, in order."""
        taken = [m for m in self._waiting if with_followups or m.mode != "followup"]
        taken = taken[: self.take_up([m.id for m in taken])]
        self._waiting = [m for m in self._waiting if m not in taken]
        self.arrived.clear()
        self.spoken.clear()
        self.urgent.clear()
        for left in self._waiting:
            self._wake(left)
        return taken

    def take_into(
        self, conversation: Conversation, *, with_followups: bool
    ) -> list[IncomingMessage]:
        """Return the messages that enter `conversation` now, acknowledged after its next append.

        Messages that the conversation has already received are acknowledged at once and omitted.
        """
        taken = list[IncomingMessage]()
        for incoming in self.take(with_followups=with_followups):
            if conversation.transcript.has_seen(incoming.id):
                incoming.done()
                continue
            conversation.when_recorded(incoming.done)
            taken.append(incoming)
        return taken

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def has_followups(self) -> bool:
        """Whether messages wait that may enter only between two works (mode `followup`)."""
        return any(m.mode == "followup" for m in self._waiting)
