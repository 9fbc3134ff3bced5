"""Answers of a service, changed at any place: they are read or refused, and are always metered."""

import copy
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.turns import JsonObject, ModelResponse, ToolCall, Usage
from agiraph.llm.base import ProviderError
from agiraph.llm.connect import FORMATS
from agiraph.llm.failures import ServiceError, UnreadableAnswer
from agiraph.llm.token_counts import InputSize, believed_usage
from agiraph.llm.wire.sse import SseSplitter
from tests.property.llm.test_proxy_requests import places
from tests.unit.llm.requests import ask

BODY = {"model": "any", "stream": True, "stream_options": {"include_usage": True}}
SIZE = InputSize(guess=300, most=1000)
ANSWER = ModelResponse(
    text="hello there",
    tool_calls=(
        ToolCall(id="c1", name="bash", arguments={"command": "ls", "more": [1, {"a": None}]}),
        ToolCall(id="c2", name="look", arguments={}),
    ),
    stop_reason="tool_use",
    usage=Usage(input_tokens=20, output_tokens=9, cache_read_tokens=3),
    model="any",
)
THINKING: dict[str, list[JsonObject]] = {
    "anthropic": [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "t"},
        },
    ],
    "openai": [
        {
            "choices": [
                {
                    "delta": {
                        "reasoning": "r",
                        "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "t"}],
                    }
                }
            ]
        },
    ],
    "responses": [
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "reasoning", "summary": [{"text": "s"}], "encrypted_content": "a"},
        },
    ],
    "google": [
        {
            "candidates": [
                {"content": {"parts": [{"text": "t", "thought": True, "thoughtSignature": "s"}]}}
            ]
        },
    ],
}
ODD: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, math.nan, "", "x", "\ud800", [], {}, [[]], [None], ["x"], [{}],
    {"a": 1}, {"type": "text"}, {"text": 5}, {"type": ["a"]}, {"index": "x"}, {"id": {"a": 1}},
    {"name": [1]}, {"arguments": {"a": [math.inf]}}, {"output": "x"}, {"error": {}},
]  # fmt: skip


def streams(api: str) -> list[list[JsonObject]]:
    """Return the events of a streamed answer, and of an answer in one piece."""
    wire = FORMATS[api]
    events = SseSplitter().feed(wire.writer(BODY).end(ANSWER))
    streamed = [event.data for event in events if event.data is not None]
    whole = wire.answer_events(wire.encode_answer(BODY, ANSWER))
    return [[*streamed[:1], *THINKING[api], *streamed[1:]], whole]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMATS)), st.integers(0, 1), st.integers(1, 3), st.data())
def test_a_changed_answer_is_read_or_refused_and_always_metered(
    api: str, kind: int, times: int, data: st.DataObject
) -> None:
    events: list[Any] = copy.deepcopy(streams(api)[kind])
    for _ in range(times):
        path = data.draw(st.sampled_from([one for one in places(events) if len(one) > 1]))
        holder: Any = events
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    reader = FORMATS[api].reader()
    is_read = True
    for event in events:
        try:
            assert isinstance(reader.read(event), str)
        except (UnreadableAnswer, ServiceError):
            is_read = False
            break
    billed = believed_usage(reader.so_far(), SIZE, 500)
    assert 0 < billed.input_tokens <= SIZE.most
    if is_read:
        try:
            assert isinstance(reader.response(ask()), ModelResponse)
        except (ProviderError, UnreadableAnswer):
            pass
