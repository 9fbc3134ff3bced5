"""The fake services refuse the same requests as the real services, and answer like them."""

from types import ModuleType

import pytest

from agiraph.core.turns import AssistantTurn, JsonObject, ToolCall, ToolTurn, UserTurn
from tests.fakes import wire_anthropic, wire_responses
from tests.fakes.wire_anthropic import SIGNATURE, BadBody
from tests.unit.llm.bodies import anthropic_body
from tests.unit.llm.requests import ask

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": SIGNATURE}
CALL = ToolCall(id="c1", name="bash")
TURNS = (
    UserTurn(content="Begin."),
    AssistantTurn(text="Looking.", tool_calls=(CALL,)),
    ToolTurn(call_id="c1", name="bash", content="a"),
)
USER = {"type": "message", "role": "user", "content": "Hi"}


def thinking(*first: JsonObject) -> JsonObject:
    """Return a body whose answer begins with these blocks, with a budget for thinking."""
    body = anthropic_body(ask(*TURNS), "fake") | {"thinking": {"type": "enabled"}}
    body["messages"][1]["content"][:0] = first
    return body


def items(*more: JsonObject) -> JsonObject:
    return {"model": "fake", "input": [USER, *more]}


@pytest.mark.parametrize(
    ("wire", "body", "problem"),
    [
        (wire_anthropic, thinking(), "Expected `thinking`"),
        (wire_anthropic, thinking(THOUGHT | {"signature": "other"}), "Invalid `signature`"),
        (
            wire_responses,
            items({"type": "function_call_output", "call_id": "c1", "output": "x"}),
            "No tool call found",
        ),
        (
            wire_responses,
            items({"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}),
            "No tool output found",
        ),
        (
            wire_responses,
            items({"type": "reasoning", "id": "rs_1"}, {"role": "assistant", "content": "x"}),
            "not found",
        ),
        (
            wire_responses,
            items({"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed:x"}),
            "without its required following item",
        ),
    ],
)
def test_request_refused_by_the_real_api_is_refused(
    wire: ModuleType, body: JsonObject, problem: str
) -> None:
    with pytest.raises(BadBody, match=problem):
        wire.read(body)


def test_unchanged_thinking_is_accepted() -> None:
    assert len(wire_anthropic.read(thinking(THOUGHT)).turns) == len(TURNS)
