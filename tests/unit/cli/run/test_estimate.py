"""How an estimate is said: as a range, with two digits."""

import pytest

from agiraph.models.run_costs import Estimate, in_words


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Estimate(1234, 56_789, 0.0123, 1.234, "why"), "1.2k to 57k tokens, $0.01 to $1.20 (why)"),
        (Estimate(950, 2_345_678, 0, 0, "why"), "950 to 2.3M tokens, free (why)"),
        (Estimate(999_999, 1_000_000, 0.001, 123.4, "why"), "1M tokens, under $0.01 to $120 (why)"),
        (Estimate(18_000, None, 0.031, None, "why"), "at least 18k tokens, $0.03 (why)"),
        (Estimate(500, 700, None, None, "why"), "500 to 700 tokens, price not known (why)"),
        (Estimate(500, 500, 2.0, 2.0, "why"), "500 tokens, $2.00 (why)"),
    ],
)
def test_an_estimate_claims_no_more_than_is_known(found: Estimate, words: str) -> None:
    assert in_words(found) == f"estimate: {words}"
