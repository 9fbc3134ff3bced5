"""Packing: turns and tools as bytes for the broker, so that a long conversation costs little.

The complete conversation is sent to the broker with every call, with all tools, and only its end is
new. So each turn, and the tools together, are packed once by the entity, and read once by the
broker; in between they are opaque bytes. The packed form is JSON.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar, cast

from pydantic import TypeAdapter

from agiraph.core.record import union_adapter
from agiraph.core.turns import ToolSchema, Turn

KEPT_BYTES = 64 << 20

TURN: TypeAdapter[Turn] = union_adapter(Turn)
TOOLS: TypeAdapter[tuple[ToolSchema, ...]] = union_adapter(tuple[ToolSchema, ...])

T = TypeVar("T")


def pack_turn(turn: Turn) -> bytes:
    """Return one turn as JSON bytes."""
    return json.dumps(turn.model_dump(), ensure_ascii=False).encode("utf-8", "replace")


class Packer:
    """Packs the turns of one conversation, and its tools, each once."""

    def __init__(self) -> None:
        self._known: list[tuple[Turn, bytes]] = []
        self._tools: tuple[tuple[ToolSchema, ...], bytes] = ((), b"")

    def pack_tools(self, tools: tuple[ToolSchema, ...]) -> bytes:
        """Return the tools packed, b"" for none; the same tuple object is packed once."""
        if tools is not self._tools[0]:
            self._tools = tools, TOOLS.dump_json(tools) if tools else b""
        return self._tools[1]

    def pack(self, turns: Sequence[Turn]) -> tuple[bytes, ...]:
        """Return the turns packed, in order.

        A turn object seen in the last call is not packed again.
        """
        same = 0
        for (known, _), turn in zip(self._known, turns, strict=False):
            if known is not turn:
                break
            same += 1
        del self._known[same:]
        self._known.extend((turn, pack_turn(turn)) for turn in turns[same:])
        return tuple(packed for _, packed in self._known)


class Unpacker:
    """Reads packed turns and tools; caches up to `kept_bytes` of the most recently used."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._read: OrderedDict[bytes, object] = OrderedDict()
        self._size = 0

    def unpack(self, packed: Sequence[bytes]) -> tuple[Turn, ...]:
        """Return the turns; the same bytes give the same object while they are cached.

        Raises pydantic.ValidationError for bytes that are no turn.
        """
        return tuple(self._unpacked(one, TURN) for one in packed)

    def unpack_tools(self, packed: bytes) -> tuple[ToolSchema, ...]:
        """Return the tools; otherwise like `unpack`."""
        return self._unpacked(packed, TOOLS) if packed else ()

    def _unpacked(self, packed: bytes, kind: TypeAdapter[T]) -> T:
        known = self._read.get(packed)
        if known is not None:
            self._read.move_to_end(packed)
            return cast(T, known)  # a list is no turn
        read = kind.validate_json(packed)
        self._read[packed] = read
        self._size += len(packed)
        while self._size > self._kept_bytes and len(self._read) > 1:
            self._size -= len(self._read.popitem(last=False)[0])
        return read
