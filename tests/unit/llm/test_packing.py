"""The constant part of every model call is packed once, and read once."""

import pytest
from pydantic import ValidationError

from agiraph.core.turns import ToolSchema, UserTurn
from agiraph.llm.packing import Packer, Unpacker
from agiraph.tools.toolbox import Toolbox

TURNS = [UserTurn(content="a"), UserTurn(content="b")]


def test_turns_are_packed_once_up_to_their_first_difference() -> None:
    packer = Packer()
    first = packer.pack(TURNS)
    assert packer.pack([*TURNS, UserTurn(content="c")])[:2] == first
    assert packer.pack([TURNS[0], UserTurn(content="d")])[0] is first[0]
    assert Unpacker().unpack(first) == tuple(TURNS)


def test_tools_are_packed_once_and_the_same_bytes_are_the_same_object() -> None:
    packer, unpacker = Packer(), Unpacker()
    odd = ToolSchema(name="x", description="é 😀", parameters={"type": "object"})
    tools = (*Toolbox.for_entity("worker", None).schemas(), odd)
    packed = packer.pack_tools(tools)
    assert packer.pack_tools(tools) is packed
    assert unpacker.unpack_tools(packed) == tools
    assert unpacker.unpack_tools(bytes(bytearray(packed))) is unpacker.unpack_tools(packed)
    assert packer.pack_tools(tools[:1]) != packed
    assert (packer.pack_tools(()), unpacker.unpack_tools(b"")) == (b"", ())


def test_no_more_is_kept_than_its_bound_allows() -> None:
    unpacker = Unpacker(kept_bytes=1)
    packed = Packer().pack(TURNS)
    first, second = unpacker.unpack(packed)
    assert unpacker.unpack(packed)[0] is not first
    assert (first, second) == tuple(TURNS)


@pytest.mark.parametrize("packed", [b"", b"[]", b"{", b'{"role": "nobody"}'])
def test_invalid_turn_is_refused(packed: bytes) -> None:
    with pytest.raises(ValidationError):
        Unpacker().unpack([packed])


@pytest.mark.parametrize("packed", [b"{}", b'[{"name": 1}]', b"[1]"])
def test_invalid_tools_are_refused(packed: bytes) -> None:
    with pytest.raises(ValidationError):
        Unpacker().unpack_tools(packed)
