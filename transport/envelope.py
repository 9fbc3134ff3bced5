"""The envelope: the byte format of one message, with its sender and receiver.

    blob = 2-byte big-endian length of the header | header | body

The header is a msgpack array whose order is that of `Header`'s fields. New fields are only
appended, so an old reader ignores fields that it does not know. The router reads the header alone
and forwards the blob unchanged.
"""

from dataclasses import dataclass
from enum import IntFlag
from math import isfinite
from operator import attrgetter
from typing import Any, cast

import msgpack

from transport.errors import MalformedFrame

VERSION = 1
ID_BYTES = 16
NO_ID = bytes(ID_BYTES)
MAX_BLOB = 16 * 1024 * 1024
MAX_NAME = 255
MAX_HEADER_FIELDS = 32
FIELDS = 10
MAX_INCARNATION = 2**63 - 1

# The result of `read_fields`, in the order of the wire.
Fields = tuple[int, bytes, str, str, str, int, bytes | None, float, int, str | None]


class Flag(IntFlag):
    """Properties of a message that the router needs besides its addresses."""

    DURABLE = 1
    """Store it until the receiver acknowledges it as done."""
    TAP = 2
    """Set by the receiver on a copy of a message to another address."""
    ASK = 4
    """The sender waits for an answer: it is notified at once if the receiver is absent."""


@dataclass(frozen=True, slots=True)
class Header:
    """Sender, receiver and type. `incarnation` is the sender's; `sent_at` is wall-clock seconds."""

    version: int
    id: bytes
    type: str
    to: str
    sender: str
    incarnation: int
    reply_to: bytes | None = None
    sent_at: float = 0.0
    flags: int = 0
    trace: str | None = None

    @property
    def is_durable(self) -> bool:
        """Whether the message is stored in a mailbox until it is done."""
        return bool(self.flags & Flag.DURABLE)

    @property
    def is_tap(self) -> bool:
        """Whether the message is the recorder's copy of a message to another address."""
        return bool(self.flags & Flag.TAP)


_FIELDS_OF = attrgetter(*Header.__dataclass_fields__)  # dataclasses.astuple copies deeply


def pack(header: Header, body: bytes) -> bytes:
    """Return the blob of a message. Raises MalformedFrame if `header` could not be read back."""
    fields = cast(Fields, _FIELDS_OF(header))
    if not _fits(fields):
        raise MalformedFrame(f"not a header: {header}")
    return pack_fields(fields, body)


def pack_fields(fields: Fields, body: bytes) -> bytes:
    """Return the blob for header fields that are known to be valid."""
    try:
        head = cast(bytes, msgpack.packb(fields, use_bin_type=True))
    except UnicodeEncodeError as error:
        raise MalformedFrame(f"a header must be UTF-8: {error}") from error
    return len(head).to_bytes(2, "big") + head + body


def read_fields(blob: bytes) -> Fields:
    """Return the checked header fields of a blob. Raises MalformedFrame for any invalid field."""
    if len(blob) < 2:
        raise MalformedFrame("shorter than its length prefix")
    end = 2 + (blob[0] << 8 | blob[1])
    if end > len(blob):
        raise MalformedFrame("shorter than its header")
    try:
        fields = msgpack.unpackb(
            blob[2:end],
            use_list=False,
            max_array_len=MAX_HEADER_FIELDS,
            max_map_len=0,
            max_ext_len=0,
        )
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise MalformedFrame(f"header is not msgpack: {error}") from error
    if type(fields) is not tuple or len(fields) < FIELDS:
        raise MalformedFrame("header is not an array of ten fields")
    if len(fields) > FIELDS:
        fields = fields[:FIELDS]
    if not _fits(fields):
        raise MalformedFrame("header has a field of a wrong type or size")
    return cast(Fields, fields)


def read_header(blob: bytes) -> Header:
    """Return the header of a blob. Raises MalformedFrame for any invalid field, sizes included."""
    if len(blob) > MAX_BLOB:
        raise MalformedFrame(f"{len(blob)} bytes, at most {MAX_BLOB} are allowed")
    return Header(*read_fields(blob))


def body_of(blob: bytes) -> bytes:
    """Return the body of a blob whose header was read before."""
    return blob[2 + (blob[0] << 8 | blob[1]) :]


def read_map(body: bytes) -> dict[str, Any]:
    """Return a plain msgpack map with text keys, as `link.` bodies are. Raises MalformedFrame."""
    try:
        value = msgpack.unpackb(body)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise MalformedFrame(f"body is not msgpack: {error}") from error
    if type(value) is not dict or not all(type(key) is str for key in value):
        raise MalformedFrame("body is not a map with text keys")
    return value


def pack_map(body: dict[str, Any]) -> bytes:
    """Return the bytes of a plain map."""
    return cast(bytes, msgpack.packb(body, use_bin_type=True))


def _fits(fields: tuple[Any, ...]) -> bool:
    """Check types and sizes; `type() is` on purpose, because True is not a valid incarnation."""
    version, id_, type_, to, sender, incarnation, reply_to, sent_at, flags, trace = fields
    return (
        type(version) is int
        and version == VERSION
        and type(id_) is bytes
        and len(id_) == ID_BYTES
        and type(type_) is str
        and 0 < len(type_) <= MAX_NAME
        and type(to) is str
        and 0 < len(to) <= MAX_NAME
        and type(sender) is str
        and 0 < len(sender) <= MAX_NAME
        and type(incarnation) is int
        and 0 <= incarnation <= MAX_INCARNATION
        and (reply_to is None or (type(reply_to) is bytes and len(reply_to) == ID_BYTES))
        and type(sent_at) is float
        and isfinite(sent_at)
        and (type(flags) is int or type(flags) is Flag)
        and 0 <= flags <= 255
        and (trace is None or (type(trace) is str and len(trace) <= MAX_NAME))
    )
