"""The shared values: events, and refusals that name the possible values."""

import pytest
from pydantic import JsonValue

from agiraph.board.shared_values import (
    SharedValueChange,
    SharedValueLimits,
    SharedValues,
    Way,
    apply,
    as_text,
    decide,
)
from agiraph.core.errors import InvalidInput

BOUNDS = SharedValueLimits(max_keys=2, max_value_bytes=40, max_bytes=50)


def after(*changes: tuple[Way, str, JsonValue], by: str = "ada") -> SharedValues:
    shared = SharedValues()
    for number, (way, key, value) in enumerate(changes):
        change = SharedValueChange(cause=f"c{number}", way=way, key=key, value=value, by=by)
        for changed in decide(shared, change, BOUNDS, 0.0):
            shared = apply(shared, changed)
    return shared


def test_shared_value_shows_author_version_and_time() -> None:
    shared = after(("write", "plan", {"step": 1}), ("append", "found", "x"), ("write", "plan", 2))
    assert shared.find("plan").shown() == {
        "key": "plan",
        "value": 2,
        "version": 2,
        "by": "ada",
        "at": "1970-01-01T00:00:00Z",
    }
    assert [(row["key"], row["kind"], row.get("items")) for row in shared.rows()] == [
        ("plan", "number", None),
        ("found", "list", 1),
    ]


def test_unknown_shared_key_is_refused_with_the_known_keys() -> None:
    with pytest.raises(InvalidInput, match=r"unknown shared key 'paln', did you mean 'plan'"):
        after(("write", "plan", 1)).find("paln")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("write", "k", "text"), ("append", "k", 1)], "'k' holds text, not a list"),
        ([("write", "", 1)], "'' cannot be a shared key"),
        ([("write", "a\nb", 1)], "cannot be a shared key"),
        ([("write", "k", "x" * 60)], r"62 bytes, more than 40 \(shared.max_value_bytes\)"),
        (
            [("write", "a", 1), ("write", "b", 1), ("write", "c", 1)],
            "has its 2 shared keys .* such as a, b",
        ),
        ([("write", "a", "x" * 30), ("write", "b", "x" * 30)], r"64 bytes, more than 50"),
    ],
)
def test_invalid_change_is_refused(
    changes: list[tuple[Way, str, JsonValue]], expected: str
) -> None:
    with pytest.raises(InvalidInput, match=expected):
        after(*changes)


def test_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        as_text(float("nan"))
