"""The Chat Completions format: bodies, and answers from the chunks of services with accents."""

from typing import Any

import pytest

from agiraph.core.turns import ModelResponse
from agiraph.llm.wire.chat import ChatReader
from tests.unit.llm.bodies import openai_body
from tests.unit.llm.requests import ask


def answer(*deltas: dict[str, Any], finish: str | None = "stop", **last: Any) -> ModelResponse:
    got = ChatReader()
    for delta in deltas:
        got.feed({"choices": [{"delta": delta, "finish_reason": None}]})
    got.feed({"choices": [{"delta": {}, "finish_reason": finish}], **last})
    return got.response(ask(model="openai/fake"))


def piece(arguments: str, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **fields.pop("function", {})}
    return {"tool_calls": [{"function": function, **fields}]}


def test_body_has_tools_and_requests_usage() -> None:
    body = openai_body(ask(model="openai/fake"), "fake", max_tokens_field="max_completion_tokens")
    assert body["max_completion_tokens"] == 8192
    assert "max_tokens" not in body
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0]["function"]["name"] == "bash"
    assert body["messages"][0] == {"role": "system", "content": "You are ada."}


def test_several_calls_are_assembled_from_pieces() -> None:
    response = answer(
        {"content": "Two."},
        piece("", index=0, id="a", function={"name": "bash"}),
        piece('{"command"', index=0),
        piece("", index=1, id="b", function={"name": "wait"}),
        piece(': "ls"}', index=0),
        piece("{}", index=1),
        finish="tool_calls",
    )
    assert response.text == "Two."
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [
        ("a", "bash", {"command": "ls"}),
        ("b", "wait", {}),
    ]
    assert response.stop_reason == "tool_use"


def test_services_without_an_index_or_with_objects_are_understood() -> None:
    response = answer(
        {"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": '{"n": '}}]},
        {"tool_calls": [{"function": {"arguments": "1}"}}]},
        {"tool_calls": [{"id": "b", "function": {"name": "y", "arguments": {"m": 2}}}]},
    )
    assert [(c.id, c.arguments) for c in response.tool_calls] == [("a", {"n": 1}), ("b", {"m": 2})]
    assert response.stop_reason == "tool_use", "calls count, whatever the finish reason says"


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")],
)
def test_finish_reason_becomes_a_stop_reason(finish: str, stop: str) -> None:
    assert answer({"content": "x"}, finish=finish).stop_reason == stop


def test_a_refusal_is_text_and_a_reason() -> None:
    response = answer({"refusal": "I will not."})
    assert (response.text, response.stop_reason) == ("I will not.", "refusal")


def test_reasoning_is_sent_back_only_to_its_own_model() -> None:
    response = answer({"reasoning_content": "hm, "}, {"reasoning_content": "yes"}, {"content": "x"})
    assert response.text == "x"
    mine = openai_body(ask(response.turn(), model="openai/fake"), "fake")
    assert mine["messages"][1]["reasoning_content"] == "hm, yes"
    other = openai_body(ask(response.turn(), model="openai/other"), "other")
    assert "reasoning_content" not in other["messages"][1]
