"""The share of a model's input that it has seen before: by the bytes, and by a provider's cache."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MARK = b',"cache_control":{"type":"ephemeral"}'
LOOKED_BACK = 20
"""How many blocks before a mark Anthropic searches for a cached prefix."""


def prefix_share(bodies: Sequence[bytes]) -> float:
    """Return the share of all input that is a prefix of the previous request.

    The input of the first request counts too. Cache marks are removed first: they are no content.
    """
    plain = [body.replace(MARK, b"") for body in bodies]
    shared = sum(_common(before, after) for before, after in itertools.pairwise(plain))
    return shared / sum(map(len, plain))


def _common(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning of two texts."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def cached_share(bodies: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of all input that Anthropic's cache would serve, by its marks and rules."""
    written: set[bytes] = set()
    served = total = 0
    for body in bodies:
        ends, sizes, marks = _beginnings(body)
        near = [n for mark in marks for n in range(max(0, mark - LOOKED_BACK), mark + 1)]
        served += max((sizes[n] for n in near if ends[n] in written), default=0)
        total += sizes[-1]
        written |= {ends[mark] for mark in marks}
    return served / total


def _beginnings(body: Mapping[str, Any]) -> tuple[list[bytes], list[int], list[int]]:
    """Return, for each block, a hash of the input up to it and its size; and the marked blocks."""
    running = hashlib.blake2b()
    ends: list[bytes] = []
    sizes: list[int] = []
    marks: list[int] = []
    for number, (where, block) in enumerate(_blocks(body)):
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        data = json.dumps([where, plain], sort_keys=True).encode()
        running.update(data)
        ends.append(running.digest())
        sizes.append(len(data) + (sizes[-1] if sizes else 0))
        if "cache_control" in block:
            marks.append(number)
    return ends, sizes, marks


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from (("tools", tool) for tool in body.get("tools", ()))
    yield from (("system", block) for block in body.get("system", ()))
    for message in body["messages"]:
        yield from ((message["role"], block) for block in message["content"])
