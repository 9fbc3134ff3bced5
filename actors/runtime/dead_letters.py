"""Dead letters: messages that have ended their receiver again and again, set aside whole.

A letter holds the message as it came, so that its receiver can be handed it again when a person
says so.
"""

from pydantic import BaseModel

from agiraph.messages import MESSAGES, DeadLetter
from transport.codec import Codec
from transport.endpoint import Received
from transport.envelope import VERSION, Header


def letter_of(received: Received, receiver: str, cause: str) -> DeadLetter:
    """Return a message as the letter that is kept of it."""
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
    """Return the message that a letter holds; raises UnknownType, MalformedBody."""
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
