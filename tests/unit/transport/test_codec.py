"""Bodies survive encoding; an invalid body is reported without its values."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import msgpack
import pytest
from pydantic import BaseModel

from transport.codec import Codec
from transport.errors import MalformedBody, UnknownType


class Colour(Enum):
    RED = "red"


class Note(BaseModel):
    TYPE: ClassVar[str] = "note"
    n: int = 0
    data: bytes = b""
    names: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    at: datetime | None = None
    colour: Colour | None = None
    path: Path | None = None
    more: dict[str, Any] = {}


class Other(BaseModel):
    TYPE: ClassVar[str] = "other"


CODEC = Codec([Note])


def test_a_body_survives_with_its_bytes_and_richer_values() -> None:
    note = Note(
        n=-3,
        data=b"\x00\xff",
        names=("ä", "b"),
        marks=frozenset({"x"}),
        at=datetime(2026, 1, 2, tzinfo=UTC),
        colour=Colour.RED,
        path=Path("/a b"),
        more={"deep": [{"raw": b"\xfe"}, None, 1.5]},
    )
    assert CODEC.decode("note", CODEC.encode(note)) == note


def test_undecodable_file_name_in_a_message_is_replaced() -> None:
    body = CODEC.encode(Note(more={"file": "bad\udcff"}))
    assert CODEC.decode("note", body) == Note(more={"file": "bad?"})


def test_an_unknown_type_is_refused_both_ways() -> None:
    with pytest.raises(UnknownType):
        CODEC.encode(Other())
    with pytest.raises(UnknownType):
        CODEC.decode("other", b"\x80")


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="note"):
        Codec([Note, Note])


@pytest.mark.parametrize("value", [object(), 2**70, iter(()), {1: 2}])
def test_value_that_cannot_be_encoded_is_refused(value: object) -> None:
    if isinstance(value, dict | Iterator):
        # Keys that are no text can be written, but not read.
        with pytest.raises(MalformedBody):
            CODEC.decode("note", CODEC.encode(Note(more={"x": value})))
    else:
        with pytest.raises(MalformedBody):
            CODEC.encode(Note(more={"x": value}))


@pytest.mark.parametrize(
    "body", [b"", b"\xc1", b"\x90", b"\x91" * 5_000, b"\x80\x80", msgpack.packb({"n": "secret"})]
)
def test_a_body_that_does_not_fit_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody) as error:
        CODEC.decode("note", body)
    assert "secret" not in str(error.value)
