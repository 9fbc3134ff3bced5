"""The envelope refuses unreadable values, and never passes invalid bytes on."""

from dataclasses import replace
from typing import Any

import msgpack
import pytest

from transport.envelope import MAX_BLOB, Flag, Header, body_of, pack, read_header, read_map
from transport.errors import MalformedFrame

HEADER = Header(1, bytes(16), "text", "bob", "ada", 1, None, 1.5, int(Flag.DURABLE), None)


def test_packed_message_is_read_back() -> None:
    blob = pack(HEADER, b"body")
    assert read_header(blob) == HEADER
    assert body_of(blob) == b"body"


def test_fields_that_a_newer_version_appends_are_ignored() -> None:
    head = msgpack.packb([1, bytes(16), "text", "bob", "ada", 1, None, 1.5, 1, None, "new", 7])
    assert read_header(len(head).to_bytes(2, "big") + head + b"x") == HEADER


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": True},
        {"id": b"short"},
        {"type": ""},
        {"to": "x" * 256},
        {"sender": b"ada"},
        {"incarnation": -1},
        {"incarnation": 2**63},
        {"incarnation": 1.0},
        {"reply_to": b"short"},
        {"sent_at": float("nan")},
        {"sent_at": 1},
        {"flags": 256},
        {"trace": 3},
        {"to": "\ud800"},
    ],
)
def test_a_header_with_a_wrong_field_cannot_be_packed(changes: dict[str, Any]) -> None:
    with pytest.raises(MalformedFrame):
        pack(replace(HEADER, **changes), b"")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xc1",
        msgpack.packb({}),
        msgpack.packb([]),
        msgpack.packb([1, bytes(16)]),
        b"\x91" * 5_000,
        msgpack.packb([1, bytes(16), "text", "bob", "ada", {}, None, 1.5, 1, None]),
        msgpack.packb([1, bytes(16), "text", "bob", "ada", msgpack.ExtType(1, b"x"), 0, 1, 1, 0]),
        b"\xdd\xff\xff\xff\xff",
    ],
)
def test_a_header_that_is_something_else_is_malformed(head: bytes) -> None:
    with pytest.raises(MalformedFrame):
        read_header(len(head).to_bytes(2, "big") + head)


def test_truncated_or_too_large_blob_is_malformed() -> None:
    blob = pack(HEADER, b"")
    for odd in (b"", b"\x00", blob[:-1], blob + bytes(MAX_BLOB)):
        with pytest.raises(MalformedFrame):
            read_header(odd)


@pytest.mark.parametrize(
    "body", [b"", b"\x90", b"\x81\x01\x02", b"\x81" * 3_000, b"\x82\xa1a", b"\xa1a"]
)
def test_link_body_that_is_not_a_map_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedFrame):
        read_map(body)
