"""Gemini's format as the LLM proxy speaks it: requests parsed and forwarded, errors."""

import json
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import AssistantTurn, ModelRequest, ToolTurn, UserTurn
from agiraph.llm.failures import ServiceError
from agiraph.llm.wire.format import NO_RESULT
from agiraph.llm.wire.google import GoogleFormat
from agiraph.models.registry import ModelTraits

WIRE = GoogleFormat()
TRAITS = ModelTraits(api="google")


def read(*contents: Any, **more: Any) -> ModelRequest:
    return WIRE.parse_request({"model": "any", "contents": list(contents), **more})


def sent(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the body that is sent for a request, with a limit of 5 tokens."""
    return WIRE.forwarded(WIRE.rules.checked(body), name, 5, TRAITS)


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def made(name: str, id: str = "") -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"a": 1}} | ({"id": id} if id else {})}


def result(name: str, response: Any, id: str = "") -> dict[str, Any]:
    given = {"name": name, "response": response} | ({"id": id} if id else {})
    return {"functionResponse": given}


def test_a_conversation_is_parsed_with_calls_and_results_in_their_places() -> None:
    turns = read(
        user({"text": "Begin."}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
        model({"text": "hm", "thought": True}, {"text": "I look."}, made("look", "c1")),
        user(result("look", {"output": "42"}, "c1"), {"text": "Go on."}),
    ).turns
    begun, answer, looked, told = turns
    assert begun == UserTurn(content="Begin.\n\n[image]")
    assert isinstance(answer, AssistantTurn)
    assert (answer.text, answer.tool_calls[0].arguments) == ("I look.", {"a": 1})
    assert looked == ToolTurn(call_id="c1", name="look", content="42")
    assert told == UserTurn(content="Go on.")


def test_results_without_ids_answer_the_open_calls_of_their_names_in_order() -> None:
    turns = read(
        user({"text": "Begin."}),
        model(made("look"), made("bash"), made("look")),
        user(result("look", {"result": "one"}), result("look", {"result": "two"})),
        model(made("look")),
        user(result("look", {"result": "three"})),
    ).turns
    results = [turn for turn in turns if isinstance(turn, ToolTurn)]
    assert [(turn.name, turn.content) for turn in results] == [
        ("look", "one"), ("bash", NO_RESULT), ("look", "two"), ("look", "three"),
    ]  # fmt: skip
    ids = [call.id for turn in turns if isinstance(turn, AssistantTurn) for call in turn.tool_calls]
    assert len(set(ids)) == 4
    assert [turn.call_id for turn in results] == ids


@pytest.mark.parametrize(
    ("response", "content", "is_error"),
    [
        ({"output": "fine"}, "fine", False),
        ({"error": "no such file"}, "no such file", True),
        ({"output": {"x": 1}}, '{"output": {"x": 1}}', False),
        ({"temperature": 7, "unit": "C"}, '{"temperature": 7, "unit": "C"}', False),
    ],
)
def test_a_result_is_parsed_as_text(response: Any, content: str, is_error: bool) -> None:
    turns = read(user({"text": "?"}), model(made("look", "c")), user(result("look", response, "c")))
    told = turns.turns[-1]
    assert isinstance(told, ToolTurn)
    assert (told.content, told.is_error) == (content, is_error)


def test_settings_system_and_tools_are_parsed_in_both_spellings() -> None:
    openapi = {
        "type": "OBJECT",
        "properties": {
            "paths": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"},
            "why": {"type": "STRING", "nullable": True, "format": "enum", "enum": ["a"]},
            "n": {"any_of": [{"type": "INTEGER"}, {"type": "NUMBER"}]},
        },
        "propertyOrdering": ["paths", "why"],
        "required": ["paths"],
    }
    as_json = {"type": "object", "properties": {"type": {"type": "string"}}}
    camel = read(
        user({"text": "Begin."}),
        systemInstruction={"role": "user", "parts": [{"text": "Be brief."}]},
        tools=[
            {
                "functionDeclarations": [
                    {"name": "look", "description": "Look.", "parameters": openapi},
                    {"name": "say", "parametersJsonSchema": as_json},
                    {"name": "end"},
                ]
            },
            {"googleSearch": {}},
        ],
        generationConfig={"temperature": 0, "maxOutputTokens": 7, "responseSchema": openapi},
    )
    assert (camel.system, camel.temperature, camel.max_tokens) == ("Be brief.", 0, 7)
    look, say, end = camel.tools
    assert look.parameters == camel.response_schema == {
        "type": "object",
        "properties": {
            "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "why": {"type": ["string", "null"], "enum": ["a"]},
            "n": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
        },
        "required": ["paths"],
    }  # fmt: skip
    assert say.parameters == as_json
    assert end.parameters["type"] == "object"
    snake = read(
        user({"text": "Begin."}),
        system_instruction={"parts": {"text": "Be brief."}},
        tools=[{"function_declarations": [{"name": "look", "parameters": openapi}]}],
        generation_config={"max_output_tokens": 7, "response_json_schema": as_json},
    )
    assert (snake.system, snake.max_tokens, snake.response_schema) == ("Be brief.", 7, as_json)
    assert snake.tools[0].parameters == look.parameters


def test_a_schema_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "STRING"}
    for _ in range(300):
        schema = {"type": "ARRAY", "items": schema}
    with pytest.raises(InvalidInput, match="more than 64 levels"):
        read(user({"text": "?"}), generationConfig={"responseSchema": schema})


def test_request_that_forbids_calls_has_no_tools() -> None:
    tools = [{"functionDeclarations": [{"name": "look"}]}]
    mute = {"functionCallingConfig": {"mode": "NONE"}}
    assert read(user({"text": "?"}), tools=tools, toolConfig=mute).tools == ()
    assert read(user({"text": "?"}), tools=tools).tools != ()


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([], "contents: expected a list"),
        ([{"role": "assistant", "parts": []}], r"contents\[0\].role: expected user or model"),
        ([user("text")], r"contents\[0\].parts: expected a list of parts"),
    ],
)
def test_invalid_conversation_is_refused_with_its_place(contents: Any, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        read(*contents)


def test_a_forwarded_body_names_its_model_only_in_the_path() -> None:
    body = {"model": "any", "stream": True, "contents": [], "labels": {"a": "b"}}
    streamed = "/v1beta/models/gemini%203:streamGenerateContent?alt=sse"
    assert WIRE.path("gemini 3", is_streamed=True) == streamed
    assert WIRE.path("g", is_streamed=False) == "/v1beta/models/g:generateContent"
    limit = {"generationConfig": {"maxOutputTokens": 5}}
    assert sent(body, "g") == {"contents": [], "labels": {"a": "b"}} | limit
    bounded = sent({"generation_config": {"max_output_tokens": 9, "topK": 3}}, "g")
    assert bounded == {"generationConfig": {"topK": 3, "maxOutputTokens": 5}}


def test_unsigned_calls_are_forwarded_with_the_foreign_signature() -> None:
    signed = model({"functionCall": {"name": "a"}, "thoughtSignature": "c2ln"}, made("look"))
    plain = [user({"text": "?"}), model({"text": "I look."}, made("look", "1"), made("look", "2"))]
    kept, told, marked = sent({"contents": [signed, *plain]}, "gemini-3-pro")["contents"]
    assert (kept, told) == (signed, plain[0])
    foreign = "skip_thought_signature_validator"
    assert [part.get("thoughtSignature") for part in marked["parts"]] == [None, foreign, None]
    assert sent({"contents": plain}, "gemini-2.5-pro")["contents"] == plain


def test_repeated_result_of_a_call_is_forwarded_once() -> None:
    """Gemini CLI resumes a conversation in which it was killed so."""
    once, other = result("look", {"output": "42"}, "c1"), result("look", {"output": "43"}, "c2")
    calls = model(made("look", "c1"), made("look", "c2"))
    contents = [calls, user(once, other, once), user(once), calls, user(once, other)]
    kept = sent({"contents": contents}, "gemini-2.5-pro")["contents"]
    assert kept == [calls, user(once, other), calls, user(once, other)]
    without = [calls, user(result("look", {}), result("look", {}))]
    assert sent({"contents": without}, "gemini-2.5-pro")["contents"] == without


def test_search_requires_the_native_service() -> None:
    search: dict[str, Any] = {"contents": [], "tools": [{"googleSearch": {}}]}
    assert "googleSearch: only the service itself" in WIRE.rules.why_native_only(search)
    beside = {"tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "look"}]}]}
    assert WIRE.rules.why_native_only(beside) == WIRE.rules.why_native_only({}) == ""


def test_a_count_is_asked_of_the_whole_request() -> None:
    asked = WIRE.count_request({"model": "any", "stream": False, "contents": [1]}, "g")
    assert asked == {"generateContentRequest": {"model": "models/g", "contents": [1]}}


def test_error_body_has_the_retry_time() -> None:
    failure = WIRE.error("rate_limited", "too many", retry_after=2)
    assert (failure.status, failure.body["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    [wish] = failure.body["error"]["details"]
    assert (wish["@type"], wish["retryDelay"]) == (
        "type.googleapis.com/google.rpc.RetryInfo",
        "2.000s",
    )


def test_no_permanent_failure_is_a_server_error() -> None:
    """Google's clients try those again, up to ten times."""
    for kind in ("bad_key", "unknown_model", "out_of_budget", "no_credit", "internal", "diverged"):
        assert 400 <= WIRE.error(kind, "so it is").status < 429


def test_an_answer_that_breaks_off_is_read_as_failed() -> None:
    writer = WIRE.writer({"model": "any", "stream": True})
    writer.text("Half of")
    event = writer.error(WIRE.error("overloaded", "it broke off"))
    with pytest.raises(ServiceError, match="it broke off"):
        WIRE.reader().feed(json.loads(event.removeprefix(b"data: ")))
