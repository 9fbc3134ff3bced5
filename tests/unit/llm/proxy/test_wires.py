"""The door's wires, pure: what is read, what is told, and that nothing a client sends breaks it."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import AssistantTurn, ModelResponse, ToolCall, ToolTurn, Usage
from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.proxy.anthropic import AnthropicProxyFormat
from agiraph.llm.proxy.chat import ChatProxyFormat
from agiraph.llm.proxy.format import NO_RESULT, ProxyFormat
from agiraph.llm.proxy.google import GoogleProxyFormat
from agiraph.llm.proxy.responses import ResponsesProxyFormat
from agiraph.llm.wire.sse import SseSplitter
from tests.unit.llm.proxy.test_grants import GRANT
from tests.unit.llm.requests import ask

WIRES: list[ProxyFormat] = [
    AnthropicProxyFormat(),
    ChatProxyFormat(),
    ResponsesProxyFormat(),
    GoogleProxyFormat(),
]
BODY = {"model": "any", "stream": True, "stream_options": {"include_usage": True}}
NAMES = ["role", "content", "type", "text", "id", "input", "tool_calls", "function", "name", "x"]
NAMES += [
    "parts",
    "functionCall",
    "functionResponse",
    "function_declarations",
    "parameters",
    "items",
]
VALUES = [
    "user",
    "assistant",
    "text",
    "tool_use",
    "tool_result",
    "function_call",
    "message",
    "model",
]

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.api)
@settings(max_examples=60, deadline=None)
@given(junk, junk)
def test_whatever_a_client_sends_is_read_or_refused(
    wire: ProxyFormat, said: Any, tools: Any
) -> None:
    body = {"model": "any", "messages": said, "input": said, "tools": tools, "system": said}
    body |= {"tool_choice": tools, "text": tools, "response_format": said, "stream_options": said}
    body |= {
        "contents": said,
        "systemInstruction": said,
        "generationConfig": tools,
        "toolConfig": said,
    }
    try:
        wire.untranslatable(body)
        wire.handed_on(body, "m", 5)
        request = wire.read(body, GRANT, GRANT.model)
    except InvalidInput:
        return
    assert request.entity == GRANT.entity
    wire.telling(body, "any").end(ModelResponse(text="x"))


ANSWERS = st.builds(
    lambda text, calls, usage: ModelResponse(
        text=text or None,
        tool_calls=tuple(
            ToolCall(id=f"c{n}", name=name, arguments={"a": text}) for n, name in enumerate(calls)
        ),
        stop_reason="tool_use" if calls else "end_turn",
        usage=Usage(input_tokens=usage, output_tokens=3),
    ),
    st.text(max_size=20),
    st.lists(st.sampled_from(["look", "bash"]), max_size=3),
    st.integers(0, 10_000),
)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.api)
@settings(max_examples=40, deadline=None)
@given(ANSWERS, st.integers(1, 7))
def test_what_is_told_is_heard_as_it_was(
    wire: ProxyFormat, answer: ModelResponse, size: int
) -> None:
    telling = wire.telling(BODY, "any")
    text = answer.text or ""
    pieces = [telling.text(text[at : at + 5]) for at in range(0, len(text), 5)]
    streamed = b"".join([*pieces, telling.end(answer)])
    hearing, cutter = wire.hearing(BODY), SseSplitter()
    for at in range(0, len(streamed), size):
        for event in cutter.feed(streamed[at : at + size]):
            if event.data is not None:
                hearing.feed(event.data)
    heard = hearing.response(ask())
    whole = wire.hearing(BODY)
    for data in wire.whole_events(json.loads(json.dumps(wire.whole(BODY, answer)))):
        whole.feed(data)
    for one in (heard, whole.response(ask())):
        assert (one.text or "") == text
        assert one.stop_reason == answer.stop_reason
        assert [(c.id, c.name, c.arguments) for c in one.tool_calls] == [
            (c.id, c.name, c.arguments) for c in answer.tool_calls
        ]
        assert one.usage == answer.usage


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.api)
@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_every_failure_is_told_and_says_whether_to_try_again(
    wire: ProxyFormat, kind: FailureKind
) -> None:
    failure = wire.failure(kind, "so it is", retry_after=2)
    assert failure.status >= 400
    assert "so it is" in json.dumps(failure.body)
    should = "true" if kind in RETRYABLE else "false"
    assert failure.headers["x-should-retry"] == should
    assert wire.telling(BODY, "any").failed(failure)


def test_calls_are_answered_right_after_they_are_made() -> None:
    body = {
        "model": "any",
        "messages": [
            {"role": "user", "content": "Begin."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Meanwhile."},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "image"}]},
                ],
            },
        ],
    }
    _, answer, first, second, _ = AnthropicProxyFormat().read(body, GRANT, GRANT.model).turns
    assert isinstance(answer, AssistantTurn)
    assert answer.provider_data is not None
    assert isinstance(first, ToolTurn)
    assert isinstance(second, ToolTurn)
    assert (first.call_id, first.content, first.is_error) == ("a", NO_RESULT, True)
    assert (second.call_id, second.content) == ("b", "[image]")
