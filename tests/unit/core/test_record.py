"""The fault of a value is described in the words of the project."""

from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError

from agiraph.core.record import Record, misfit_in_words


class AllFieldsRecord(Record):
    """A record with a field of each kind."""

    names: tuple[str, ...] = ()
    facts: dict[str, int] = Field(default_factory=dict)
    title: str = Field(default="x", min_length=1, max_length=3)
    count: int = Field(default=1, ge=1, le=9)
    share: float = Field(default=0.5, gt=0, lt=1, allow_inf_nan=False)
    is_on: bool = False
    way: Literal["left", "right"] = "left"
    few: tuple[int, ...] = Field(default=(1,), min_length=1, max_length=2)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("names", 5, "must be a list"),
        ("names", ["a", 1], "must be a text"),
        ("facts", [], "must be a mapping"),
        ("title", 7, "must be a text"),
        ("title", "", "must have at least 1 character"),
        ("title", "abcd", "must have at most 3 characters"),
        ("count", "many", "must be a whole number"),
        ("count", 1.5, "must be a whole number"),
        ("count", 0, "must be at least 1"),
        ("count", 10, "must be at most 9"),
        ("share", "much", "must be a number"),
        ("share", float("nan"), "must be a finite number"),
        ("share", 0, "must be above 0.0"),
        ("share", 1, "must be below 1.0"),
        ("is_on", "perhaps", "must be true or false"),
        ("way", "up", "must be 'left' or 'right'"),
        ("few", [], "must have at least 1 entry"),
        ("few", [1, 2, 3], "must have at most 2 entries"),
    ],
)
def test_a_value_that_does_not_fit_is_described_without_names_of_python(
    field: str, value: Any, expected: str
) -> None:
    with pytest.raises(ValidationError) as error:
        AllFieldsRecord.model_validate({field: value})
    assert misfit_in_words(error.value.errors()[0]) == expected
