"""Which JSON can be sent and stored, wherever it comes from."""

import json
from typing import Any

import msgpack
import pytest

from agiraph.core.ids import NodeId
from agiraph.core.record import NESTING, read_strict, why_not_stored
from agiraph.core.results import check_schema, json_in, read_result
from agiraph.core.turns import json_in as argument_in
from agiraph.external.text import JsonLinesReader
from agiraph.llm.wire.transcript import read_arguments
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.node import PublishNode
from transport.codec import Codec
from transport.errors import MalformedBody

DEEP = "[" * (NESTING + 1) + "]" * (NESTING + 1)
ODD = ("1e999", "-1e999", "NaN", "Infinity", "-Infinity", str(1 << 64), DEEP)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["{}", "[{}]", '{{"a": [1, {{"b": {}}}]}}'])
def test_a_value_that_cannot_be_stored_is_refused_by_every_reader(place: str, odd: str) -> None:
    text = place.format(odd)
    with pytest.raises(ValueError, match=r"."):
        read_strict(text)
    assert why_not_stored(json.loads(text))
    assert argument_in(text) == text
    assert read_result(text, {})[1].startswith("it is not JSON")
    assert read_arguments(text) == ({}, text)


@pytest.mark.parametrize("text", ["1e308", "-0.0", str((1 << 64) - 1), str(-(1 << 63)), "[[]]"])
def test_other_values_are_read_unchanged(text: str) -> None:
    assert read_strict(text) == json.loads(text)


@pytest.mark.parametrize("odd", ["1e999", "NaN", str(10**30)])
def test_a_schema_with_a_number_that_cannot_be_stored_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match="a schema may not have"):
        check_schema({"type": "number", "maximum": json.loads(odd)})


def test_object_with_an_unstorable_number_is_skipped() -> None:
    assert json_in('first {"n": 1e999}, then {"n": 2}', {"type": "object"}) == {"n": 2}


def test_non_finite_number_of_an_external_agent_is_read_as_none() -> None:
    assert JsonLinesReader().objects(b'{"a": 1e999, "b": NaN, "c": 1.5}\n') == [
        {"a": None, "b": None, "c": 1.5}
    ]


@pytest.mark.parametrize("odd", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("place", [lambda n: n, lambda n: [n], lambda n: {"a": [n]}])
def test_the_bus_carries_no_number_that_is_not_finite(place: Any, odd: float) -> None:
    codec = Codec(MESSAGES)
    body = PublishNode(node_id=NodeId("n"), attempt=1, summary="s", value=place(1.0))
    packed = codec.encode(body)
    assert codec.decode(body.TYPE, packed) == body
    odd_body = body.model_copy(update={"value": place(odd)})
    with pytest.raises(MalformedBody, match="not finite"):
        codec.encode(odd_body)
    with pytest.raises(MalformedBody, match="not finite"):
        codec.decode(body.TYPE, msgpack.packb(odd_body.model_dump()))
