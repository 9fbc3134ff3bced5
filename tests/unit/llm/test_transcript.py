"""Every conversation becomes requests that the real APIs accept."""

import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, UserTurn
from agiraph.llm.connect import FORMATS
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.transcript import (
    read_arguments,
    read_call,
    short_id,
    unique_calls,
    wire_id,
    wire_name,
)
from agiraph.models.registry import ModelTraits, load_presets
from tests.fakes import wire_anthropic, wire_google, wire_openai, wire_responses
from tests.unit.llm.bodies import anthropic_body, encoded, google_body, openai_body
from tests.unit.llm.requests import ask

FAKES = {
    "anthropic": wire_anthropic,
    "openai": wire_openai,
    "responses": wire_responses,
    "google": wire_google,
}
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Turn, ...]:
    """Turns as the loop keeps them: every call has a result, messages may be anywhere."""
    turns: list[Turn] = []
    for number in range(draw(st.integers(0, 6))):
        turns += [UserTurn(content=draw(texts)) for _ in range(draw(st.integers(0, 2)))]
        calls = tuple(
            ToolCall(id=f"{draw(texts)}:{number}.{n}", name=draw(texts), arguments={"a": n})
            for n in range(draw(st.integers(0, 3)))
        )
        thought = {
            "api": "anthropic",
            "thinking": [{"type": "thinking", "thinking": "hm", "signature": "sig"}],
        }
        turns.append(
            AssistantTurn(
                text=draw(st.none() | texts),
                tool_calls=calls,
                interrupted=draw(st.booleans()),
                provider_data=draw(st.sampled_from([None, thought])),
            )
        )
        for call in calls:
            turns += [UserTurn(content=draw(texts)) for _ in range(draw(st.integers(0, 1)))]
            turns.append(ToolTurn(call_id=call.id, name=call.name, content=draw(texts)))
    turns += [UserTurn(content=draw(texts)) for _ in range(draw(st.integers(0, 2)))]
    return tuple(turns)


@pytest.mark.parametrize("api", FAKES)
@given(turns=conversations())
def test_encoded_conversation_is_accepted_by_the_service(api: str, turns: tuple[Turn, ...]) -> None:
    preset = load_presets()["openai-responses" if api == "responses" else api]
    body = encoded(api, ask(*turns), "fake", preset) | {"model": "fake"}
    sent_id = short_id if api == "openai" else wire_id
    found = [call for turn in FAKES[api].read(body).turns for call in calls_of(turn)]
    assert found == [sent_id(call) for turn in turns for call in calls_of(turn)]
    assert json.dumps(body).count("cache_control") <= 4
    messages = body.get("messages") or body.get("contents") or []
    roles = [message["role"] for message in messages]
    assert ("user", "user") not in list(itertools.pairwise(roles))
    assert api not in ("anthropic", "google") or roles[-1] == "user"


def calls_of(turn: Turn) -> list[str]:
    return [call.id for call in turn.tool_calls] if isinstance(turn, AssistantTurn) else []


@given(st.text())
def test_short_ids_are_nine_letters_and_digits_and_stay(call_id: str) -> None:
    short = short_id(call_id)
    assert re.fullmatch("[a-zA-Z0-9]{9}", short)
    assert short_id(short) == short


def test_message_between_two_results_moves_behind_them() -> None:
    answer = AssistantTurn(tool_calls=(ToolCall(id="a", name="x"), ToolCall(id="b", name="x")))
    one, two = (ToolTurn(call_id=id, name="x", content=id) for id in "ab")
    word, last = UserTurn(content="by the way"), UserTurn(content="and?")
    begin = UserTurn(content="Begin.")
    mixed = ask(begin, answer, one, word, two, last)
    ordered = ask(begin, answer, one, two, word, last)
    assert anthropic_body(mixed, "fake") == anthropic_body(ordered, "fake")
    assert openai_body(mixed, "fake") == openai_body(ordered, "fake")
    assert google_body(mixed, "fake") == google_body(ordered, "fake")


MARKS = ModelTraits(api="anthropic", cache="marks")
ENCODE = FORMATS["anthropic"].encode_request


@given(conversations())
def test_cached_beginning_changes_no_request(turns: tuple[Turn, ...]) -> None:
    for name in ("anthropic", "openai", "openai-responses", "google"):
        known, preset = RequestBodyCache(), load_presets()[name]
        encode = FORMATS[preset.of("fake").api].encode_request
        for end in askable(turns):
            request = ask(*turns[:end])
            by_known = encode(request, "fake", preset, known)
            assert by_known == encode(request, "fake", preset, RequestBodyCache())


def test_restarted_conversation_does_not_reuse_the_cached_beginning() -> None:
    memo = RequestBodyCache()
    old = long_conversation("old")
    ENCODE(ask(*old), "fake", MARKS, memo)
    new = (UserTurn(content="new"), *old[4:])
    body = ENCODE(ask(*new), "fake", MARKS, memo)
    assert body == ENCODE(ask(*new), "fake", MARKS, RequestBodyCache())


def test_cache_forgets_unused_beginnings() -> None:
    memo = RequestBodyCache(kept_bytes=3000)
    for number in range(9):
        request = ask(*long_conversation(str(number)), entity=f"a/{number}")
        ENCODE(request, "fake", MARKS, memo)
    assert memo.beginning(ask(*long_conversation("0"), entity="a/0")) == (0, b"")
    assert memo.beginning(request)[0] > 0


def long_conversation(name: str) -> tuple[Turn, ...]:
    turns: list[Turn] = [UserTurn(content=name)]
    for number in range(10):
        call = ToolCall(id=f"{name}-{number}", name="bash")
        turns.append(AssistantTurn(tool_calls=(call,)))
        turns.append(ToolTurn(call_id=call.id, name="bash", content="x" * 100))
    return tuple(turns)


def askable(turns: tuple[Turn, ...]) -> list[int]:
    """Return the numbers of turns after which the model can be called: no call is open."""
    ends, open_calls = [], 0
    for end, turn in enumerate(turns, 1):
        if isinstance(turn, AssistantTurn):
            open_calls = len(turn.tool_calls)
        open_calls -= isinstance(turn, ToolTurn)
        if not open_calls:
            ends.append(end)
    return ends


def test_an_id_that_a_provider_refuses_is_replaced_by_a_digest() -> None:
    assert wire_id("call_1-a") == "call_1-a"
    assert wire_id("survey:coordinator:3") == wire_id("survey:coordinator:3")
    assert wire_id("survey:coordinator:3") != wire_id("survey:coordinator:4")
    assert len(wire_id("x" * 99)) <= 40


def test_invalid_tool_name_is_sanitized() -> None:
    assert wire_name("files__read") == "files__read"
    assert wire_name("functions.bash:0") == "functions_bash_0"
    assert wire_name("") == "unknown"


def test_arguments_that_are_not_an_object_are_kept_as_text() -> None:
    assert read_arguments('{"a": 1}') == ({"a": 1}, None)
    assert read_arguments("  ") == ({}, None)
    assert read_arguments('{"a": ') == ({}, '{"a": ')
    assert read_arguments("[1]") == ({}, "[1]")
    assert read_arguments("[" * 100_000)[1] is not None
    assert read_call("1", "bash", "oops").malformed == "oops"


def test_repeated_call_ids_are_replaced() -> None:
    before = AssistantTurn(tool_calls=(ToolCall(id="call_0", name="bash"),))
    result = ToolTurn(call_id="call_0", name="bash", content="")
    calls = [ToolCall(id=id, name="bash") for id in ("call_0", "", "call_1", "call_1")]
    made = unique_calls(calls, ask(before, result))
    assert made[2].id == "call_1"
    assert len({"call_0", "", *(call.id for call in made)}) == 6
