"""No message of any type brings a number that JSON cannot write, wherever in its body it is."""

import math
import typing
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agiraph.core.hosts import MachineFacts
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.body import Body
from agiraph.messages.host import RenewLease
from tests.unit.messages.test_messages import sample_of
from transport.codec import Codec
from transport.errors import MalformedBody

CODEC = Codec(MESSAGES)
NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf])
RENEWAL = {"sent_at": 1.0, "now": 2.0}

Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yield where the numbers of a body are."""
    match value:
        case float():
            yield at
        case dict():
            for key, inner in value.items():
                yield from places(inner, (*at, key))
        case list() | tuple():
            for number, inner in enumerate(value):
                yield from places(inner, (*at, number))


def with_number(value: Any, at: Place, number: object) -> Any:
    """Return a body with another number at a place."""
    if not at:
        return number
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[at[0]] = with_number(copied[at[0]], at[1:], number)
    return copied


def plain(model: type[Body]) -> Any:
    return msgpack.unpackb(CODEC.encode(sample_of(model)))


PLACES = [(model, at) for model in MESSAGES for at in places(plain(model))]


@given(st.sampled_from(PLACES), NOT_FINITE, st.booleans())
def test_a_number_of_a_message_is_finite(
    place: tuple[type[Body], Place], number: float, is_text: bool
) -> None:
    model, at = place
    body = with_number(plain(model), at, str(number) if is_text else number)
    with pytest.raises(MalformedBody):
        CODEC.decode(model.TYPE, msgpack.packb(body))


def test_every_float_of_a_record_is_finite() -> None:
    for model in MESSAGES:
        assert model.model_config.get("allow_inf_nan") is False


class FreeForm(BaseModel):
    TYPE: typing.ClassVar[str] = "free"
    data: dict[str, Any] = {}


VALUES = st.recursive(
    st.floats(width=32) | st.binary() | st.text() | st.integers(-(2**40), 2**40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_a_body_without_a_fixed_form_is_refused_for_such_numbers_alone(
    value: Any, is_short: bool
) -> None:
    packed = msgpack.packb({"data": {"x": value}}, use_single_float=is_short)
    finite = all(math.isfinite(found) for found in numbers(msgpack.unpackb(packed)))
    codec = Codec([FreeForm])
    if finite:
        assert codec.decode("free", packed) == FreeForm(
            data={"x": msgpack.unpackb(packed)["data"]["x"]}
        )
        return
    with pytest.raises(MalformedBody, match="not finite"):
        codec.decode("free", packed)


def numbers(value: Any) -> Iterator[float]:
    for at in places(value):
        found = value
        for step in at:
            found = found[step]
        yield found


@pytest.mark.parametrize(
    "wrong",
    [
        {"free_memory_bytes": -5},
        {"free_memory_bytes": 2**63},
        {"latency_seconds": -1.0},
        {"load": -0.1},
        {"now": -1.0},
        {"now": 1e300},
        {"processes": [{"address": "a/b", "incarnation": 1, "pid": -1}]},
        {"processes": [{"address": "a/b", "incarnation": 1, "pid": 1, "cpu_seconds": -1.0}]},
        {"facts": MachineFacts(version="1").model_dump() | {"memory_bytes": -1}},
    ],
)
def test_counts_and_seconds_of_a_host_are_not_negative(wrong: dict[str, Any]) -> None:
    with pytest.raises(MalformedBody, match=r"greater|less"):
        CODEC.decode(RenewLease.TYPE, msgpack.packb(RENEWAL | wrong))
