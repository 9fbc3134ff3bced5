"""Prices: billed tokens, sums, dated names, own tables, estimates that are rather too high."""

from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject, Usage
from agiraph.llm.connect import FORMATS
from agiraph.models.prices import Price, load_prices, price_of
from agiraph.models.registry import load_presets, parse_model

PRICE = Price(input=10, output=100, cache_read=1, cache_write=12.5)
CACHED = {"input_tokens": 1000, "output_tokens": 50, "cache_read_tokens": 600}
WRITTEN = CACHED | {"cache_write_tokens": 100}
CHAT = {"prompt_tokens": 1000, "completion_tokens": 50}
DETAILS = {"cached_tokens": 600}
COUNTS: list[tuple[str, JsonObject, JsonObject]] = [
    (  # cached input is beside fresh input
        "anthropic",
        {"input_tokens": 300, "cache_read_input_tokens": 600, "output_tokens": 50}
        | {"cache_creation_input_tokens": 100},
        WRITTEN,
    ),
    ("openai", CHAT | {"prompt_tokens_details": DETAILS}, CACHED),
    ("openai", CHAT | DETAILS, CACHED),
    ("openai", CHAT | {"prompt_cache_hit_tokens": 600, "cost": 0.5}, CACHED | {"cost_usd": 0.5}),
    (
        "responses",
        {"input_tokens": 1000, "output_tokens": 50}
        | {"input_tokens_details": DETAILS | {"cache_write_tokens": 100}},
        WRITTEN,
    ),
    (  # thoughts are paid for as output
        "google",
        {"promptTokenCount": 1000, "cachedContentTokenCount": 600}
        | {"candidatesTokenCount": 20, "thoughtsTokenCount": 30},
        CACHED,
    ),
]


@pytest.mark.parametrize(("api", "counts", "counted"), COUNTS)
def test_cost_follows_the_token_counts_of_each_service(
    api: str, counts: JsonObject, counted: JsonObject
) -> None:
    events: dict[str, JsonObject] = {
        "anthropic": {"type": "message_start", "message": {"usage": counts}},
        "openai": {"choices": [], "usage": counts},
        "responses": {"type": "response.completed", "response": {"usage": counts}},
        "google": {"usageMetadata": counts},
    }
    reader = FORMATS[api].reader()
    reader.feed(events[api])
    usage = reader.usage()
    assert usage == Usage(**counted)
    written = usage.cache_write_tokens
    expected = ((400 - written) * 10 + 600 * 1 + written * 12.5 + 50 * 100) / 1e6
    assert PRICE.cost(usage) == pytest.approx(expected)


def test_cached_input_without_a_cache_price_costs_the_full_price() -> None:
    cost = Price(input=10, output=100).cost(Usage(**CACHED))
    assert cost == pytest.approx((1000 * 10 + 50 * 100) / 1e6)


def test_a_dated_name_has_the_price_of_the_plain_one() -> None:
    prices = load_prices()
    plain = prices["anthropic/claude-haiku-4-5"]
    assert price_of("anthropic/claude-haiku-4-5-20251001", prices) == plain
    assert price_of("openai/gpt-5-2025-08-07", prices) == prices["openai/gpt-5"]
    assert price_of("openai/gpt-5-turbo", prices) is None


def test_every_priced_model_belongs_to_a_known_provider() -> None:
    for model in load_prices():
        assert str(parse_model(model, load_presets())) == model


def test_own_prices_come_from_the_home(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("openai/new: {input: 1, output: 2}\n")
    assert load_prices(own)["openai/new"].output == 2
    own.write_text("openai/new: {input: -1, output: 2}\n")
    with pytest.raises(InvalidInput, match=r"openai/new\.input"):
        load_prices(own)
