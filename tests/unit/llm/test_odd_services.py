"""What services send that the documentation of their wire format does not say: one row for each.

The next oddity is a row of STREAMS (an answer), REASONS (an error) or OVERFLOWS (a refusal because
of the length).
"""

import json
from typing import Any

import pytest

from agiraph.core.turns import ModelRequest, ModelResponse, ToolCall, UserTurn
from agiraph.foreign.http import MOST_VALUES, TooManyValues, read_json
from agiraph.llm.connect import FORMATS
from agiraph.llm.failures import PageAnswered, ServiceError, explain, is_overflow
from agiraph.llm.wire.sse import SseSplitter, encode_event
from tests.unit.llm.requests import ask

HM = {"type": "text", "text": "Hm"}
DONE = b"data: [DONE]\n\n"


def chunk(delta: Any = None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]}


def piece(name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def block(index: int, start: Any, *deltas: Any) -> list[dict[str, Any]]:
    grown = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [{"type": "content_block_start", "index": index, "content_block": start}, *grown]


def message(*events: dict[str, Any], **start: Any) -> list[dict[str, Any]]:
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 5}, **start}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": None}
    return [begun, *events, ended, {"type": "message_stop"}]


TEXT = {"type": "text_delta", "text": "Hello."}
LOOK = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
LOOKS = {"type": "input_json_delta", "partial_json": '{"at": "a"}'}

# name, wire format, events (bytes as they are), text, calls as (name, arguments)
STREAMS: list[tuple[str, str, list[Any], str, list[tuple[str, Any]]]] = [
    (
        "all parallel calls have the index 0 (Ollama)",
        "openai",
        [
            chunk({"tool_calls": [piece("look", '{"at": "a"}', index=0, id="call_a")]}),
            chunk({"tool_calls": [piece("look", '{"at": "b"}', index=0, id="call_b")]}),
            chunk({}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"}), ("look", {"at": "b"})],
    ),
    (
        "the arguments of two calls with the index 0 come in pieces",
        "openai",
        [
            chunk({"tool_calls": [piece("look", '{"at"', index=0, id="call_a")]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "a"}'}}]}),
            chunk({"tool_calls": [piece("look", '{"at"', index=0, id="call_b")]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "b"}'}}]}),
            chunk({}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"}), ("look", {"at": "b"})],
    ),
    (
        "one call has another id in each piece",
        "openai",
        [
            chunk({"tool_calls": [piece("look", '{"at"', index=0, id="call_a")]}),
            chunk({"tool_calls": [piece("", ': "a"}', index=0, id="call_b")]}),
            chunk({}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"})],
    ),
    (
        "content is a list of parts (Mistral)",
        "openai",
        [
            chunk({"content": [{"type": "thinking", "thinking": [HM]}]}),
            chunk({"content": [{"type": "text", "text": "I "}, {"type": "text", "text": None}]}),
            chunk({"content": "look."}),
            chunk({}, "stop"),
        ],
        "I look.",
        [],
    ),
    (
        "there is no finish reason, but [DONE]",
        "openai",
        [chunk({"content": "Done."}), chunk({"tool_calls": [piece("look", "{}", index=0)]}), DONE],
        "Done.",
        [("look", {})],
    ),
    ("the text of a block is null", "anthropic",
     message(*block(0, {"type": "text", "text": None}, TEXT)), "Hello.", []),
    ("a block of text has no text", "anthropic",
     message(*block(0, {"type": "text"}, TEXT)), "Hello.", []),
    ("content and usage are null", "anthropic",
     message(*block(0, {"type": "text"}, TEXT), content=None, usage=None), "Hello.", []),
    ("the input of a call is null", "anthropic",
     message(*block(0, LOOK | {"input": None}, LOOKS)), "", [("look", {"at": "a"})]),
    ("a delta has null in place of its text", "anthropic",
     message(*block(0, {"type": "text", "text": ""}, TEXT | {"text": None}, TEXT)), "Hello.", []),
    (
        "events have no `event:` line",
        "anthropic",
        [b"".join(encode_event(one) for one in message(*block(0, LOOK, LOOKS)))],
        "",
        [("look", {"at": "a"})],
    ),
]  # fmt: skip


def answer_of(wire: str, events: list[Any]) -> ModelResponse:
    """Return the answer that a service sends by these events."""
    request: ModelRequest = ask(UserTurn(content="Go."))
    reader, splitter = FORMATS[wire].reader(), SseSplitter()
    for event in events:
        for found in splitter.feed(event if isinstance(event, bytes) else encode_event(event)):
            if found.is_end:
                reader.end()
            elif found.data is not None:
                reader.read(found.data)
    return reader.response(request)


@pytest.mark.parametrize(
    ("wire", "events", "text", "calls"), [row[1:] for row in STREAMS], ids=[r[0] for r in STREAMS]
)
def test_odd_stream_is_read(
    wire: str, events: list[Any], text: str, calls: list[tuple[str, Any]]
) -> None:
    answer = answer_of(wire, events)
    assert answer.text == (text or None)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == calls
    assert answer.stop_reason == ("tool_use" if calls else "end_turn") or wire == "anthropic"


def test_thinking_parts_of_a_content_list_are_reasoning() -> None:
    answer = answer_of(*STREAMS[3][1:3])
    assert (answer.provider_data or {})["reasoning"] == "Hm"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("Malformed function call: call:default_api.finish(", "finish"),
        ("Malformed function call: print(default_api.look(at='a'))", "look"),
        ("", "unnamed_call"),
    ],
)
def test_malformed_call_of_gemini_is_reported_as_one(told: str, name: str) -> None:
    ended = {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": told}
    (call,) = answer_of("google", [{"candidates": [ended]}]).tool_calls
    assert (call.name, bool(call.malformed)) == (name, True)
    assert isinstance(call, ToolCall)


# --- errors ---------------------------------------------------------------------------------------

WHY = "REASON: no such model"
REASONS: dict[str, Any] = {
    "error is a text (xAI, LM Studio)": {
        "code": "Client specified an invalid argument",
        "error": WHY,
    },
    "detail is a list (FastAPI)": {"detail": [{"loc": ["body", "tools"], "msg": WHY}]},
    "detail is a text": {"detail": WHY},
    "message beside null": {"error": None, "message": WHY},
    "message is an object (Mistral)": {"object": "error", "message": {"detail": [{"msg": WHY}]}},
    "a list of errors (Google)": [{"error": {"code": 400, "message": WHY}}],
    "errors": {"errors": [{"message": WHY}], "success": False},
    "JSON in a text": {"error": {"message": json.dumps({"error": {"message": WHY}}), "code": None}},
    "base_resp (MiniMax)": {"base_resp": {"status_code": 1004, "status_msg": WHY}},
    "a text": WHY,
}


@pytest.mark.parametrize("body", REASONS.values(), ids=REASONS)
def test_reason_of_an_error_reaches_the_person(body: Any) -> None:
    error = ServiceError(body, 400, {"content-type": "application/json"})
    assert WHY in str(explain(error, "p", "m", "http://p", "sk-secret-key"))


def test_error_without_a_reason_shows_what_came() -> None:
    error = ServiceError({"status": "bad"}, 400, {"content-type": "application/json"})
    shown = str(explain(error, "p", "m", "http://p/v1", ""))
    assert "http://p/v1 answered HTTP 400" in shown
    assert "application/json" in shown
    assert "{'status': 'bad'}" in shown


@pytest.mark.parametrize("status", [401, 403, 404])
def test_page_of_a_proxy_is_not_blamed_on_the_key(status: int) -> None:
    page = "<html><head><title>Sign in</title><style>p {}</style></head><body>VPN</body></html>"
    error = ServiceError(page, status, {"content-type": "text/html; charset=utf-8"})
    explained = explain(error, "p", "m", "http://p/v1", "")
    assert explained.kind == "bad_request"
    assert "page for people: Sign in VPN" in str(explained)


def test_page_with_status_200_is_not_retried() -> None:
    explained = explain(PageAnswered("http://p answered with text/html"), "p", "m", "http://p", "")
    assert not explained.is_retryable


def test_key_of_a_letter_is_not_replaced_everywhere() -> None:
    error = ServiceError({"message": "no access to x"}, 403)
    assert "no access to x" in str(explain(error, "p", "m", "u", "x"))


def test_long_wait_that_a_service_asks_for_is_named() -> None:
    error = ServiceError({"message": "slow down"}, 429, {"retry-after": "86400"})
    assert "asks to wait 1 day, 0:00:00" in str(explain(error, "p", "m", "u", ""))


# --- length ---------------------------------------------------------------------------------------

OVERFLOWS = {
    "Kimi": "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
    "vLLM behind LiteLLM": "The input (1492905 tokens) is longer than the model's context length "
    "(1048576 tokens).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Bedrock": "Input is too long for requested model.",
    "Groq": "Please reduce the length of the messages or completion.",
    "vLLM": "This model's maximum context length is 262144 tokens. However, you requested 0 output "
    "tokens and your prompt contains at least 262145 input tokens.",
    "llama.cpp": "request (60179 tokens) exceeds the available context size (60160 tokens)",
    "Gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed",
    "MiniMax": "invalid params, context window exceeds limit",
    "DeepSeek": "This model's maximum context length is 65536 tokens. However, you requested 70000 "
    "tokens (69000 in the messages, 1000 in the completion). Please reduce the length.",
    "OpenRouter": "This endpoint's maximum context length is 8192 tokens. However, you requested "
    "about 9000 tokens",
}
OTHERS = {
    "limit of the answer": "max_tokens is too large: 32768. This model supports at most 8192",
    "field": "tools.0.name: string too long",
    "model": "The model `x` does not exist",
    "key": "Incorrect API key provided",
    "pictures": "too many images: at most 20",
}


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=OVERFLOWS)
def test_refusal_because_of_length_is_recognised_by_its_meaning(words: str) -> None:
    assert (
        explain(ServiceError({"message": words}, 400), "p", "m", "u", "").kind == "context_too_long"
    )


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_other_refusals_are_not_taken_for_an_overflow(words: str) -> None:
    assert not is_overflow(words.lower())


@pytest.mark.parametrize("value", [b"{},", b"[],", b"1,"])
def test_an_event_with_too_many_values_is_not_read(value: bytes) -> None:
    """Reading it would take seconds, in which nothing else runs."""
    values = b"[" + value * MOST_VALUES + b"0]"
    [event] = SseSplitter().feed(b'data: {"a": %b}\n\n' % values)
    assert event.data is None
    assert f"more than {MOST_VALUES:,} values" in event.problem
    with pytest.raises(TooManyValues):
        read_json(values)


def test_a_large_text_with_few_values_is_read() -> None:
    text = "{" * (MOST_VALUES // 2) + " " * MOST_VALUES
    [event] = SseSplitter().feed(encode_event({"text": text}))
    assert event.data == {"text": text}
