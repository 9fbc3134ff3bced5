"""A cycle is found exactly if there is one, and each found cycle is real."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board.wait_cycles import find_cycle

NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=3)))
def test_a_cycle_is_found_exactly_if_there_is_one(waits: dict[str, list[str]]) -> None:
    try:
        list(TopologicalSorter(waits).static_order())
        has_cycle = False
    except CycleError:
        has_cycle = True
    cycle = find_cycle(waits)
    assert (cycle is not None) == has_cycle
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(after in waits[before] for before, after in pairwise(cycle))


def test_a_very_deep_chain_is_walked() -> None:
    waits = {str(n): [str(n + 1)] for n in range(50_000)}
    assert find_cycle(waits) is None
    assert find_cycle({**waits, "50000": ["49999"]}) == ("49999", "50000", "49999")
