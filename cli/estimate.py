"""The estimate of a run: what it may take, before anything is begun."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.exits import DONE
from cli.listing import print_json
from cli.options import connect_to_read, settings_of
from cli.run_target import RunOptions, default_model

if TYPE_CHECKING:
    from agiraph.http.client import Client
    from agiraph.llm.estimate import Estimate
    from agiraph.llm.prices import Price

THOUSAND, TEN, CENT = 1000, 10, 0.01


def print_estimate(options: RunOptions) -> int:
    """Print what a run may take; nothing is begun."""
    with connect_to_read(options.home) as client:
        found = estimate_of(options, client)
    if options.as_json:
        print_json(
            {
                "tokens": [found.low, found.high],
                "usd": [found.low_usd, found.high_usd],
                "basis": found.basis,
            }
        )
    else:
        click.echo(in_words(found))
    return DONE


def estimate_of(options: RunOptions, client: "Client") -> "Estimate":
    """Return the estimate of a run; InvalidInput if there is no model for it, or no such plan."""
    from agiraph.llm.estimate import EstimatePrices, estimate

    prices = EstimatePrices(*_prices(options.home, _models(options, client)))
    plan = options.terms["plan"]
    rows = client.usage(by="node").rows
    return estimate(_nodes(plan) if plan else None, rows, prices, _prompts())


def in_words(found: "Estimate") -> str:
    """Return an estimate as people read it, with no more digits than are known."""
    least = "at least " if found.high is None else ""
    tokens = _range(_count(found.low), found.high and _count(found.high))
    if found.low_usd is None:
        money = "price not known"
    elif not (found.high_usd or found.low_usd):
        money = "free"
    else:
        money = _range(_dollars(found.low_usd), found.high_usd and _dollars(found.high_usd))
    return f"estimate: {least}{tokens} tokens, {money} ({found.basis})"


def _range(low: str, high: str | float | None) -> str:
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
    """Return a number with two digits: more are not known."""
    return float(f"{number:.2g}")


def _models(options: RunOptions, client: "Client") -> tuple[str, str]:
    """Return the models of coordinator and workers, as they are named."""
    last = client.agent(options.agent) if options.agent else None
    model = options.model or (last.model if last else "") or default_model(options.home)
    worker = options.terms["worker_model"] or (last.worker_model if last else "")
    return model, worker or settings_of(options.home).models.worker or model


def _prices(home: Path, models: tuple[str, str]) -> "Iterator[Price | None]":
    """Yield the price of each model, None where it is not known."""
    from agiraph.llm.prices import FREE, load_prices, price_of
    from agiraph.llm.registry import load_presets, parse_model

    presets, prices = load_presets(home / "providers.yaml"), load_prices(home / "prices.yaml")
    for model in models:
        name = parse_model(model, presets)
        known = price_of(name.plain, prices)
        yield FREE if known is None and presets[name.provider].local else known


def _nodes(plan: str) -> int:
    """Return how many nodes a plan has."""
    from agiraph.board.plans.plan import parse_plan

    return len(parse_plan(plan).nodes)


def _prompts() -> tuple[int, int]:
    """Return about how many tokens runbooks and tools of a coordinator and of a worker have."""
    from agiraph.agent.context_window import BYTES_PER_TOKEN, estimate_fixed
    from agiraph.llm.prices import REAL_CHARACTERS_PER_TOKEN
    from agiraph.tools.toolbox import Toolbox

    def size(toolbox: Any) -> int:
        guess = estimate_fixed(toolbox.guidance(), toolbox.schemas())
        return int(guess * BYTES_PER_TOKEN / REAL_CHARACTERS_PER_TOKEN)

    return size(Toolbox.for_entity("coordinator")), size(Toolbox.for_entity("worker"))
