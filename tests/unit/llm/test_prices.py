"""Prices: sums, dated names, own tables, and guesses that are rather too high."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Usage, UserTurn
from agiraph.llm.prices import Price, guess_input_tokens, load_prices, price_of
from agiraph.llm.registry import load_presets, parse_model
from tests.unit.llm.requests import ask


def test_cached_tokens_have_their_own_price() -> None:
    price = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)
    usage = Usage(
        input_tokens=1_000_000,
        cache_read_tokens=600_000,
        cache_write_tokens=100_000,
        output_tokens=10_000,
    )
    assert price.cost(usage) == pytest.approx(0.3 * 3 + 0.6 * 0.3 + 0.1 * 3.75 + 0.01 * 15)


def test_without_cache_prices_cached_input_costs_as_fresh() -> None:
    usage = Usage(input_tokens=1_000_000, cache_read_tokens=400_000)
    assert Price(input=2, output=8).cost(usage) == pytest.approx(2)


def test_a_dated_name_has_the_price_of_the_plain_one() -> None:
    prices = load_prices()
    plain = prices["anthropic/claude-haiku-4-5"]
    assert price_of("anthropic/claude-haiku-4-5-20251001", prices) == plain
    assert price_of("openai/gpt-5-2025-08-07", prices) == prices["openai/gpt-5"]
    assert price_of("openai/gpt-5-turbo", prices) is None


def test_every_priced_model_belongs_to_a_known_provider() -> None:
    for model in load_prices():
        assert str(parse_model(model, load_presets())) == model


def test_ones_own_prices_come_from_the_home(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("openai/new: {input: 1, output: 2}\n")
    assert load_prices(own)["openai/new"].output == 2
    own.write_text("openai/new: {input: -1, output: 2}\n")
    with pytest.raises(InvalidInput, match=r"openai/new\.input"):
        load_prices(own)


def test_the_guess_of_input_counts_system_turns_and_tools() -> None:
    small = guess_input_tokens(ask(tools=()))
    assert guess_input_tokens(ask()) > small
    assert guess_input_tokens(ask(UserTurn(content="x" * 3000))) > small + 900
