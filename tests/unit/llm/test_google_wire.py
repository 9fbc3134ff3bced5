"""The Gemini format: requests, positions of signatures, and ends of answers."""

from typing import Any

import pytest

from agiraph.core.turns import AssistantTurn, ModelResponse, ToolCall, ToolTurn, Turn, UserTurn
from agiraph.llm.failures import ServiceError, explain
from agiraph.llm.wire.google import GoogleReader
from tests.unit.llm.bodies import google_body
from tests.unit.llm.requests import ask

JsonObject = dict[str, Any]
MODEL = "google/gemini-3"


def answer(*parts: JsonObject, finish: str | None = "STOP", **chunk: Any) -> ModelResponse:
    got = GoogleReader()
    for part in parts:
        got.feed({"candidates": [{"content": {"role": "model", "parts": [part]}}]})
    got.feed({"candidates": [{"finishReason": finish}]} | chunk)
    return got.response(ask(model=MODEL))


def sent_back(response: ModelResponse, model: str = "gemini-3") -> list[JsonObject]:
    results = [ToolTurn(call_id=c.id, name=c.name, content="ok") for c in response.tool_calls]
    turns: list[Turn] = [UserTurn(content="Begin."), response.turn(), *results]
    contents = google_body(ask(*turns, model=f"google/{model}"), model)["contents"]
    parts: list[JsonObject] = contents[1]["parts"]
    return parts


def call(name: str, signature: str | None = None, id: str = "c1") -> JsonObject:
    part: JsonObject = {"functionCall": {"id": id, "name": name, "args": {}}}
    return part | ({"thoughtSignature": signature} if signature else {})


def test_body_has_the_fields_of_gemini() -> None:
    asked = ask(model=MODEL, temperature=0.5, max_tokens=99)
    body = google_body(asked, "gemini-3", effort="low")
    assert body["systemInstruction"] == {"parts": [{"text": "You are ada."}]}
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "bash"
    assert body["generationConfig"] == {
        "maxOutputTokens": 99,
        "temperature": 0.5,
        "thinkingConfig": {"thinkingLevel": "low"},
    }
    extra = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "safetySettings": []}
    more = google_body(ask(model=MODEL), "gemini-3", extra=extra)
    assert more["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}
    assert more["generationConfig"]["maxOutputTokens"] == 8192
    assert more["safetySettings"] == []


def test_signatures_are_sent_back_on_their_parts() -> None:
    thought = {"text": "hm", "thought": True}
    response = answer(thought, {"text": "On it"}, {"text": "."}, call("a", "s1"), call("b", id="d"))
    assert response.text == "On it."
    assert [made.name for made in response.tool_calls] == ["a", "b"]
    back = sent_back(response)
    assert back[0] == {"text": "On it."}
    assert back[1]["thoughtSignature"] == "s1"
    assert "thoughtSignature" not in back[2]


def test_signature_without_text_is_sent_back_as_its_own_part() -> None:
    response = answer({"text": "Yes."}, {"text": "", "thoughtSignature": "s"})
    assert response.text == "Yes."
    assert sent_back(response) == [{"text": "Yes."}, {"text": "", "thoughtSignature": "s"}]


def test_calls_of_another_model_have_the_foreign_signature() -> None:
    made = (ToolCall(id="c1", name="a"), ToolCall(id="c2", name="b"))
    results = [ToolTurn(call_id=one.id, name=one.name, content="ok") for one in made]
    asked = ask(UserTurn(content="x"), AssistantTurn(tool_calls=made), *results, model=MODEL)
    one, two = google_body(asked, "gemini-3")["contents"][1]["parts"]
    assert one["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in two
    older = google_body(asked, "gemini-2.5-flash")["contents"][1]["parts"]
    assert not any("thoughtSignature" in part for part in older)


def test_error_result_has_its_own_field() -> None:
    made = AssistantTurn(tool_calls=(ToolCall(id="c1", name="a"),))
    result = ToolTurn(call_id="c1", name="a", content="no such file", is_error=True)
    body = google_body(ask(UserTurn(content="x"), made, result, model=MODEL), "gemini-3")
    (part,) = body["contents"][2]["parts"]
    assert part["functionResponse"] == {
        "id": "c1",
        "name": "a",
        "response": {"error": "no such file"},
    }


@pytest.mark.parametrize(
    ("finish", "stop"), [("STOP", "end_turn"), ("MAX_TOKENS", "max_tokens"), ("SAFETY", "refusal")]
)
def test_finish_reason_becomes_a_stop_reason(finish: str, stop: str) -> None:
    assert answer({"text": "x"}, finish=finish).stop_reason == stop


def test_a_prompt_that_is_blocked_is_a_refusal() -> None:
    got = GoogleReader()
    got.feed({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    response = got.response(ask(model=MODEL))
    assert (response.text, response.stop_reason) == (None, "refusal")


@pytest.mark.parametrize(
    ("body", "kind", "wish"),
    [
        (
            {
                "code": 429,
                "status": "RESOURCE_EXHAUSTED",
                "message": "quota",
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
                ],
            },
            "rate_limited",
            34.5,
        ),
        ({"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}, "overloaded", None),
        (
            {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid."},
            "bad_key",
            None,
        ),
        ({"code": 400, "status": "INVALID_ARGUMENT", "message": "no"}, "bad_request", None),
    ],
)
def test_googles_errors_have_their_kinds(body: JsonObject, kind: str, wish: float | None) -> None:
    error = explain(ServiceError(body, body["code"]), "google", "m", "http://x", "")
    assert (error.kind, error.retry_after) == (kind, wish)
