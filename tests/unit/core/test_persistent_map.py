"""A table is the mapping that its changes say, and earlier copies of it stay as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agiraph.core.persistent_map import CHUNK, PersistentMap

CHANGES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 3 * CHUNK)), max_size=200)


@given(CHANGES)
def test_copies_of_a_map_are_independent(changes: list[tuple[int, int]]) -> None:
    copies: list[tuple[PersistentMap[int, int], dict[int, int]]] = [(PersistentMap(), {})]
    for value, (pick, key) in enumerate(changes):
        table, like = copies[pick % len(copies)]
        copies.append((table.having(key, value), {**like, key: value}))
    for table, like in copies:
        assert [*table.items()] == [*like.items()]
        assert ([*table], [*table.values()], len(table)) == ([*like], [*like.values()], len(like))
        assert table == like
        assert all((key in table) == (key in like) for _, key in changes)
        assert [*PersistentMap(like).items()] == [*like.items()]


def test_map_is_serialized_as_an_object() -> None:
    adapter = TypeAdapter(PersistentMap[str, int])
    table = PersistentMap({"a": 1}).having("b", 2)
    assert adapter.dump_json(table) == b'{"a":1,"b":2}'
    assert adapter.validate_json(adapter.dump_json(table)) == table
    with pytest.raises(ValueError, match="valid integer"):
        adapter.validate_python({"a": "x"})
    with pytest.raises(KeyError, match="c"):
        table["c"]
