"""Titles of agents: the nouns of a goal, the same each time, short and plain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.ids import slug
from agiraph.core.titles import TITLE_CHARACTERS, title_of


@pytest.mark.parametrize(
    ("goal", "title"),
    [
        ("The folder holds four data files. Write a report on them.", "folder-data-files"),
        ("Please write the market report for chips", "market-report-chips"),
        ("Fix the rounding bug in humanize 4.9.0", "rounding-bug-humanize-4"),
        ("Which items sell best?", "items-sell-best"),
        ("Watch the shop", "shop"),
        ("Count it. Then report the sum.", "report"),
        ("What's Ann's café worth?", "ann-cafe-worth"),
        ("Do it!", "do-it"),
        ("Compare the shops, the shops' prices and the shops", "shops-prices"),
        ("Donaudampfschifffahrtsgesellschaft", "donaudampfschifffahrtsge"),
        ("数据", ""),
        ("", ""),
    ],
)
def test_title_contains_the_nouns_of_the_goal(goal: str, title: str) -> None:
    assert title_of(goal) == title


@given(st.text())
def test_title_is_short_ascii_and_its_own_slug(goal: str) -> None:
    title = title_of(goal)
    assert len(title) <= TITLE_CHARACTERS
    assert title == title_of(goal)
    assert slug(title, "") == title
