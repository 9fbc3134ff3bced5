"""What is known to be done: the ids of the last messages that left their mailboxes for good."""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class RecentIds(Generic[K]):
    """The last `limit` keys of an address and an id, oldest forgotten first."""

    def __init__(self, limit: int, keys: Iterable[K] = ()) -> None:
        self._limit = limit
        self._order = deque(keys, maxlen=limit + 1)
        if len(self._order) > limit:
            self._order.popleft()
        self._keys = set(self._order)

    def __contains__(self, key: K) -> bool:
        return key in self._keys

    def add(self, key: K) -> None:
        """Remember a message that was not known."""
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > self._limit:
            self._keys.discard(self._order.popleft())
