"""Estimates of a run: a range from earlier runs, or the least that is known."""

from agiraph.core.turns import Usage, UsageRow
from agiraph.models.prices import Price
from agiraph.models.run_costs import EstimatePrices, estimate

PRICES = EstimatePrices(Price(input=10, output=10), Price(input=1, output=1))
PROMPTS = (4000, 3000)


def row(run: str, node: str, tokens: int) -> UsageRow:
    return UsageRow(key=node, run=run, calls=1, seconds=1.0, usage=Usage(input_tokens=tokens))


PAST = [
    *(row("r1", "", 1000), row("r1", "a", 100), row("r1", "b", 300)),
    *(row("r2", "", 2000), row("r2", "c", 200)),
    *(row("r3", "", 0), row("r3", "d", 0)),  # a script, which counts no tokens
]


def test_estimate_of_a_plan_uses_earlier_nodes_and_a_coordinator() -> None:
    found = estimate(10, PAST, PRICES, PROMPTS)
    assert (found.low, found.high) == (1000 + 10 * 100, 2000 + 10 * 300)
    assert found.low_usd == (10 * 1000 + 10 * 100) / 1e6
    assert found.high_usd == (10 * 2000 + 10 * 300) / 1e6
    assert found.basis.startswith("10 nodes; from 3 nodes of earlier runs of this home")


def test_estimate_without_a_plan_uses_whole_runs() -> None:
    found = estimate(None, PAST, PRICES, PROMPTS)
    assert (found.low, found.high) == (1400, 2200)
    assert found.basis.startswith("from 2 earlier runs of this home")


def test_outliers_among_many_runs_are_ignored() -> None:
    many = [row(f"r{n:02}", "", 100 * n) for n in range(1, 21)]
    found = estimate(None, many, PRICES, PROMPTS)
    assert (found.low, found.high) == (300, 1800)


def test_estimate_without_earlier_runs_is_a_minimum() -> None:
    found = estimate(2, [row("r3", "", 0)], PRICES, PROMPTS)
    assert (found.low, found.high, found.high_usd) == (2 * 4000 + 2 * 2 * 3000, None, None)
    assert found.low_usd == (10 * 8000 + 2 * 6000) / 1e6
    assert "no run with a language model has been made" in found.basis


def test_a_price_that_is_not_known_is_not_guessed() -> None:
    unknown = EstimatePrices(PRICES.coordinator, None)
    for nodes, past in ((2, PAST), (None, PAST), (2, [])):
        found = estimate(nodes, past, unknown, PROMPTS)
        assert (found.low_usd, found.high_usd) == (None, None)
        assert found.low > 0
