"""PersistentMap: an immutable mapping that is cheap to copy with a change.

A copy shares all chunks except the changed one: with n entries, about n / CHUNK + CHUNK pointers
are copied instead of n. Entries keep their insertion order, and cannot be removed.
"""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from itertools import chain, islice
from typing import Any, Final, TypeVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

K = TypeVar("K")
V = TypeVar("V")
CHUNK: Final = 64


class PersistentMap(Mapping[K, V]):
    """Values by key, in insertion order of the keys."""

    __slots__ = ("_chunks", "_places", "_size")

    def __init__(self, given: Mapping[K, V] | None = None) -> None:
        values = tuple((given or {}).values())
        # A later copy adds its new keys to this dict: places >= _size belong to that copy.
        self._places: dict[K, int] = {key: place for place, key in enumerate(given or ())}
        self._size = len(values)
        self._chunks = tuple(values[at : at + CHUNK] for at in range(0, len(values), CHUNK))

    def __getitem__(self, key: K) -> V:
        place = self._places[key]
        if place >= self._size:
            raise KeyError(key)
        return self._chunks[place // CHUNK][place % CHUNK]

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys, in insertion order."""
        return islice([*self._places], self._size)  # of a copy: the dict may grow during iteration

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"

    def values(self) -> ValuesView[V]:
        """Return the values, in the order of the keys."""
        return TableValues(self)

    def items(self) -> ItemsView[K, V]:
        """Return the keys with their values, in insertion order."""
        return TableItems(self)

    def each(self) -> Iterator[V]:
        """Iterate over the values."""
        return chain.from_iterable(self._chunks)

    def having(self, key: K, value: V) -> "PersistentMap[K, V]":
        """Return a copy in which this key has this value."""
        place = self._places.get(key, self._size)
        if place >= self._size:
            return self._longer(key, value)
        at, inner = divmod(place, CHUNK)
        chunk = self._chunks[at]
        changed = (*chunk[:inner], value, *chunk[inner + 1 :])
        return self._with((*self._chunks[:at], changed, *self._chunks[at + 1 :]), self._size)

    def _longer(self, key: K, value: V) -> "PersistentMap[K, V]":
        if self._size % CHUNK:
            chunks = (*self._chunks[:-1], (*self._chunks[-1], value))
        else:
            chunks = (*self._chunks, (value,))
        made = self._with(chunks, self._size + 1)
        if len(self._places) > self._size:  # another copy has added keys
            made._places = dict(zip(self, range(self._size), strict=True))
        made._places[key] = self._size
        return made

    def _with(self, chunks: tuple[tuple[V, ...], ...], size: int) -> "PersistentMap[K, V]":
        made: PersistentMap[K, V] = object.__new__(PersistentMap)
        made._places, made._chunks, made._size = self._places, chunks, size
        return made

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate and serialize the map as a plain mapping."""
        args = getattr(source, "__args__", (Any, Any))
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.dict_schema(*map(handler.generate_schema, args)),
            serialization=core_schema.plain_serializer_function_ser_schema(
                dict, return_schema=core_schema.dict_schema(*map(handler.generate_schema, args))
            ),
        )


class TableValues(ValuesView[V]):
    """The values of a map, iterated without key lookups."""

    _mapping: PersistentMap[Any, V]

    def __iter__(self) -> Iterator[V]:
        """Iterate over the values."""
        return self._mapping.each()


class TableItems(ItemsView[K, V]):
    """The entries of a map, iterated without key lookups."""

    _mapping: PersistentMap[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        """Iterate over keys and values."""
        return zip(self._mapping, self._mapping.each(), strict=True)
