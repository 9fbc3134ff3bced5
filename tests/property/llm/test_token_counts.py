"""A count that is too low for the text of a request or an answer is replaced by an estimate."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelResponse,
    ToolCall,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.base import PartialUsage
from agiraph.llm.connect import FORMATS
from agiraph.llm.token_counts import LONGEST_TOKEN, InputSize, believed_usage, input_size
from agiraph.llm.wire.format import AnswerReader, WireFormat
from agiraph.llm.wire.sse import SseSplitter
from tests.unit.llm.requests import ask

every_format = pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)
BODY = {"model": "any", "stream": True, "stream_options": {"include_usage": True}}
SIZE = InputSize(guess=300, most=1000)
LIMIT = 10**6
WORDS = "The quick brown fox jumps over the lazy dog near 42 rivers of Kyoto; "
texts = st.integers(1, 400).map(lambda times: WORDS * times)
counts = st.integers(0, 10_000)


def streamed(wire: WireFormat, response: ModelResponse) -> AnswerReader:
    reader = wire.reader()
    for event in SseSplitter().feed(wire.writer(BODY).end(response)):
        if event.data is not None:
            reader.read(event.data)
        elif event.is_end:
            reader.end()
    return reader


def whole(wire: WireFormat, response: ModelResponse) -> AnswerReader:
    reader = wire.reader()
    for event in wire.answer_events(wire.encode_answer(BODY, response)):
        reader.read(event)
    return reader


@every_format
@given(texts | st.none(), st.lists(texts, max_size=2), counts, st.booleans())
def test_no_answer_is_billed_less_than_its_text_and_calls_have(
    wire: WireFormat, text: str | None, arguments: list[str], counted: int, is_streamed: bool
) -> None:
    calls = tuple(
        ToolCall(id=f"c{number}", name="save", arguments={"deep": [{"text": one}]})
        for number, one in enumerate(arguments)
    )
    usage = Usage(input_tokens=200, output_tokens=counted)
    response = ModelResponse(
        text=text, tool_calls=calls, stop_reason="end_turn", usage=usage, model="any"
    )
    reader = (streamed if is_streamed else whole)(wire, response)
    billed = believed_usage(reader.so_far(), SIZE, LIMIT)
    size = len(text or "") + sum(map(len, arguments))
    assert billed.output_tokens >= size // LONGEST_TOKEN
    assert billed.is_estimate == (billed.output_tokens != counted)
    if counted >= size // 3:
        assert billed == usage.model_copy(update={"is_estimate": billed.is_estimate})


THINKING: dict[str, Any] = {
    "anthropic": lambda text: [
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": text}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    ],
    "openai": lambda text: [
        {"choices": [{"delta": {"reasoning": text}, "finish_reason": "stop"}]},
    ],
    "responses": lambda text: [
        {
            "type": "response.completed",
            "response": {"output": [{"type": "reasoning", "content": [{"text": text}]}]},
        },
    ],
    "google": lambda text: [
        {
            "candidates": [
                {"content": {"parts": [{"text": text, "thought": True}]}, "finishReason": "STOP"}
            ]
        },
    ],
}


@every_format
def test_thinking_that_is_shown_counts_as_generated(wire: WireFormat) -> None:
    reader = wire.reader()
    for event in THINKING[wire.api](WORDS * 100):
        reader.read(event)
    assert "".join(reader.so_far().texts) == WORDS * 100


@given(
    st.lists(st.tuples(st.sampled_from(["user", "tool", "assistant"]), texts), max_size=3),
    counts,
    st.sampled_from(["cache_read_tokens", "cache_write_tokens", "none"]),
)
def test_no_request_is_billed_less_than_its_turns_have(
    said: list[tuple[str, str]], counted: int, cached: str
) -> None:
    turns = tuple(turn_of(kind, text) for kind, text in said)
    size = input_size(ask(*turns))
    usage = Usage(input_tokens=counted, output_tokens=1)
    if cached != "none":
        usage = usage.model_copy(update={cached: counted})
    so_far = PartialUsage(usage, 3, has_begun=True, is_complete=True)
    billed = believed_usage(so_far, size, LIMIT)
    assert billed.input_tokens >= max(1, sum(len(text) for _, text in said) // LONGEST_TOKEN)
    if size.guess <= counted <= size.most:
        assert billed == usage


def turn_of(kind: str, text: str) -> Turn:
    match kind:
        case "user":
            return UserTurn(content=text)
        case "tool":
            return ToolTurn(call_id="c", name="save", content=text)
    return AssistantTurn(text=text)


MEASURED: list[tuple[str, str, int, int]] = [
    ("125 spaces are one token of GPT-4o", " ", 6000, 48),
    ("666 spaces are one token of Claude 2", " ", 6000, 9),
    ("a line of 64 signs is one token", "=", 6000, 94),
    ("1,000 bytes of wide spaces", "\N{IDEOGRAPHIC SPACE}", 2000, 6),
    ("one long word", " telecommunications", 316, 316),
    ("one Chinese phrase", "\u4e2d\u56fd\u7279\u8272\u793e\u4f1a\u4e3b\u4e49", 250, 250),
    ("blank lines with indentation", "    \n", 1200, 300),
    ("a table of wide columns", "| name" + " " * 20 + "| value" + " " * 40, 82, 660),
    ("prose in Hindi", "\u0938\u092d\u0940 \u092e\u0928\u0941\u0937\u094d\u092f", 200, 660),
    ("base64 of zeros", "A", 6000, 375),
    ("a run of one letter", "x", 6000, 188),
]
"""Texts, with their token counts by the tokenizer with the fewest tokens."""


@pytest.mark.parametrize(
    ("about", "text", "times", "tokens"), MEASURED, ids=[m[0] for m in MEASURED]
)
@pytest.mark.parametrize("piece", [1, 7, 10**6])
def test_a_count_of_a_real_tokenizer_is_believed(
    about: str, text: str, times: int, tokens: int, piece: int
) -> None:
    whole = text * times
    pieces = [whole[start : start + piece] for start in range(0, len(whole), piece)]
    usage = Usage(input_tokens=200, output_tokens=tokens)
    so_far = PartialUsage(usage, len(whole), has_begun=True, is_complete=True, texts=pieces)
    assert believed_usage(so_far, SIZE, LIMIT) == usage


@pytest.mark.parametrize("essay", [WORDS * 350, "A" * 24_000, " " * 24_000])
def test_a_service_that_reports_one_token_for_a_long_answer_is_not_believed(essay: str) -> None:
    usage = Usage(input_tokens=200, output_tokens=1)
    so_far = PartialUsage(usage, len(essay), has_begun=True, is_complete=True, texts=[essay])
    billed = believed_usage(so_far, SIZE, LIMIT)
    assert billed.is_estimate
    assert len(essay) // 4 < billed.output_tokens < len(essay) // 2


def test_values_of_a_wrong_type_are_not_text() -> None:
    event: JsonObject = {"choices": [{"delta": {"content": [{"text": 7}], "reasoning": {"a": 1}}}]}
    reader = FORMATS["openai"].reader()
    reader.read(event)
    assert list(reader.so_far().texts) == []
