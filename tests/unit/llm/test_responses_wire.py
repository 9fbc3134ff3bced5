"""The Responses format: requests, stored parts of an answer, and failures."""

from typing import Any

import pytest

from agiraph.core.turns import AssistantTurn, ModelResponse, ToolCall, ToolTurn, Turn, UserTurn
from agiraph.llm.failures import UnreadableAnswer, explain
from agiraph.llm.wire.responses import ResponsesReader
from tests.unit.llm.bodies import responses_body
from tests.unit.llm.requests import ask

JsonObject = dict[str, Any]
MODEL = "openai-responses/fake"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}


def message(text: str, **fields: Any) -> JsonObject:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content} | fields


def function(name: str, arguments: str, id: str = "c1") -> JsonObject:
    call = {"type": "function_call", "id": f"fc_{id}", "call_id": id}
    return call | {"name": name, "arguments": arguments}


def answer(*items: JsonObject, **response: Any) -> ModelResponse:
    got = ResponsesReader()
    for index, item in enumerate(items):
        got.feed({"type": "response.output_item.done", "output_index": index, "item": item})
    got.feed({"type": "response.completed", "response": response})
    return got.response(ask(model=MODEL))


def sent_back(response: ModelResponse, model: str = MODEL) -> list[JsonObject]:
    results = [ToolTurn(call_id=c.id, name=c.name, content="ok") for c in response.tool_calls]
    turns: list[Turn] = [UserTurn(content="Begin."), response.turn(), *results]
    items: list[JsonObject] = responses_body(ask(*turns, model=model), "fake")["input"]
    return items[1:]


def test_responses_are_not_stored_and_encrypted_reasoning_is_requested() -> None:
    body = responses_body(ask(model=MODEL), "fake", effort="high", max_output=9)
    assert (body["store"], body["stream"]) == (False, True)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "You are ada."
    assert body["reasoning"] == {"effort": "high"}
    assert body["prompt_cache_key"] == "shop-1/ada"
    assert body["max_output_tokens"] == 8192
    assert body["tools"][0]["strict"] is False
    plain = responses_body(ask(model=MODEL), "fake", reasoning="dropped", cache="none")
    assert not {"include", "prompt_cache_key", "reasoning"} & plain.keys()


def test_encrypted_reasoning_is_sent_back_at_its_place() -> None:
    items = (REASONING, message("First.", phase="commentary"), function("bash", '{"a": 1}'))
    response = answer(*items)
    assert response.text == "First."
    assert response.tool_calls == (ToolCall(id="c1", name="bash", arguments={"a": 1}),)
    back = sent_back(response)
    assert back[0] == REASONING
    assert back[1]["phase"] == "commentary"
    assert [item["type"] for item in back] == [
        "reasoning", "message", "function_call", "function_call_output",
    ]  # fmt: skip


def test_encrypted_reasoning_is_not_sent_to_another_model() -> None:
    response = answer(REASONING, message("x"))
    types = [item["type"] for item in sent_back(response, "openai-responses/other")]
    assert types == ["message"]


def test_reasoning_without_an_answer_is_omitted() -> None:
    response = answer(REASONING, incomplete_details={"reason": "max_output_tokens"})
    assert (response.text, response.stop_reason) == (None, "max_tokens")
    assert sent_back(response) == []


def test_shortened_turn_is_sent_as_plain_text() -> None:
    data = answer(REASONING, message("a long story")).provider_data
    short = AssistantTurn(text="a long ...", provider_data=data)
    items = responses_body(ask(UserTurn(content="a"), short, model=MODEL), "fake")["input"]
    assert [item["type"] for item in items] == ["message", "message"]


def test_usage_and_stop_reasons_are_read() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2}
    details = {"cached_tokens": 5, "cache_write_tokens": 3}
    response = answer(message("x"), usage=usage | {"input_tokens_details": details})
    counted = response.usage
    assert (counted.input_tokens, counted.cache_read_tokens, counted.cache_write_tokens) == (
        9,
        5,
        3,
    )
    refused = message("x") | {"content": [{"type": "refusal", "refusal": "No."}]}
    assert (answer(refused).text, answer(refused).stop_reason) == ("No.", "refusal")
    assert answer(function("bash", "{")).tool_calls[0].malformed == "{"
    filtered = answer(message("x"), incomplete_details={"reason": "content_filter"})
    assert filtered.stop_reason == "refusal"


def test_an_answer_without_events_of_its_items_is_read_from_its_end() -> None:
    assert answer(output=[message("whole")]).text == "whole"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, "rate_limited"),
        ({"type": "error", "code": "server_error", "message": "oh"}, "overloaded"),
        (
            {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}},
            "context_too_long",
        ),
    ],
)
def test_a_failure_in_mid_stream_has_its_kind(event: JsonObject, kind: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        ResponsesReader().feed(event)
    assert explain(caught.value, "openai", "m", "http://x", "").kind == kind


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_item.added", "item": 5},
        {"type": "response.output_item.done", "item": "text"},
        {"type": "response.completed", "response": None},
        {"type": "response.incomplete", "response": [1]},
    ],
)
def test_an_event_without_its_object_is_unreadable(event: JsonObject) -> None:
    with pytest.raises(UnreadableAnswer, match="has no object"):
        ResponsesReader().read(event)
