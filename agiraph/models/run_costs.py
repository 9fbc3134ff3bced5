"""Estimates: the tokens and cost of a run, as a range with its basis. Pure.

It is based on earlier runs of the same home: the usage of their nodes and coordinators. Without
any, only a lower bound is known: each entity reads its prompt and tools at each call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agiraph.core.turns import Usage, UsageRow
from agiraph.models.prices import Price

LEAST_CALLS = 2
"""A node needs one call to work and one to publish, a coordinator one to wait and one to finish."""
OF_THIS_HOME = "of this home, which may have been of another kind"
THOUSAND, TEN, CENT = 1000, 10, 0.01
TAIL = 0.1
"""The share of the runs at each end that is left out of a range: single runs are outliers."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated use of a run: tokens and US dollars from `low` to `high`.

    `high` is None if only a lower bound is known, the dollars if a price is unknown.
    """

    low: int
    high: int | None
    low_usd: float | None
    high_usd: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class EstimatePrices:
    """The prices of the models of a run, None if unknown."""

    coordinator: Price | None
    worker: Price | None


def estimate(
    nodes: int | None, rows: Sequence[UsageRow], prices: EstimatePrices, prompts: tuple[int, int]
) -> Estimate:
    """Return the estimate of a run with `nodes` nodes; None: the coordinator decides how many.

    `rows` are the usage of all runs of the home by node (an empty key: the coordinator). `prompts`
    are the tokens of prompt and tools of a coordinator and of a worker.
    """
    known = [row for row in rows if row.run and row.usage.tokens]
    leads = [row.usage for row in known if not row.key]
    works = [row.usage for row in known if row.key]
    if nodes is None:
        return _of_runs(known, prices) if leads else _least(1, 0, prices, prompts)
    if not leads or not works:
        return _least(1, nodes, prices, prompts)
    lead = _range(leads, prices.coordinator)
    work = _range(works, prices.worker)
    basis = f"{_plural(nodes, 'node')}; from {_plural(len(works), 'node')} of earlier runs"
    return _added(lead, work, nodes, f"{basis} {OF_THIS_HOME}")


def _of_runs(known: Sequence[UsageRow], prices: EstimatePrices) -> Estimate:
    """Return the estimate from whole earlier runs, for an unknown number of nodes."""
    runs = sorted({row.run for row in known})
    tokens: list[int] = []
    dollars: list[float | None] = []
    for run in runs:
        of_run = [row for row in known if row.run == run]
        tokens.append(sum(row.usage.tokens for row in of_run))
        costs = [
            _cost(row.usage, prices.worker if row.key else prices.coordinator) for row in of_run
        ]
        dollars.append(None if None in costs else sum(cost or 0.0 for cost in costs))
    basis = f"from {_plural(len(runs), 'earlier run')} {OF_THIS_HOME}"
    low, high = _ends(tokens)
    return Estimate(int(low), int(high), *_ends_in_dollars(dollars), basis)


def _least(leads: int, nodes: int, prices: EstimatePrices, prompts: tuple[int, int]) -> Estimate:
    tokens, dollars = 0, list[float | None]()
    for count, size, price in (
        (leads, prompts[0], prices.coordinator),
        (nodes, prompts[1], prices.worker),
    ):
        again = size * (LEAST_CALLS - 1)
        tokens += count * (size + again)
        usage = Usage(input_tokens=size + again, cache_read_tokens=again)
        cost = _cost(usage, price)
        dollars.append(None if cost is None else count * cost)
    usd = None if None in dollars else sum(cost or 0.0 for cost in dollars)
    basis = (
        "the prompts alone: no run with a language model has been made in this home; --budget sets "
        "a limit"
    )
    return Estimate(
        tokens, None, usd, None, f"{_plural(nodes, 'node')}; {basis}" if nodes else basis
    )


def _range(usages: Sequence[Usage], price: Price | None) -> Estimate:
    low, high = _ends([usage.tokens for usage in usages])
    costs = [_cost(usage, price) for usage in usages]
    return Estimate(int(low), int(high), *_ends_in_dollars(costs), "")


def _added(lead: Estimate, work: Estimate, nodes: int, basis: str) -> Estimate:
    def both(one: float | None, other: float | None) -> float | None:
        return None if one is None or other is None else one + nodes * other

    assert lead.high is not None
    assert work.high is not None
    return Estimate(
        lead.low + nodes * work.low,
        lead.high + nodes * work.high,
        both(lead.low_usd, work.low_usd),
        both(lead.high_usd, work.high_usd),
        basis,
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and highest value, without the share TAIL of the values at each end."""
    ordered = sorted(values)
    left_out = int(len(ordered) * TAIL)
    return ordered[left_out], ordered[-1 - left_out]


def _ends_in_dollars(costs: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the lowest and highest cost without the tails; (None, None) if any is unknown."""
    known = [cost for cost in costs if cost is not None]
    return _ends(known) if len(known) == len(costs) else (None, None)


def _cost(usage: Usage, price: Price | None) -> float | None:
    return None if price is None else price.cost(usage)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# --- as text ---


def in_words(found: Estimate) -> str:
    """Return an estimate as one line for people, with rounded numbers."""
    least = "at least " if found.high is None else ""
    tokens = _from_to(_count(found.low), found.high and _count(found.high))
    if found.low_usd is None:
        money = "price not known"
    elif not (found.high_usd or found.low_usd):
        money = "free"
    else:
        money = _from_to(_dollars(found.low_usd), found.high_usd and _dollars(found.high_usd))
    return f"estimate: {least}{tokens} tokens, {money} ({found.basis})"


def _from_to(low: str, high: str | float | None) -> str:
    return f"{low} to {high}" if high and high != low else low


def _count(number: int) -> str:
    rounded = _rounded(number)
    if rounded < THOUSAND:
        return f"{rounded:g}"
    if rounded < THOUSAND**2:
        return f"{rounded / THOUSAND:g}k"
    return f"{rounded / THOUSAND**2:g}M"


def _dollars(amount: float) -> str:
    rounded = _rounded(amount)
    if 0 < rounded < CENT:
        return "under $0.01"
    return f"${rounded:,.2f}" if rounded < TEN else f"${rounded:,.0f}"


def _rounded(number: float) -> float:
    """Return a number with two significant digits: an estimate is no more precise."""
    return float(f"{number:.2g}")
