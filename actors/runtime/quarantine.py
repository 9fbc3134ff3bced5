"""Quarantine: a message that has crashed its receiver repeatedly is not delivered again.

It goes to the human gateway as a dead letter. The gateway keeps it and sends it back
(`control.retry`) when a person requests that. The sender of a request is refused with the cause;
nothing loops.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from actors.runtime.crash_counter import LIMIT, CrashCounter
from actors.runtime.message_queue import is_durable
from agiraph.core.concurrency import Signal
from agiraph.core.ids import HUMAN, derived_message_id
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.control import DeadLetter, RefusedReply, RetryLetter
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.envelope import VERSION, Flag, Header
from transport.errors import TransportError

SetAside = Callable[[Received, str], Awaitable[None]]


class Quarantine:
    """The quarantine of one actor.

    `on_set_aside` is called with each quarantined message and the reason, after its dead letter
    has been sent and before the message is acknowledged.
    """

    def __init__(
        self, endpoint: Endpoint, attempts: CrashCounter, incarnation: int, log: Any
    ) -> None:
        self.attempts = attempts
        self.on_set_aside: SetAside | None = None
        self._endpoint = endpoint
        self._incarnation = incarnation
        self._log = log
        self._carriers: dict[bytes, Received] = {}
        self._going: set[bytes] = set()
        """The messages that are being made dead letters."""
        self._has_gone = Signal()

    def wants(self, received: Received) -> bool:
        """Whether a message must be quarantined: it has crashed this actor repeatedly."""
        return (
            is_durable(received)
            and not isinstance(received.body, DeadLetter)
            and self.attempts.is_poison(received.header.id.hex())
        )

    async def opened(self, received: Received) -> Received:
        """Return a message, or the message inside a letter that is sent back from the dead letters.

        A message that comes back before its quarantine is complete waits for that: the completion
        would acknowledge it, too.
        """
        body = received.body
        if not isinstance(body, RetryLetter) or received.header.sender != HUMAN:
            return received
        await self._has_gone.until(lambda: body.letter.letter not in self._going)
        again = message_in(body.letter)
        self._carriers[again.header.id] = received
        return again

    def carrier_of(self, received: Received) -> Received | None:
        """Return the letter that brought a message back, once, to be acknowledged with it."""
        return self._carriers.pop(received.header.id, None)

    async def add(self, received: Received) -> None:
        """Send a message to the gateway as a dead letter; the caller then acknowledges it.

        It is safe to interrupt and repeat this.
        """
        self._going.add(received.header.id)
        try:
            await self._set_aside(received)
        finally:
            self._going.discard(received.header.id)
            self._has_gone.set()

    async def _set_aside(self, received: Received) -> None:
        header, cause = received.header, self.attempts.last_end or "it ended its receiver before"
        reason = f"this {header.type} has ended {self._endpoint.address} {LIMIT} times: {cause}"
        self._log.error("message set aside", type=header.type, sender=header.sender, cause=cause)
        letter = letter_of(received, self._endpoint.address, reason)
        key = f"dead.{header.id.hex()}.{self._incarnation}"
        identity = derived_message_id(self._endpoint.address, key)
        await self._endpoint.send(HUMAN, letter, id=identity)
        if self.on_set_aside is not None:
            await self.on_set_aside(received, reason)
        if header.flags & Flag.ASK:
            try:
                await self._endpoint.reply(received, RefusedReply(reason=reason, kind="Poison"))
            except TransportError as error:
                self._log.warning("nobody takes the refusal", reason=str(error))
        self.attempts.forget(header.id.hex())


def letter_of(received: Received, receiver: str, cause: str) -> DeadLetter:
    """Return a message as a dead letter."""
    header = received.header
    return DeadLetter(
        letter=header.id,
        to=receiver,
        type=header.type,
        sender=header.sender,
        incarnation=header.incarnation,
        reply_to=header.reply_to,
        sent_at=header.sent_at,
        flags=int(header.flags),
        content=Codec(MESSAGES).encode(received.body),
        cause=cause,
    )


def message_in(letter: DeadLetter) -> Received:
    """Return the message in a letter; raises UnknownType, MalformedBody."""
    header = Header(
        version=VERSION,
        id=letter.letter,
        type=letter.type,
        to=letter.to,
        sender=letter.sender,
        incarnation=letter.incarnation,
        reply_to=letter.reply_to,
        sent_at=letter.sent_at,
        flags=letter.flags,
        trace=None,
    )
    body: BaseModel = Codec(MESSAGES).decode(letter.type, letter.content)
    return Received(header, body)
