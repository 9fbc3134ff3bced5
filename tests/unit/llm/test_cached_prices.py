"""Cached tokens are counted as such for every wire format, and paid for at their own price."""

from collections.abc import Callable

import pytest

from agiraph.core.turns import JsonObject, Usage
from agiraph.llm.prices import Price
from agiraph.llm.wire import anthropic as anthropic_wire
from agiraph.llm.wire import chat
from agiraph.llm.wire import google as google_wire
from agiraph.llm.wire import responses as responses_wire

PRICE = Price(input=10, output=100, cache_read=1, cache_write=12.5)
ONE = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=600)


def anthropic(usage: JsonObject) -> Usage:
    answer = anthropic_wire.AnthropicReader()
    answer.feed({"type": "message_start", "message": {"usage": usage}})
    return answer.usage()


def openai(usage: JsonObject) -> Usage:
    answer = chat.ChatReader()
    answer.feed({"choices": [], "usage": usage})
    return answer.usage()


def responses(usage: JsonObject) -> Usage:
    answer = responses_wire.ResponsesReader()
    answer.feed({"type": "response.completed", "response": {"usage": usage}})
    return answer.usage()


def google(usage: JsonObject) -> Usage:
    answer = google_wire.GoogleReader()
    answer.feed({"usageMetadata": usage})
    return answer.usage()


@pytest.mark.parametrize(
    ("read", "wire", "counted"),
    [
        (  # cached input is beside fresh input
            anthropic,
            {
                "input_tokens": 300,
                "cache_read_input_tokens": 600,
                "cache_creation_input_tokens": 100,
                "output_tokens": 50,
            },
            ONE.model_copy(update={"cache_write_tokens": 100}),
        ),
        (  # cached input is part of all input
            openai,
            {
                "prompt_tokens": 1000,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 600},
            },
            ONE,
        ),
        (
            openai,
            {"prompt_tokens": 1000, "completion_tokens": 50, "cached_tokens": 600},
            ONE,
        ),
        (
            openai,
            {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_cache_hit_tokens": 600},
            ONE,
        ),
        (
            responses,
            {
                "input_tokens": 1000,
                "output_tokens": 50,
                "input_tokens_details": {"cached_tokens": 600},
            },
            ONE,
        ),
        (  # thoughts are paid for as output
            google,
            {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 600,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 30,
            },
            ONE,
        ),
    ],
)
def test_what_a_service_counts_is_what_is_paid_for(
    read: Callable[[JsonObject], Usage], wire: JsonObject, counted: Usage
) -> None:
    usage = read(wire)
    assert usage == counted
    written = usage.cache_write_tokens
    fresh = 400 - written
    expected = (fresh * 10 + 600 * 1 + written * 12.5 + 50 * 100) / 1e6
    assert PRICE.cost(usage) == pytest.approx(expected)


def test_a_cache_without_a_price_of_its_own_is_paid_for_as_fresh_input() -> None:
    assert Price(input=10, output=100).cost(ONE) == pytest.approx((1000 * 10 + 50 * 100) / 1e6)
