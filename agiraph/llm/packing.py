"""Packing: turns as bytes on their way to the broker, so that a long conversation costs little.

The complete conversation goes to the broker with every call, and only its end is new. So each turn
is packed once by the entity, and read once by the broker; in between it is opaque bytes. A packed
turn is its JSON.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import TypeAdapter

from agiraph.core.record import union_adapter
from agiraph.core.turns import Turn

KEPT_BYTES = 64 << 20

TURN: TypeAdapter[Turn] = union_adapter(Turn)


def pack_turn(turn: Turn) -> bytes:
    """Return one turn as bytes."""
    return json.dumps(turn.model_dump(), ensure_ascii=False).encode("utf-8", "replace")


class Packer:
    """Packs the turns of one conversation, each once."""

    def __init__(self) -> None:
        self._known: list[tuple[Turn, bytes]] = []

    def pack(self, turns: Sequence[Turn]) -> tuple[bytes, ...]:
        """Return the turns packed, in order. They are recognised by being the same objects."""
        same = 0
        for (known, _), turn in zip(self._known, turns, strict=False):
            if known is not turn:
                break
            same += 1
        del self._known[same:]
        self._known.extend((turn, pack_turn(turn)) for turn in turns[same:])
        return tuple(packed for _, packed in self._known)


class Unpacker:
    """Reads packed turns of any conversation; caches `kept_bytes` of those used last."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._turns: OrderedDict[bytes, Turn] = OrderedDict()
        self._size = 0

    def unpack(self, packed: Sequence[bytes]) -> tuple[Turn, ...]:
        """Return the turns; the same bytes give the same object while they are cached.

        Raises pydantic.ValidationError for what is no turn.
        """
        return tuple(map(self._turn, packed))

    def _turn(self, packed: bytes) -> Turn:
        known = self._turns.get(packed)
        if known is not None:
            self._turns.move_to_end(packed)
            return known
        turn = TURN.validate_json(packed)
        self._turns[packed] = turn
        self._size += len(packed)
        while self._size > self._kept_bytes and len(self._turns) > 1:
            self._size -= len(self._turns.popitem(last=False)[0])
        return turn
