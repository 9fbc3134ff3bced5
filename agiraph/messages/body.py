"""MessageBody: the base of all message bodies; each has a TYPE, and is durable or passing."""

from typing import ClassVar

from agiraph.core.record import Record


class MessageBody(Record):
    """Base of all message bodies."""

    TYPE: ClassVar[str]
    DURABLE: ClassVar[bool] = False
    IS_REFUSAL: ClassVar[bool] = False
