"""Shared values: requests of workers to read and change the values that their run shares.

Values travel as JSON text: numbers written by a model may be larger than msgpack allows.
"""

from typing import Literal

from agiraph.core.turns import JsonObject
from agiraph.messages.body import MessageBody


class ReadSharedValue(MessageBody):
    """Request the value of a key. Worker to its coordinator."""

    TYPE = "shared.read"
    key: str


class ListSharedValues(MessageBody):
    """Request the list of keys. Worker to its coordinator."""

    TYPE = "shared.list"


class SharedValuesShown(MessageBody):
    """An entry with value, version, writer and time, or the rows of all keys, as JSON text."""

    TYPE = "shared.shown"
    text: str


class ChangeSharedValue(MessageBody):
    """Replace the value of a key, or append to its list; `value` is JSON text."""

    TYPE = "shared.change"
    DURABLE = True
    way: Literal["write", "append"]
    key: str
    value: str


class SharedValueChanged(MessageBody):
    """The change was recorded. Coordinator to the requester."""

    TYPE = "shared.changed"
    DURABLE = True
    receipt: JsonObject
