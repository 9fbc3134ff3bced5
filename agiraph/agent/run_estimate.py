"""The estimate of a run in one home: from its models' prices, the prompts, and earlier runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agiraph.agent.context_window import BYTES_PER_TOKEN, estimate_fixed
from agiraph.core.turns import UsageRow
from agiraph.llm.token_counts import REAL_CHARACTERS_PER_TOKEN
from agiraph.models.prices import FREE, Price, load_prices, price_of
from agiraph.models.registry import load_presets, parse_model
from agiraph.models.run_costs import Estimate, EstimatePrices, estimate
from agiraph.tools.toolbox import Toolbox


def estimate_run(
    home: Path, models: tuple[str, str], nodes: int | None, rows: Sequence[UsageRow]
) -> Estimate:
    """Return the estimated use of a run with these models (coordinator, workers).

    `nodes` is the number of nodes of its plan, None without one; `rows` are the home's usage by
    node. Raises InvalidInput.
    """
    return estimate(nodes, rows, EstimatePrices(*prices_of(home, models)), _prompts())


def prices_of(home: Path, models: Sequence[str]) -> Iterator[Price | None]:
    """Yield the price of each model, None if it is unknown. Raises InvalidInput."""
    presets, prices = load_presets(home / "providers.yaml"), load_prices(home / "prices.yaml")
    for model in models:
        name = parse_model(model, presets)
        known = price_of(name.plain, prices)
        yield FREE if known is None and presets[name.provider].local else known


def _prompts() -> tuple[int, int]:
    """Return the approximate tokens of runbooks and tools: of a coordinator, of a worker."""

    def size(toolbox: Any) -> int:
        guess = estimate_fixed(toolbox.guidance(), toolbox.schemas())
        return int(guess * BYTES_PER_TOKEN / REAL_CHARACTERS_PER_TOKEN)

    return size(Toolbox.for_entity("coordinator")), size(Toolbox.for_entity("worker"))
