"""The bytes of an answer limit its bill, for any JSON that a service sends as usage."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.broker.call_retries import AttemptMeter
from agiraph.core.clock import SystemClock
from agiraph.core.record import why_not_stored
from agiraph.core.turns import JsonObject
from agiraph.llm.connect import FORMATS
from agiraph.llm.failures import UnreadableAnswer
from agiraph.llm.token_counts import BYTES_PER_TOKEN, LARGEST_DISCOUNT, InputSize
from agiraph.llm.wire.format import WireFormat
from agiraph.llm.wire.sse import SseSplitter
from agiraph.models.prices import HIGHEST, Price
from tests.unit.llm.requests import ask

every_format = pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)
SIZE = InputSize(guess=300, most=1000)
LIMIT = 500
PRICE = Price(input=3, output=15)
TEXT = "The quick brown fox jumps over the lazy dog. " * 8
odd: st.SearchStrategy[Any] = st.sampled_from([
    None, True, False, 0, 1, -1, 60, -465_000_000, 10**25, 10**300, 1.5, -0.0, math.nan, math.inf,
    -math.inf, 1e300, "", "12", "NaN", [], {}, [1], [[]], {"a": 1}, {"input_tokens": 5},
])  # fmt: skip
COUNTS = [
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cost",
    "prompt_cache_hit_tokens", "cache_write_tokens", "prompt_tokens_details",
    "input_tokens_details", "completion_tokens_details", "promptTokenCount",
    "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount",
    "cachedContentTokenCount", "totalTokenCount",
]  # fmt: skip
objects = st.dictionaries(st.sampled_from(COUNTS), odd, max_size=6)
usages = odd | objects | st.lists(objects, max_size=2) | st.builds(
    lambda outer, name, inner: {**outer, name: inner}, objects, st.sampled_from(COUNTS), objects
)  # fmt: skip


def answer_with(wire: WireFormat, usage: Any) -> JsonObject:
    match wire.api:
        case "anthropic":
            block = {"type": "text", "text": TEXT}
            return {"content": [block], "stop_reason": "end_turn", "usage": usage}
        case "openai":
            choice = {"message": {"content": TEXT}, "finish_reason": "stop"}
            return {"choices": [choice], "usage": usage}
        case "responses":
            message = {"type": "message", "content": [{"type": "output_text", "text": TEXT}]}
            return {"output": [message], "usage": usage}
    candidate = {"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage}


def stream_with(wire: WireFormat, first: Any, last: Any) -> list[JsonObject]:
    """Return the events of a stream that reports usage at its beginning and at its end."""
    match wire.api:
        case "anthropic":
            delta = {"type": "text_delta", "text": TEXT}
            return [
                {"type": "message_start", "message": {"usage": first}},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last},
                {"type": "message_stop"},
            ]
        case "openai":
            return [
                {"choices": [{"delta": {"content": TEXT}, "usage": first}], "x_groq": last},
                {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": first},
                {"choices": [], "usage": last},
            ]
        case "responses":
            return [
                {"type": "response.created", "response": {"usage": first}},
                {"type": "response.output_text.delta", "delta": TEXT},
                {"type": "response.completed", "response": {"output": [], "usage": last}},
            ]
    part = {"content": {"parts": [{"text": TEXT}]}}
    return [
        {"candidates": [part], "usageMetadata": first},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": last},
    ]


@every_format
@pytest.mark.parametrize("price", [PRICE, None], ids=["priced", "without a price"])
@given(usages, usages, st.booleans(), st.booleans())
def test_no_usage_is_billed_beyond_the_bounds_of_the_bytes(
    wire: WireFormat, price: Price | None, first: Any, last: Any, is_streamed: bool, is_cut: bool
) -> None:
    reader = wire.reader()
    meter = AttemptMeter(SystemClock(), SIZE, price, so_far=reader.so_far)
    events = (
        stream_with(wire, first, last)
        if is_streamed
        else wire.answer_events(answer_with(wire, last))
    )
    sent = b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in events)
    for event in list(SseSplitter().feed(sent))[: 1 if is_cut else None]:
        assert event.data is not None
        try:
            reader.read(event.data)
        except UnreadableAnswer:
            reader.has_begun = True
            break
    request = ask(max_tokens=LIMIT)
    billed = meter.usage(request)
    if billed is None:
        assert not reader.has_begun
        return
    assert 0 < billed.input_tokens <= SIZE.most
    assert 0 <= billed.output_tokens <= max(LIMIT, len(TEXT) // BYTES_PER_TOKEN + 1)
    assert 0 <= billed.cache_read_tokens + billed.cache_write_tokens <= billed.input_tokens
    assert min(billed.cache_read_tokens, billed.cache_write_tokens) >= 0
    assert not why_not_stored(billed.model_dump())
    if billed.cost_usd is not None:
        assert 0 <= billed.cost_usd <= (price or HIGHEST).most(SIZE.most, LIMIT)
        assert price is None or billed.cost_usd >= LARGEST_DISCOUNT * price.cost(billed)
    else:
        assert price is None
    if reader.finish is not None:
        answer = reader.response(request)
        assert answer.text == TEXT
