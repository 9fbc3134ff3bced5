"""The rows of `top`: sorting, labels, sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.ids import WorkerId
from agiraph.core.turns import Usage
from agiraph.http.api import EntityView, WorkerView
from cli.console.entities import (
    SORTS,
    members_of,
    next_sort,
    ordered,
    rows_of_run,
    top_rows,
    totals,
)

ROWS = (
    EntityView(address="broker", kind="broker", name="broker", state="ready", pid=3, cpu=9.0),
    EntityView(address="shop-1/coordinator", kind="coordinator", name="shop", state="idle",
              tokens=50, cost_usd=0.5, memory_bytes=100),
    EntityView(address="shop-1/ada-aaaaaa", kind="worker", name="ada", state="waiting_for_human",
              cpu=3.0, doing="asks\x1b[2J", doing_since=90.0, mailbox=2, memory_bytes=5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("by", "first"),
    [("entity", "shop"), ("state", "shop/ada"), ("cpu", "broker"), ("memory", "shop"),
     ("mail", "shop/ada"), ("age", "shop/ada"), ("tokens", "shop"), ("cost", "shop")],
)  # fmt: skip
def test_rows_are_sorted_by_each_column(by: str, first: str) -> None:
    rows = top_rows(ROWS, 100.0)
    assert ordered(rows, by)[0].label == first
    assert ordered(rows, by, is_reversed=True)[0].label != first


def test_row_shows_the_age_of_its_step_and_no_control_characters() -> None:
    [lead, ada] = ordered(top_rows(ROWS, 100.0, "shop-1"), "entity")
    assert (lead.label, lead.age) == ("shop", None)
    assert (ada.label, ada.age, ada.state_label, ada.doing) == (
        "shop/ada",
        10.0,
        "asks you",
        "asks",
    )


def test_the_sums_count_everything() -> None:
    assert totals(top_rows(ROWS, 100.0)) == (3, 12.0, 105)
    assert totals(()) == (0, 0, 0)


def test_worker_without_a_process_is_finished_and_rows_have_their_spending() -> None:
    workers = [
        WorkerView(id=WorkerId(f"{name}-aaaaaa"), name=name, type="autonomous", role="",
                   status=status, address=f"shop-1/{name}-aaaaaa")
        for name, status in (("ada", "busy"), ("bea", "stopped"), ("cem", "idle"))
    ]  # fmt: skip
    spent = {"shop-1/coordinator": Usage(input_tokens=7, cost_usd=0.1),
             "shop-1/bea-aaaaaa": Usage(input_tokens=9)}  # fmt: skip
    rows = rows_of_run(ROWS, workers, spent)
    found = {row.name: (row.state, row.tokens, row.cost_usd) for row in rows}
    assert found == {
        "broker": ("ready", 0, None),
        "shop": ("idle", 7, 0.1),
        "ada": ("waiting_for_human", 0, None),
        "bea": ("finished", 9, None),
    }
    assert [row.tokens for row in rows_of_run(ROWS, workers, None)] == [0, 50, 0, 0]
    names = [one.name for one in members_of("shop-1", rows, None)]
    assert names == ["coordinator", "ada", "bea"]


@given(st.sampled_from(SORTS), st.integers(0, 20))
def test_next_sort_cycles_in_both_directions(by: str, steps: int) -> None:
    there = by
    for _ in range(steps):
        there = next_sort(there, 1)
    for _ in range(steps):
        there = next_sort(there, -1)
    assert there == by
