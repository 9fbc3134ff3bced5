"""Undocumented behaviour of services in their wire formats: one row for each.

The next oddity is a row of STREAMS (an answer), BROKEN (an error within one), REASONS (an error)
or OVERFLOWS (a refusal because of the length). docs/models.md lists services with their rows.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, ToolCall, ToolTurn, UserTurn
from agiraph.foreign.http import MOST_VALUES, TooManyValues, read_json
from agiraph.llm.connect import FORMATS
from agiraph.llm.failures import PageAnswered, ServiceError, UnreadableAnswer, explain, is_overflow
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.wire.sse import SseSplitter, encode_event
from agiraph.models.registry import ModelTraits
from tests.unit.llm.requests import ask

HM = {"type": "text", "text": "Hm"}
CHAT = ModelTraits(api="openai")
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
        "all parallel calls have the index 0 and the same id, or none",
        "openai",
        [
            chunk({"tool_calls": [piece("look", '{"at": "a"}', index=0, id="call")]}),
            chunk({"tool_calls": [piece("look", '{"at": "b"}', index=0, id="call")]}),
            chunk({"tool_calls": [piece("look", '{"at": "c"}', index=0)]}),
            chunk({}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"}), ("look", {"at": "b"}), ("look", {"at": "c"})],
    ),
    (
        "a call is repeated whole at the end",
        "openai",
        [
            chunk({"tool_calls": [piece("look", '{"at": "a"}', index=0, id="call")]}),
            chunk({"tool_calls": [piece("look", '{"at": "a"}', index=0, id="call")]}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"})],
    ),
    (
        "the arguments begin with an empty object",
        "openai",
        [
            chunk({"tool_calls": [piece("look", "{}", index=0, id="call")]}),
            chunk({"tool_calls": [piece("", '{"at": "a"}', index=0)]}, "tool_calls"),
        ],
        "",
        [("look", {"at": "a"})],
    ),
    ("the arguments are JSON in a text", "openai",
     [chunk({"tool_calls": [piece("look", json.dumps('{"at": "a"}'), index=0)]}, "tool_calls")],
     "", [("look", {"at": "a"})]),
    ("a call is null", "openai",
     [chunk({"tool_calls": [None, piece("look", "{}", index=0)]}, "tool_calls")],
     "", [("look", {})]),
    ("a call is a function_call", "openai",
     [chunk({"function_call": {"name": "look", "arguments": '{"at"'}}),
      chunk({"function_call": {"arguments": ': "a"}'}}, "function_call")],
     "", [("look", {"at": "a"})]),
    ("the last chunk has a whole message", "openai",
     [chunk({"content": "I look."}),
      {"choices": [{"message": {"content": "I look.", "tool_calls": [piece("look", "{}")]},
                    "finish_reason": "tool_calls"}]}],
     "I look.", [("look", {})]),
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
    ("comments keep the connection open (OpenRouter, DeepSeek)", "openai",
     [b": OPENROUTER PROCESSING\n\n", b": keep-alive\n\n", chunk({"content": "Done."}, "stop")],
     "Done.", []),
    ("chunks have no choices, or no delta (Azure)", "openai",
     [{"choices": [], "prompt_filter_results": []}, chunk({"content": "Done."}, "stop"),
      {"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}],
     "Done.", []),
    ("pings and events of new types come between (Anthropic)", "anthropic",
     message({"type": "ping"}, {"type": "news"}, *block(0, {"type": "text"}, TEXT)), "Hello.", []),
    ("a choice is null", "openai",
     [{"choices": [None]}, chunk({"content": "Done."}, "stop")], "Done.", []),
    ("a candidate and a part are null", "google",
     [{"candidates": [None]},
      {"candidates": [{"content": {"parts": [None, {"text": "Done."}]}, "finishReason": "STOP"}]}],
     "Done.", []),
    ("an item has no place, and a null in it", "responses",
     [{"type": "response.output_item.done", "output_index": None, "item": None},
      {"type": "response.output_item.done", "output_index": None,
       "item": {"type": "message", "content": [None, {"text": "Done."}]}},
      {"type": "response.completed", "response": None}], "Done.", []),
    ("blocks have no type", "anthropic",
     message(*block(0, {"text": ""}, TEXT), *block(1, {"name": "look"}, LOOKS)),
     "Hello.", [("look", {"at": "a"})]),
    ("only the beginning of a block has an index", "anthropic",
     message(*block(0, LOOK), {"type": "content_block_delta", "delta": LOOKS}),
     "", [("look", {"at": "a"})]),
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
    ("all blocks have the same index", "anthropic",
     message(*block(0, {"type": "text", "text": ""}, TEXT), *block(0, LOOK, LOOKS),
             *block(0, LOOK | {"id": "t2"}, LOOKS)),
     "Hello.", [("look", {"at": "a"})] * 2),
    ("a block does not begin", "anthropic",
     message({"type": "content_block_delta", "index": 0, "delta": TEXT}), "Hello.", []),
    ("blocks have no index", "anthropic",
     [{key: value for key, value in one.items() if key != "index"}
      for one in message(*block(0, LOOK, LOOKS))], "", [("look", {"at": "a"})]),
    ("there is no message_stop", "anthropic",
     message(*block(0, LOOK, LOOKS))[:-1], "", [("look", {"at": "a"})]),
    ("there is [DONE], but no complete item", "responses",
     [{"type": "response.output_text.delta", "delta": "Hello."}, DONE], "Hello.", []),
    ("the arguments are an object", "responses",
     [{"type": "response.completed", "response": {"output": [
         {"type": "function_call", "name": "look", "arguments": {"at": "a"}}]}}],
     "", [("look", {"at": "a"})]),
    ("a byte order mark comes first", "openai",
     [b"\xef\xbb\xbf" + encode_event(chunk({"content": "Hello."}, "stop"))], "Hello.", []),
    (
        "events have no `event:` line",
        "anthropic",
        [b"".join(encode_event(one) for one in message(*block(0, LOOK, LOOKS)))],
        "",
        [("look", {"at": "a"})],
    ),
    (
        "the id of a call is a number, its arguments are null as a text",
        "openai",
        [
            chunk({"tool_calls": [piece("look", "null", index=0, id=7)]}),
            chunk({"tool_calls": [piece("look", '{"at": "a"}', index=1, id=8)]}),
            chunk({}, "tool_calls"),
        ],
        "",
        [("look", {}), ("look", {"at": "a"})],
    ),
    (
        "the id of a block is a number",
        "anthropic",
        message(
            *block(0, LOOK | {"id": 7}, LOOKS),
            *block(1, LOOK | {"id": 8, "input": {"at": "b"}}),
        ),
        "",
        [("look", {"at": "a"}), ("look", {"at": "b"})],
    ),
    (
        "the id of a call is a number, or its arguments are a text",
        "google",
        [{"candidates": [{"content": {"parts": [
            {"functionCall": {"id": 7, "name": "look", "args": {"at": "a"}}},
            {"functionCall": {"name": "look", "args": '{"at": "b"}'}},
            {"functionCall": {"name": "look", "args": None}},
        ]}, "finishReason": "STOP"}]}],
        "",
        [("look", {"at": "a"}), ("look", {"at": "b"}), ("look", {})],
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
def test_unusual_stream_is_read(
    wire: str, events: list[Any], text: str, calls: list[tuple[str, Any]]
) -> None:
    answer = answer_of(wire, events)
    assert answer.text == (text or None)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == calls
    assert answer.stop_reason == ("tool_use" if calls else "end_turn") or wire == "anthropic"


def test_thinking_parts_of_a_content_list_are_reasoning() -> None:
    row = next(row for row in STREAMS if row[0].startswith("content is a list"))
    answer = answer_of(*row[1:3])
    assert (answer.provider_data or {})["reasoning"] == "Hm"


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("max_tokens", "max_tokens"),
        ("MAX_TOKENS", "max_tokens"),
        ("model_length", "max_tokens"),
        ("sensitive", "refusal"),
    ],
)
def test_finish_reason_of_another_name_is_understood(finish: str, stop: str) -> None:
    assert answer_of("openai", [chunk({"content": "Half"}, finish)]).stop_reason == stop


COUNTED = {"prompt_tokens": 10, "completion_tokens": 5}
NOTHING = {"prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": COUNTED},
        {"choices": [{"delta": {}, "usage": COUNTED}]},
        {"choices": [], "x_groq": {"usage": COUNTED}},
    ],
    ids=["OpenAI", "Moonshot", "Groq"],
)
def test_counts_are_found_in_each_place(last: dict[str, Any]) -> None:
    zero = {"choices": [], "usage": NOTHING}
    usage = answer_of("openai", [chunk({"content": "Hi"}, "stop"), last, zero]).usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)


def test_signature_beside_a_call_is_sent_back_with_it() -> None:
    extra = {"google": {"thought_signature": "sealed"}}
    calls = [
        piece("look", "{}", index=0, id="a", extra_content=extra),
        piece("look", "{}", index=1),
    ]
    answer = answer_of("openai", [chunk({"tool_calls": calls}, "tool_calls")])
    results = [ToolTurn(call_id=one.id, name="look", content="x") for one in answer.tool_calls]

    def sent(model: str) -> list[Any]:
        asked = ask(UserTurn(content="Go."), answer.turn(), *results, model=model)
        body = FORMATS["openai"].encode_request(asked, "m", CHAT, RequestBodyCache())
        return [one.get("extra_content") for one in json.loads(body)["messages"][2]["tool_calls"]]

    assert sent(ask().model) == [extra, None]
    assert sent("other/model") == [None, None]


# --- errors within a stream -----------------------------------------------------------------------

HALF = chunk({"content": "Half"})
ERROR = {"message": "REASON", "code": 502}
BROKEN: dict[str, tuple[list[Any], str]] = {
    "beside choices (OpenRouter)": ([HALF, {"error": ERROR, **chunk({}, "error")}], "overloaded"),
    "with the code of a refusal": ([{"error": ERROR | {"code": 401}}], "bad_key"),
    "an object of its own (vLLM)": ([HALF, {"object": "error", **ERROR}], "overloaded"),
    "base_resp (MiniMax)": (
        [{"choices": [], "base_resp": {"status_code": 1008, "status_msg": "REASON"}}], "no_credit"),
    "insufficient_system_resource (DeepSeek)": (
        [HALF, chunk({}, "insufficient_system_resource")], "overloaded"),
    "network_error": ([HALF, chunk({}, "network_error")], "overloaded"),
}  # fmt: skip


@pytest.mark.parametrize(("events", "kind"), BROKEN.values(), ids=BROKEN)
def test_broken_off_answer_is_an_error(events: list[Any], kind: str) -> None:
    with pytest.raises(ServiceError) as caught:
        answer_of("openai", events)
    explained = explain(caught.value, "p", "m", "u", "")
    assert explained.kind == kind
    assert "REASON" in str(explained) or "broke off" in str(explained)


def test_malformed_answer_of_gemini_is_requested_again() -> None:
    with pytest.raises(ServiceError) as caught:
        answer_of("google", [{"candidates": [{"finishReason": "MALFORMED_RESPONSE"}]}])
    assert explain(caught.value, "p", "m", "u", "").is_retryable


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ("Malformed function call: call:default_api.finish(", "finish"),
        ("Malformed function call: print(default_api.look(at='a'))", "look"),
        ("", "unnamed_call"),
    ],
)
def test_malformed_call_of_gemini_is_reported_as_one(expected: str, name: str) -> None:
    ended = {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": expected}
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
    "metadata.raw (OpenRouter)": {
        "error": {
            "message": "Provider returned error",
            "metadata": {"raw": json.dumps({"error": {"message": WHY}})},
        }
    },
    "a text": WHY,
}


@pytest.mark.parametrize("body", REASONS.values(), ids=REASONS)
def test_reason_of_an_error_reaches_the_person(body: Any) -> None:
    error = ServiceError(body, 400, {"content-type": "application/json"})
    assert WHY in str(explain(error, "p", "m", "http://p", "sk-secret-key"))


def test_error_without_a_reason_shows_the_response() -> None:
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


def test_empty_account_is_not_an_overloaded_service() -> None:
    words = {"error": {"type": "api_error", "message": "insufficient balance (1008)"}}  # MiniMax
    assert explain(ServiceError(words, 500), "p", "m", "u", "").kind == "no_credit"


@pytest.mark.parametrize("status", [413, 429])
def test_request_larger_than_the_tokens_of_a_minute_is_an_overflow(status: int) -> None:
    words = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 8513"
    error = ServiceError({"error": {"message": words, "code": "rate_limit_exceeded"}}, status)
    assert explain(error, "p", "m", "u", "").kind == "context_too_long"


def test_overflow_within_a_stream_is_recognised() -> None:
    words = {"error": {"message": "Input is too long for requested model."}}  # LiteLLM
    assert explain(ServiceError(words), "p", "m", "u", "").kind == "context_too_long"


def test_page_of_a_proxy_that_refuses_the_size_is_an_overflow() -> None:
    error = ServiceError("<html>413 Too Large</html>", 413, {"content-type": "text/html"})
    assert explain(error, "p", "m", "u", "").kind == "context_too_long"


def test_page_with_status_200_is_not_retried() -> None:
    explained = explain(PageAnswered("http://p answered with text/html"), "p", "m", "http://p", "")
    assert not explained.is_retryable


def test_key_of_a_letter_is_not_replaced_everywhere() -> None:
    error = ServiceError({"message": "no access to x"}, 403)
    assert "no access to x" in str(explain(error, "p", "m", "u", "x"))


def test_long_retry_after_is_named() -> None:
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
    "Together": "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens",
    "TGI": "`inputs` must have less than 4096 tokens. Given: 5000",
    "Anthropic, with the answer": "input length and `max_tokens` exceed context limit: 190000 + "
    "20000 > 204698, decrease input length or `max_tokens` and try again",
    "xAI, newer": "[input_too_large] Current message (1149677 tokens) exceeds budget (975424)",
    "LiteLLM": "litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - "
    "prompt is too long: 200480 tokens > 200000 maximum",
    "Azure": "Request body too large for gpt-5-mini model. Max size: 4000 tokens.",
    "GLM": "Prompt exceeds max length",
    "Qwen": "Range of input length should be [1, 30720]",
    "LM Studio": "the model is loaded with context length of only 4096 tokens, which is not enough",
    "Vertex": "the input token count is 40000 but model only supports up to 32768",
    "ExLlama": "Prompt length 9000 is greater than max_seq_len 8192",
    "OpenRouter": "This endpoint's maximum context length is 8192 tokens. However, you requested "
    "about 9000 tokens",
}
OTHERS = {
    "limit of the answer": "max_tokens is too large: 32768. This model supports at most 8192",
    "field": "tools.0.name: string too long",
    "model": "The model `x` does not exist",
    "key": "Incorrect API key provided",
    "limit of the answer (Groq)": "`max_completion_tokens` must be less than or equal to `16384`, "
    "the maximum value is less than the `context_window` for this model",
    "rate": "Rate limit reached on tokens per min: Limit 30000, Requested 4000 in this request",
    "type": "body.prompt: Input should be a valid string",
    "depth": "tools.0.input_schema: input exceeds maximum depth",
    "id": "Invalid 'messages[3].tool_calls[0].id': string too long",
    "pictures": "too many images: at most 20",
}


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=OVERFLOWS)
def test_refusal_because_of_length_is_recognised_by_its_meaning(words: str) -> None:
    assert (
        explain(ServiceError({"message": words}, 400), "p", "m", "u", "").kind == "context_too_long"
    )


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_other_refusals_are_not_an_overflow(words: str) -> None:
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


# --- the page -------------------------------------------------------------------------------------

ROWS = {row[0] for row in STREAMS} | {*BROKEN, *REASONS, *OVERFLOWS}
PAGE = (Path(__file__).parents[3] / "docs/models.md").read_text(encoding="utf-8")
SERVICES = PAGE.partition("## Differences between services")[2].partition("\n### ")[0]


def test_page_names_rows_that_exist() -> None:
    lines = [line.split("|") for line in SERVICES.splitlines() if line.startswith("| ")][1:]
    assert len(lines) >= 20
    for _, service, _, played, source, _ in lines:
        named = [name for name in re.findall(r"`([^`]+)`", played) if not name.endswith(".py")]
        assert {*named} <= ROWS, service
        assert re.search(r"`[^`]+`", played), service
        assert "https://" in source, service


@pytest.mark.parametrize("wire", ["anthropic", "openai", "responses", "google"])
def test_unstreamed_answer_of_too_many_parts_is_refused(wire: str) -> None:
    many = 20_001
    answers: dict[str, JsonObject] = {
        "anthropic": {"content": [{"type": "text", "text": ""}] * many},
        "openai": {"choices": [{"message": {"tool_calls": [{"function": {"name": "a"}}] * many}}]},
        "responses": {"output": [{"type": "message", "content": [{"text": ""}] * many}]},
        "google": {"candidates": [{"content": {"parts": [{"functionCall": {}}] * many}}]},
    }
    reader = FORMATS[wire].reader()
    events = FORMATS[wire].answer_events(answers[wire])
    with pytest.raises(UnreadableAnswer, match="20000 parts"):
        "".join(map(reader.read, events))
