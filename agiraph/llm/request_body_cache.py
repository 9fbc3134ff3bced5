"""RequestBodyCache: encoded beginnings of conversations, so that each is encoded once.

The next request of a conversation repeats the last one and adds to its end. An encoded beginning is
cached with its turns, which are identified by being the same objects (the `Unpacker` of
`agiraph.llm.packing` returns the same objects), so their length does not matter.
"""

import json
from collections import OrderedDict
from collections.abc import Callable
from operator import is_
from typing import Any

from agiraph.core.turns import ModelRequest, Turn

KEPT_BYTES = 128 << 20
KEPT_HEADS = 256

JsonObject = dict[str, Any]
_Beginning = tuple[str, tuple[Turn, ...], bytes]
NOTHING: _Beginning = ("", (), b"")


class RequestBodyCache:
    """The encoded beginnings of the most recently used conversations, `kept_bytes` of messages."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._known: OrderedDict[tuple[str, str], _Beginning] = OrderedDict()
        self._size = 0
        self._heads: OrderedDict[tuple[str, str], tuple[ModelRequest, bytes]] = OrderedDict()

    def head(self, request: ModelRequest, make: Callable[[], JsonObject]) -> bytes:
        """Return the result of `make` as JSON: the fields before the messages of a request.

        `make` is called when model, system prompt or tools differ from the last time.
        """
        key = _key(request)
        known = self._heads.get(key)
        about = request.system, request.tools
        if known is not None and (known[0].system, known[0].tools) == about:
            self._heads.move_to_end(key)
            return known[1]
        encoded = as_json(make())
        self._heads[key] = request.model_copy(update={"turns": (), "pictures": {}}), encoded
        if len(self._heads) > KEPT_HEADS:
            self._heads.popitem(last=False)
        return encoded

    def beginning(self, request: ModelRequest) -> tuple[int, bytes]:
        """Return the number of the request's first turns that are already encoded, and their bytes.

        It is 0 if the system prompt differs: it may be among the messages.
        """
        system, turns, data = self._known.get(_key(request), NOTHING)
        if len(turns) > len(request.turns) or not all(map(is_, turns, request.turns)):
            return 0, b""
        return (len(turns), data) if system == request.system else (0, b"")

    def joined(
        self, request: ModelRequest, known: bytes, messages: list[bytes], final: int, turns: int
    ) -> bytes:
        """Return `known` (a beginning) and the messages after it, with commas between them.

        The first `final` of the messages are final and are cached: they are the encoding of the
        conversation's first `turns` turns.
        """
        pieces = [known, *messages] if known else messages
        if final:
            self._store(request, turns, b",".join(pieces[: len(pieces) - len(messages) + final]))
        return b",".join(pieces)

    def _store(self, request: ModelRequest, count: int, data: bytes) -> None:
        key = _key(request)
        self._size -= len(self._known.pop(key, NOTHING)[2])
        self._known[key] = request.system, request.turns[:count], data
        self._size += len(data)
        while self._size > self._kept_bytes and len(self._known) > 1:
            self._size -= len(self._known.popitem(last=False)[1][2])


def _key(request: ModelRequest) -> tuple[str, str]:
    return request.entity, request.model


def as_json(value: Any) -> bytes:
    """Return a value as compact JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def body_with(head: bytes, messages: bytes, tail: JsonObject, *, field: str = "messages") -> bytes:
    """Return a request's body: head (a JSON object), the messages in `field`, tail, in this order.

    The most stable part comes first, so that a body without its tail is a prefix of the next.
    """
    end = b"," + as_json(tail)[1:] if tail else b"}"
    return b'%b,"%b":[%b]%b' % (head[:-1], field.encode(), messages, end)
