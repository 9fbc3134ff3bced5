"""The shared values with any writers, orders, repeated deliveries and crashes."""

import json
import tempfile
from pathlib import Path
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board.shared_values import (
    ChangeReceipt,
    SharedValueChange,
    SharedValueLimits,
    SharedValues,
    SharedValueStore,
)
from agiraph.core.errors import InvalidInput

BOUNDS = SharedValueLimits(max_keys=3, max_value_bytes=60, max_bytes=120)
VALUES = st.none() | st.booleans() | st.integers(-9, 10**20) | st.text(max_size=4)
CHANGES = st.builds(
    SharedValueChange,
    cause=st.just(""),
    way=st.sampled_from(["write", "append"]),
    key=st.sampled_from(["a", "b", " a ", "c", "d", ""]),
    value=VALUES | st.lists(VALUES, max_size=2),
    by=st.sampled_from(["ada", "ben"]),
)
STEPS = st.lists(
    st.tuples(st.just("new"), CHANGES)
    | st.tuples(st.just("again"), st.integers(0, 30))
    | st.tuples(st.just("crash"), st.booleans()),
    max_size=30,
)


class PlainValues:
    """A simple model: one dictionary, one change after the other."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def do(self, change: SharedValueChange) -> bool:
        key = change.key.strip()
        now: object = change.value
        if change.way == "append":
            before = self.values.get(key, [])
            if not isinstance(before, list):
                return False
            now = [*before, change.value]
        after = {**self.values, key: now}
        sizes = [len(json.dumps(value, separators=(",", ":"))) for value in after.values()]
        if not key or len(after) > BOUNDS.max_keys or sum(sizes) > BOUNDS.max_bytes:
            return False
        if len(json.dumps(now, separators=(",", ":"))) > BOUNDS.max_value_bytes:
            return False
        self.values = after
        return True


@given(STEPS)
def test_shared_values_follow_the_order_of_first_deliveries(
    steps: list[tuple[str, object]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal, shown = Path(folder) / "shared_values.jsonl", Path(folder) / "_shared_values.json"
        store, plain = SharedValueStore(journal, shown, BOUNDS), PlainValues()
        sent: list[SharedValueChange] = []
        receipts: dict[str, ChangeReceipt] = {}
        for number, (step, argument) in enumerate(steps):
            if step == "crash":
                store.close()
                if argument:  # it died in the middle of the next line, before any reply
                    with journal.open("ab") as torn:
                        torn.write(b'{"cause": "torn", "way": "wri')
                store = SharedValueStore(journal, shown, BOUNDS)
                continue
            if step == "again":
                if not sent:
                    continue
                change = sent[int(str(argument)) % len(sent)]
            else:
                assert isinstance(argument, SharedValueChange)
                change = argument.model_copy(update={"cause": f"m{number}"})
                sent.append(change)
            deliver(store, plain, change, receipts)
        store.close()
        store = SharedValueStore(journal, shown, BOUNDS)
        assert plain_values(store.values) == plain.values
        store.close()
        if plain.values:
            told = json.loads(shown.read_text())
            assert {key: entry["value"] for key, entry in told.items()} == plain.values


def deliver(
    store: SharedValueStore,
    plain: PlainValues,
    change: SharedValueChange,
    receipts: dict[str, ChangeReceipt],
) -> None:
    """Deliver a change; a repeated change gets the same receipt and has no second effect."""
    was = receipts.get(change.cause)
    try:
        receipt, is_new = store.change(change, now=1.0)
    except InvalidInput:
        assert was is None
        assert not plain.do(change)
        return
    assert is_new == (was is None)
    assert was in (None, receipt)
    if is_new:
        assert plain.do(change)
    receipts[change.cause] = receipt
    assert plain_values(store.values) == plain.values


def plain_values(values: SharedValues) -> dict[str, object]:
    return {key: entry.value for key, entry in values.entries.items()}


@given(st.permutations(range(12)), st.lists(st.integers(0, 11), max_size=12))
def test_no_append_is_lost_or_doubled(order: list[int], repeats: list[int]) -> None:
    bounds = SharedValueLimits(max_keys=9, max_value_bytes=9999, max_bytes=9999)
    way: Literal["append"] = "append"
    with tempfile.TemporaryDirectory() as folder:
        journal, shown = Path(folder) / "shared_values.jsonl", Path(folder) / "_shared_values.json"
        for item in [*order, *repeats]:
            store = SharedValueStore(journal, shown, bounds)
            store.change(
                SharedValueChange(cause=f"{item}", way=way, key="found", value=item, by="x"), 1.0
            )
            store.close()
        store = SharedValueStore(journal, shown, bounds)
        assert store.values.find("found").value == order
        assert store.values.find("found").version == len(order)
        store.close()
