"""Context: requests of workers to read and change the context that their run shares.

Values travel as JSON text: numbers written by a model may be larger than msgpack allows.
"""

from typing import Literal

from agiraph.core.turns import JsonObject
from agiraph.messages.body import MessageBody


class ReadContext(MessageBody):
    """Request the value of a key. Worker to its coordinator."""

    TYPE = "context.read"
    key: str


class ListContext(MessageBody):
    """Request the list of keys. Worker to its coordinator."""

    TYPE = "context.list"


class ContextShown(MessageBody):
    """An entry with value, version, writer and time, or the rows of all keys, as JSON text."""

    TYPE = "context.shown"
    text: str


class ChangeContext(MessageBody):
    """Replace the value of a key, or append to its list; `value` is JSON text."""

    TYPE = "context.change"
    DURABLE = True
    way: Literal["write", "append"]
    key: str
    value: str


class ContextChanged(MessageBody):
    """The change was recorded. Coordinator to the requester."""

    TYPE = "context.changed"
    DURABLE = True
    receipt: JsonObject
