"""Turns and usage keep their shape on the way to a model and back."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
    json_in,
)


def test_a_conversation_keeps_its_kinds_of_turns() -> None:
    call = ToolCall(id="1", name="bash", arguments={"command": "ls"})
    turns = (
        UserTurn(content="go"),
        AssistantTurn(text=None, tool_calls=(call,), provider_data={"x": [1]}),
        ToolTurn(call_id="1", name="bash", content="a.txt", is_error=True),
    )
    request = ModelRequest(model="a/b", system="s", turns=turns)
    assert ModelRequest.model_validate_json(request.model_dump_json()) == request
    assert ModelRequest.model_validate(request.model_dump(mode="python")).turns == turns


def test_a_turn_of_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"tag 'system' .* does not match"):
        TypeAdapter(Turn).validate_python({"role": "system", "content": "x"})


def test_answer_enters_the_conversation_unchanged() -> None:
    call = ToolCall(id="1", name="bash", malformed="{")
    response = ModelResponse(text="t", tool_calls=(call,), provider_data={"k": "v"})
    assert response.turn() == AssistantTurn(text="t", tool_calls=(call,), provider_data={"k": "v"})


def test_usage_adds_up_and_an_unknown_cost_counts_as_nothing() -> None:
    one = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4)
    two = Usage(input_tokens=10, output_tokens=20, cost_usd=0.5)
    both = one + two
    assert (both.input_tokens, both.output_tokens, both.tokens) == (11, 22, 33)
    assert (both.cache_read_tokens, both.cache_write_tokens) == (3, 4)
    assert both.cost_usd == 0.5
    assert (one + one).cost_usd is None
    assert (two + two).cost_usd == 1.0
    assert one + Usage() == one


def test_half_a_surrogate_pair_from_a_model_becomes_text_that_can_be_stored() -> None:
    call = ToolCall(
        id="a", name="write_file", arguments={"content": ["x\ud83d", {"\ud83d": 1}, "\ud83d\ude00"]}
    )
    response = ModelResponse(text="half \ud83d", tool_calls=(call,))
    assert response.model_dump_json()
    assert response.text == "half \ufffd"
    assert call.arguments == {"content": ["x\ufffd", {"\ufffd": 1}, "😀"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["a", 1]', ["a", 1]),
        ("a name", "a name"),
        ('["\\ud83d", "\\ud83d\\ude00"]', ["\ufffd", "\U0001f600"]),
        ("[" * 100_000, "[" * 100_000),
        ("[" * 70 + "]" * 70, "[" * 70 + "]" * 70),
    ],
)
def test_json_in_a_text_can_be_encoded_and_is_not_nested_too_deep(text: str, value: Any) -> None:
    assert json_in(text) == value
