"""Which counts of a service are believed, and the estimates in place of the others."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import JsonObject, Usage, UserTurn
from agiraph.llm.base import PartialUsage
from agiraph.llm.connect import FORMATS
from agiraph.llm.token_counts import (
    BYTES_PER_TOKEN,
    InputSize,
    believed_usage,
    charged_usd,
    guess_input_tokens,
    input_size,
    is_possible_cost,
)
from agiraph.llm.wire.format import WireFormat
from tests.unit.llm.requests import ask

SIZE = InputSize(guess=300, most=1000)
LIMIT = 500
TEXT = "fine " * 60
FALSE_COUNTS: list[Any] = [-1, -465_000_000, 10**25, 1.5, "12", True, [], {}, math.nan, math.inf]
NO_COUNTS: list[Any] = [None, 0]


def answered(usage: Usage, size: int = len(TEXT), *, is_complete: bool = True) -> PartialUsage:
    return PartialUsage(usage, size, has_begun=True, is_complete=is_complete)


def test_the_guess_of_input_counts_system_turns_and_tools() -> None:
    small = guess_input_tokens(ask(tools=()))
    assert guess_input_tokens(ask()) > small
    assert guess_input_tokens(ask(UserTurn(content="x" * 3000))) > small + 900


def test_a_text_has_at_most_one_token_per_byte() -> None:
    plain, other = (
        ask(UserTurn(content="x" * 900)),
        ask(UserTurn(content="\N{CJK UNIFIED IDEOGRAPH-6F22}" * 900)),
    )
    assert guess_input_tokens(other) == guess_input_tokens(plain) + 600
    assert input_size(other).most == input_size(plain).most + 1800


@given(
    *[st.integers(-(10**30), 10**30) | st.integers(-1, 2000)] * 4,
    st.integers(0, 3000),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_billed_tokens_are_limited_by_the_bytes(
    asked: int, said: int, read: int, written: int, size: int, is_complete: bool, unseen: int
) -> None:
    counted = Usage(
        input_tokens=asked, output_tokens=said, cache_read_tokens=read, cache_write_tokens=written
    )
    billed = believed_usage(answered(counted, size, is_complete=is_complete), SIZE, LIMIT, unseen)
    assert 0 < billed.input_tokens <= SIZE.most
    assert 0 <= billed.output_tokens <= max(LIMIT, size // BYTES_PER_TOKEN + 1)
    assert 0 <= billed.cache_read_tokens + billed.cache_write_tokens <= billed.input_tokens
    assert billed.is_estimate or billed == counted


def test_reasoning_that_is_not_streamed_is_estimated_by_its_time_up_to_the_limit() -> None:
    begun = Usage(input_tokens=900, output_tokens=1)

    def output(unseen: int, *, is_complete: bool) -> int:
        so_far = answered(begun, is_complete=is_complete)
        return believed_usage(so_far, SIZE, LIMIT, unseen).output_tokens

    assert output(400, is_complete=False) == 400
    assert output(10**6, is_complete=False) == LIMIT
    assert output(10**6, is_complete=True) == 1


def reported(wire: WireFormat, asked: Any, said: Any, cached: Any = None) -> JsonObject:
    """Return a complete answer in a format, with these counts."""
    usage: JsonObject
    match wire.api:
        case "anthropic":
            usage = {"input_tokens": asked, "output_tokens": said}
            usage["cache_read_input_tokens"] = cached
            block = {"type": "text", "text": TEXT}
            return {"content": [block], "stop_reason": "end_turn", "usage": usage}
        case "openai":
            usage = {"prompt_tokens": asked, "completion_tokens": said}
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
            choice = {"message": {"content": TEXT}, "finish_reason": "stop"}
            return {"choices": [choice], "usage": usage}
        case "responses":
            usage = {"input_tokens": asked, "output_tokens": said}
            usage["input_tokens_details"] = {"cached_tokens": cached}
            message = {"type": "message", "content": [{"type": "output_text", "text": TEXT}]}
            return {"output": [message], "usage": usage}
        case _:
            usage = {"promptTokenCount": asked, "candidatesTokenCount": said}
            usage["cachedContentTokenCount"] = cached
            candidate = {"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}
            return {"candidates": [candidate], "usageMetadata": usage}


def billed_for(wire: WireFormat, answer: JsonObject) -> Usage:
    reader = wire.reader()
    for event in wire.answer_events(answer):
        reader.feed(event)
    return believed_usage(reader.so_far(), SIZE, LIMIT)


@pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("wrong", [*FALSE_COUNTS, *NO_COUNTS], ids=repr)
def test_a_count_that_cannot_be_true_is_estimated_in_every_format(
    wire: WireFormat, wrong: Any
) -> None:
    true = Usage(input_tokens=200, output_tokens=60, cache_read_tokens=0)
    assert billed_for(wire, reported(wire, 200, 60)) == true
    asked = billed_for(wire, reported(wire, wrong, 60))
    assert (asked.input_tokens, asked.output_tokens, asked.is_estimate) == (SIZE.guess, 60, True)
    said = billed_for(wire, reported(wire, 200, wrong))
    assert (said.input_tokens, said.is_estimate) == (200, True)
    assert len(TEXT) // 4 <= said.output_tokens <= len(TEXT)
    if wrong:  # an empty value is no count
        cached = billed_for(wire, reported(wire, 200, 60, wrong))
        assert (cached.cache_read_tokens, cached.is_estimate) == (0, True)


@pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("usage", [None, 7, "many", [], {}], ids=repr)
def test_an_answer_without_counts_is_estimated_in_every_format(
    wire: WireFormat, usage: Any
) -> None:
    answer = reported(wire, 1, 1)
    name = "usageMetadata" if wire.api == "google" else "usage"
    billed = billed_for(wire, answer | {name: usage})
    assert (billed.input_tokens, billed.is_estimate) == (SIZE.guess, True)
    assert billed.output_tokens >= len(TEXT) // 4


@pytest.mark.parametrize("cost", [-1.0, 0, 0.04, 1.01, math.nan, math.inf, "free", True, 10**400])
def test_a_cost_that_cannot_be_true_is_not_believed(cost: Any) -> None:
    charged = charged_usd(cost)
    assert charged is not None
    assert not is_possible_cost(charged, usual=0.5, most=1.0)


@pytest.mark.parametrize(("cost", "usual"), [(0, 0), (0.3, 0), (0.3, 0.5), (0.06, 0.5), (1, 0.5)])
def test_a_cost_with_a_usual_discount_is_believed(cost: float, usual: float) -> None:
    assert is_possible_cost(cost, usual, most=1.0)
