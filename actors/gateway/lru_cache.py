"""The latest few of what is dear to make, kept for as long as what it is made from is the same.

Many ask for the same thing while nothing happens: what they are told is made once, and put into
bytes once (`needs.py` knows an answer again that it has written before).
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

MOST = 64

Thing = TypeVar("Thing")


class LruCache(Generic[Thing]):
    """Things by key, the oldest forgotten first."""

    def __init__(self, most: int = MOST) -> None:
        """Keep `most` of them."""
        self._most = most
        self._kept: dict[Hashable, tuple[object, Thing]] = {}

    def get(self, key: Hashable, of: object, make: Callable[[], Thing]) -> Thing:
        """Return the thing of that key; it is made anew if it was made of something else."""
        known = self._kept.get(key)
        if known is not None and known[0] == of:
            return known[1]
        thing = make()
        self._kept.pop(key, None)
        self._kept[key] = (of, thing)
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return thing
