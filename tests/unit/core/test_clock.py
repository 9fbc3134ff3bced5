"""Lengths of time: accepted and refused texts."""

from typing import Any

import pytest

from agiraph.core.clock import seconds_of
from agiraph.core.errors import InvalidInput


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(90, 90), ("90", 90), ("30s", 30), ("1h30m", 5400), ("1 d", 86400), ("0.5h", 1800)],
)
def test_a_length_of_time_may_have_units(said: Any, seconds: float) -> None:
    assert seconds_of(said, "it") == seconds


@pytest.mark.parametrize("said", ["soon", "", "5 apples", "1h2", "nan", "inf", None, True, [5]])
def test_invalid_duration_is_refused_with_the_possible_forms(said: Any) -> None:
    with pytest.raises(InvalidInput, match=r"it .* is no length of time \(as 90"):
        seconds_of(said, "it")


@pytest.mark.parametrize(
    ("text", "least", "expected"),
    [("0.5", 1.0, "between 1 second and"), ("0", 0.2, "between 0.2 seconds"), ("11000d", 1, "")],
)
def test_duration_outside_its_limits_is_refused(text: str, least: float, expected: str) -> None:
    with pytest.raises(InvalidInput, match=f"it must be {expected}"):
        seconds_of(text, "it", least=least)
