"""Each wire format: encoded data is parsed unchanged, and any body is parsed or refused."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.llm.base import RETRYABLE, FailureKind, ProviderError
from agiraph.llm.connect import FORMATS
from agiraph.llm.failures import ServiceError
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.format import NO_RESULT, WireFormat
from agiraph.llm.wire.sse import SseSplitter
from agiraph.llm.wire.transcript import short_id
from agiraph.models.registry import ModelTraits
from tests.unit.llm.requests import ask

every_format = pytest.mark.parametrize("wire", FORMATS.values(), ids=FORMATS)
BODY = {"model": "any", "stream": True, "stream_options": {"include_usage": True}}

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
spoken = texts.map(lambda text: f"x{text.strip()}x")
numbers = st.integers(-(1 << 63), (1 << 64) - 1)
objects = st.dictionaries(texts, st.none() | st.booleans() | numbers | texts, max_size=3)
names = st.sampled_from(["look", "bash", "mail__send"])
calls = st.lists(st.tuples(names, objects), max_size=3)
tools = st.builds(ToolSchema, name=names, description=texts, parameters=objects.map(lambda _: {}))


def tool_calls(number: int, made: list[tuple[str, JsonObject]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=f"c{number}-{place}", name=name, arguments=arguments)
        for place, (name, arguments) in enumerate(made)
    )


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Turn, ...]:
    """Draw turns in the order that services require: text, an answer, its results."""
    turns: list[Turn] = [UserTurn(content=draw(spoken))]
    for number in range(draw(st.integers(0, 3))):
        made = tool_calls(number, draw(calls))
        turns.append(AssistantTurn(text=draw(spoken), tool_calls=made))
        turns += [ToolTurn(call_id=call.id, name=call.name, content=draw(spoken)) for call in made]
        turns.append(UserTurn(content=draw(spoken)))
    return tuple(turns)


@every_format
@given(
    turns=conversations(),
    system=spoken,
    tool=tools,
    tokens=st.integers(16, 99_999),
    temperature=st.none() | st.just(0.5),
    schema=st.none() | st.just({"type": "object", "properties": {}}),
)
def test_parsed_request_equals_the_encoded_one(
    wire: WireFormat,
    turns: tuple[Turn, ...],
    system: str,
    tool: ToolSchema,
    tokens: int,
    temperature: float | None,
    schema: JsonObject | None,
) -> None:
    request = ModelRequest(
        model="fake",
        system=system,
        turns=turns,
        tools=(tool.model_copy(update={"parameters": {"type": "object", "properties": {}}}),),
        max_tokens=tokens,
        temperature=temperature,
        response_schema=schema,
    )
    traits = ModelTraits(api="anthropic", cache="marks")
    encoded = wire.encode_request(request, "gemini-2", traits, RequestBodyCache())
    body = json.loads(encoded) | {"model": "fake"}
    sent = wire.parse_request(body)
    assert sent == (with_short_ids(request) if wire.api == "openai" else request)


def with_short_ids(request: ModelRequest) -> ModelRequest:
    """Return a request with the ids of its calls in the form for Chat Completions services."""
    turns: list[Turn] = []
    for turn in request.turns:
        if isinstance(turn, AssistantTurn):
            calls = [call.model_copy(update={"id": short_id(call.id)}) for call in turn.tool_calls]
            turns.append(turn.model_copy(update={"tool_calls": tuple(calls)}))
        elif isinstance(turn, ToolTurn):
            turns.append(turn.model_copy(update={"call_id": short_id(turn.call_id)}))
        else:
            turns.append(turn)
    return request.model_copy(update={"turns": tuple(turns)})


answers = st.builds(
    lambda text, made, usage: ModelResponse(
        text=text or None,
        tool_calls=tool_calls(0, made),
        stop_reason="tool_use" if made else "end_turn",
        usage=Usage(input_tokens=usage, output_tokens=3, cache_read_tokens=usage // 2),
        model="anthropic/fake",
    ),
    st.text(max_size=20),
    calls,
    st.integers(0, 10_000),
)


@every_format
@given(answer=answers, size=st.integers(1, 7))
def test_parsed_answer_equals_the_written_one(
    wire: WireFormat, answer: ModelResponse, size: int
) -> None:
    writer, text = wire.writer(BODY), answer.text or ""
    pieces = [writer.text(text[at : at + 5]) for at in range(0, len(text), 5)]
    stream = b"".join([*pieces, writer.end(answer)])
    splitter = SseSplitter()
    parts = (stream[at : at + size] for at in range(0, len(stream), size))
    events = [event.data for part in parts for event in splitter.feed(part) if event.data]
    whole = json.loads(json.dumps(wire.encode_answer(BODY, answer)))
    for read in (events, wire.answer_events(whole)):
        reader = wire.reader()
        streamed = "".join(reader.feed(event) for event in read)
        assert reader.response(ask()) == answer
        assert streamed in (text, "")
        assert reader.so_far().is_complete
    with pytest.raises(ProviderError, match="broke off"):
        wire.reader().response(ask())


@every_format
@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_every_error_is_written_and_says_whether_to_retry(
    wire: WireFormat, kind: FailureKind
) -> None:
    error = wire.error(kind, "so it is", retry_after=2)
    assert error.status >= 400
    assert "so it is" in json.dumps(error.body)
    assert error.headers["x-should-retry"] == ("true" if kind in RETRYABLE else "false")
    [event] = [e.data for e in SseSplitter().feed(wire.writer(BODY).error(error)) if e.data][-1:]
    with pytest.raises(ServiceError, match="so it is"):
        wire.reader().feed(event)


NAMES = ["role", "content", "type", "text", "id", "input", "tool_calls", "function", "name", "x"]
NAMES += ["parts", "functionCall", "functionResponse", "function_declarations", "parameters"]
VALUES = ["user", "assistant", "text", "tool_use", "tool_result", "function_call", "message"]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*VALUES, "model"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)


@every_format
@given(one=junk, other=junk)
def test_any_body_is_parsed_or_refused(wire: WireFormat, one: Any, other: Any) -> None:
    fields = ("messages", "input", "system", "response_format", "contents", "systemInstruction")
    body = {"model": "any", "tools": other, **dict.fromkeys((*fields, "toolConfig"), one)}
    body |= dict.fromkeys(("tool_choice", "text", "stream_options", "generationConfig"), other)
    known = wire.rules.parameters
    try:
        body = wire.rules.checked({name: body[name] for name in body if name in known})
        wire.rules.why_native_only(body)
        wire.forwarded(body, "m", 5, ModelTraits(api="openai"))
        request = wire.parse_request(body)
    except InvalidInput:
        return
    assert request.model == "any"
    wire.writer(body).end(ModelResponse(text="x"))


def test_calls_are_followed_directly_by_their_results() -> None:
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
    _, answer, first, second, _ = FORMATS["anthropic"].parse_request(body).turns
    assert isinstance(answer, AssistantTurn)
    assert answer.provider_data is not None
    assert first == ToolTurn(call_id="a", name="look", content=NO_RESULT, is_error=True)
    assert second == ToolTurn(call_id="b", name="look", content="[image]")
