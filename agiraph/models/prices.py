"""Prices of models: the table of `configs/prices.yaml` and the sums made with it."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Usage
from agiraph.models.registry import DATE, JsonObject, ProviderPreset, read_row, read_table, usable
from agiraph.settings.config import ConfigSection, configs_folder

MILLION = 1_000_000


class Price(ConfigSection):
    """US dollars per million tokens; the cache prices default to the price of fresh input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)

    def cost(self, usage: Usage) -> float:
        """Return the cost of `usage` in US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        total = (
            fresh * self.input
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        )
        return total / MILLION

    @property
    def dearest_input(self) -> float:
        """The highest price per million input tokens: a token may be written to the cache."""
        return max(self.input, self.cache_write or 0)

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """Return the highest cost of a call with these numbers of tokens, in US dollars."""
        return (input_tokens * self.dearest_input + output_tokens * self.output) / MILLION


def require_cheap(model: str, price: Price | None, most_usd: float) -> None:
    """Raise InvalidInput if a million tokens of output may cost more than `most_usd` dollars."""
    if price is None:
        raise InvalidInput(f"{model}: its price is not known, and the human set a limit for prices")
    if price.output > most_usd:
        raise InvalidInput(
            f"{model}: a million tokens of output cost ${price.output:g} (the human's limit for "
            f"workers: ${most_usd:g})"
        )


FREE = Price(input=0, output=0)
HIGHEST = Price(input=1000, output=1000)
"""More than any service charges: limits the costs that a service reports without a known price."""


def load_prices(*files: Path) -> dict[str, Price]:
    """Return prices by `provider/name`: the shipped table, overridden by tables in `files`."""
    prices: dict[str, Price] = {}
    for file in (configs_folder() / "prices.yaml", *files):
        for name, values in read_table(file).items():
            prices[name] = read_row(file, name, Price, values)
    return prices


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model `provider/name`, None if unknown.

    A date at the end of the name is ignored if the table has no entry with the date.
    """
    return prices.get(model) or prices.get(DATE.sub("", model))


def no_dollars(model: str) -> str:
    """Return the error text for a budget in dollars with a model without a price, and remedies."""
    return (
        f"the price of {model} is not known, so a budget in dollars cannot be kept: add it to "
        "prices.yaml in the home (then: agiraph restart broker), or set one in tokens"
    )


def priced_models(
    provider: str, preset: ProviderPreset, prices: Mapping[str, Price]
) -> tuple[JsonObject, ...]:
    """Return a row per known model of a provider: the usual model, then all models with a price.

    A row is {"name", "strength", "vision", "context", "input", "output"}: whether it sees
    pictures, tokens of the window, and US dollars per million tokens, None if not known.
    """
    usual = (f"{provider}/{preset.usual_model}",) if preset.usual_model else ()
    named = (name for name in prices if name.startswith(f"{provider}/"))
    rows: list[JsonObject] = []
    for name in dict.fromkeys((*usual, *named)):
        model = name.removeprefix(f"{provider}/")
        price = FREE if preset.local else price_of(name, prices)
        rows.append(
            {
                "name": name,
                "strength": preset.of(model).strength,
                "vision": preset.of(model).vision,
                "context": preset.window(model),
                "input": price.input if price else None,
                "output": price.output if price else None,
            }
        )
    return tuple(rows)


def catalog(
    presets: Mapping[str, ProviderPreset],
    environ: Mapping[str, str],
    prices: Mapping[str, Price],
    *,
    offline: bool = False,
) -> tuple[JsonObject, ...]:
    """Return the rows of `registry.usable`, each with its `models` (`priced_models`)."""
    return tuple(
        row | {"models": priced_models(row["name"], presets[row["name"]], prices)}
        for row in usable(presets, environ, offline=offline)
    )
