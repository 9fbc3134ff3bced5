"""The forwarded parts of an external agent's request: no parameter that costs more."""

import re
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject, Usage
from agiraph.llm.base import PartialUsage
from agiraph.llm.connect import FORMATS
from agiraph.llm.providers.forwarding import format_headers
from agiraph.llm.token_counts import (
    LARGEST_WINDOW,
    MOST_HIDDEN_TOKENS,
    Attachment,
    InputSize,
    believed_usage,
    forwarded_size,
)
from agiraph.llm.wire.google_rules import GoogleRules
from agiraph.llm.wire.request_rules import from_url
from agiraph.llm.wire.responses_rules import CONTENT
from agiraph.models.registry import ModelTraits

PAGE = Path(__file__).resolve().parents[3] / "docs" / "external-agents.md"
TRAITS = ModelTraits(api="openai", max_tokens_field="max_completion_tokens")
ASKED: dict[str, JsonObject] = {
    "anthropic": {
        "model": "any",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "?"}],
    },
    "openai": {"model": "any", "messages": [{"role": "user", "content": "?"}]},
    "responses": {"model": "any", "input": "?"},
    "google": {"model": "any", "stream": True, "contents": [{"parts": [{"text": "?"}]}]},
}
"""A plain request of each format."""


def checked(api: str, *allowed: str, **more: Any) -> JsonObject:
    return FORMATS[api].rules.checked(ASKED[api] | more, allowed)


def sent(api: str, longest: int, traits: ModelTraits = TRAITS, **more: Any) -> JsonObject:
    """Return the body that is sent with a limit of `longest` tokens."""
    return FORMATS[api].forwarded(checked(api, **more), "m", longest, traits)


def parts(*given: Any) -> JsonObject:
    return {"messages": [{"role": "user", "content": list(given)}]}


APPROVED: JsonObject = {
    "type": "mcp_approval_response", "approval_request_id": "a", "approve": True,
}  # fmt: skip
COSTLY: list[tuple[str, str, JsonObject]] = [
    *(("openai", "n", {"n": value}) for value in (0, 2, 128, -1, True, 1.0, "2", [1])),
    ("openai", "best_of", {"best_of": 8}),
    ("openai", "prediction", {"prediction": {"type": "content", "content": "x"}}),
    ("openai", "audio", {"audio": {"voice": "a", "format": "wav"}}),
    ("openai", "modalities", {"modalities": ["text", "audio"]}),
    ("openai", "web_search_options", {"web_search_options": {}}),
    ("openai", "service_tier", {"service_tier": "priority"}),
    ("openai", "background", {"background": True}),
    ("openai", "models", {"models": ["another/model"]}),
    ("openai", "plugins", {"plugins": [{"id": "web"}]}),
    ("openai", "made_up", {"made_up": 1}),
    ("openai", "file_id", parts({"type": "file", "file": {"file_id": "f"}})),
    ("openai", "input_audio", parts({"type": "input_audio", "input_audio": {"data": "aGk="}})),
    ("responses", "background", {"background": True}),
    ("responses", "service_tier", {"service_tier": "fast"}),
    ("responses", "conversation", {"conversation": "c"}),
    ("responses", "previous_response_id", {"previous_response_id": "r"}),
    ("responses", "prompt", {"prompt": {"id": "p"}}),
    ("responses", "context_management", {"context_management": [{"type": "compaction"}]}),
    ("responses", "n", {"n": 4}),
    ("responses", "reasoning.mode", {"reasoning": {"mode": "pro"}}),
    ("responses", "item_reference", {"input": [{"type": "item_reference", "id": "i"}]}),
    ("responses", "compaction_trigger", {"input": [{"type": "compaction_trigger"}]}),
    (
        "responses",
        "file_id",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
    ),
    ("anthropic", "n", {"n": 2}),
    ("anthropic", "speed", {"speed": "fast"}),
    ("anthropic", "service_tier", {"service_tier": "priority"}),
    ("anthropic", "inference_geo", {"inference_geo": "us"}),
    ("anthropic", "mcp_servers", {"mcp_servers": [{"type": "url", "url": "https://a"}]}),
    ("anthropic", "container", {"container": "c"}),
    ("anthropic", "compaction", {"compaction": {"type": "enabled"}}),
    ("anthropic", "thread", {"thread": {"type": "create"}}),
    (
        "anthropic",
        "context_management",
        {"context_management": {"edits": [{"type": "compact_20260112"}]}},
    ),
    ("anthropic", "container_upload", parts({"type": "container_upload", "file_id": "f"})),
    (
        "anthropic",
        "file_id",
        parts({"type": "tool_result", "content": [{"type": "image", "source": {"type": "file"}}]}),
    ),
    (
        "anthropic",
        "web_search",
        parts(
            {
                "type": "tool_addition",
                "tool": {"type": "tool_definition", "definition": {"type": "web_search_20250305"}},
            }
        ),
    ),
    ("openai", "builtin_tools", {"chat_template_kwargs": {"builtin_tools": "browser"}}),
    ("openai", "chat_template_kwargs.n", {"chat_template_kwargs": {"n": 128}}),
    ("openai", "thinking_budget", {"chat_template_kwargs": {"thinking_budget": -1}}),
    ("openai", "provider", {"provider": {"order": ["dearest"], "allow_fallbacks": True}}),
    ("openai", "extra_body", {"extra_body": {"n": 2}}),
    ("openai", "reasoning.mode", {"reasoning": {"effort": "high", "mode": "pro"}}),
    ("openai", "stream_options.n", {"stream_options": {"include_usage": True, "n": 2}}),
    ("openai", "tool_choice.type", {"tool_choice": {"type": "web_search"}}),
    ("responses", "tool_choice.type", {"tool_choice": {"type": "web_search_preview"}}),
    ("responses", "tool_choice.type", {"tool_choice": {"type": "mcp", "server_label": "x"}}),
    (
        "responses",
        "tool_choice.type",
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]}},
    ),
    ("responses", "text.n", {"text": {"verbosity": "low", "n": 3}}),
    ("responses", "mcp_approval_response", {"input": [APPROVED]}),
    ("anthropic", "thinking.mode", {"thinking": {"type": "adaptive", "mode": "pro"}}),
    ("anthropic", "output_config.n", {"output_config": {"effort": "low", "n": 2}}),
    ("google", "toolConfig.n", {"tool_config": {"n": 2}}),
    ("google", "thinkingConfig.n", {"generationConfig": {"thinkingConfig": {"n": 2}}}),
    ("google", "cachedContent", {"cachedContent": "c"}),
    ("google", "cachedContent", {"cached_content": "c"}),
    ("google", "serviceTier", {"serviceTier": "priority"}),
    ("google", "candidateCount", {"generationConfig": {"candidateCount": 8}}),
    ("google", "candidateCount", {"generation_config": {"candidate_count": 8}}),
    ("google", "responseModalities", {"generationConfig": {"responseModalities": ["AUDIO"]}}),
    ("google", "speechConfig", {"generationConfig": {"speechConfig": {}}}),
    ("google", "generationConfig", {"generationConfig": {}, "generation_config": {}}),
    ("google", "fileData", {"contents": [{"parts": [{"file_data": {"file_uri": "u"}}]}]}),
    ("google", "fileData", {"systemInstruction": {"parts": [{"fileData": {"fileUri": "u"}}]}}),
    (
        "google",
        "audio",
        {"contents": [{"parts": [{"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}]}]},
    ),
]


@pytest.mark.parametrize(("api", "name", "more"), COSTLY)
def test_a_parameter_that_costs_more_is_refused_by_its_name(
    api: str, name: str, more: JsonObject
) -> None:
    with pytest.raises(InvalidInput, match=name):
        checked(api, **more)


def test_settings_allow_an_approval_and_a_choice_of_a_tool_of_the_service() -> None:
    rules = FORMATS["responses"].rules
    choice = {"type": "web_search_preview"}
    tools = [{"type": "web_search_preview"}]
    body = ASKED["responses"] | {"tool_choice": choice, "tools": tools}
    assert rules.checked(body, ["web_search"])["tool_choice"] == choice
    asked = ASKED["responses"] | {"input": [APPROVED]}
    assert rules.checked(asked, ["mcp"])["input"] == [APPROVED]


OWN: dict[str, JsonObject] = {
    "anthropic": {"name": "look", "input_schema": {"type": "object"}},
    "openai": {"type": "function", "function": {"name": "look", "parameters": {}}},
    "responses": {"type": "function", "name": "look", "parameters": {}},
    "google": {"functionDeclarations": [{"name": "look"}]},
}
SEARCH: dict[str, JsonObject] = {
    "anthropic": {"type": "web_search_20250305", "name": "web_search"},
    "openai": {"type": "web_search", "name": "web_search"},
    "responses": {"type": "web_search", "name": "web_search"},
    "google": {"googleSearch": {"name": "web_search"}},
}
"""A tool of the service."""


def tool_choice(api: str, name: str) -> list[JsonObject]:
    """Return the ways in which a request has the model call one tool."""
    match api:
        case "anthropic":
            return [{"tool_choice": {"type": "tool", "name": name}}]
        case "openai":
            function = {"type": "function", "function": {"name": name}}
            allowed = {"mode": "required", "tools": [function]}
            return [
                {"tool_choice": function},
                {"tool_choice": {"type": "custom", "custom": {"name": name}}},
                {"tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}},
                {"function_call": {"name": name}},
            ]
        case "responses":
            function = {"type": "function", "name": name}
            return [
                {"tool_choice": function},
                {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [function]}},
            ]
    calling = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}
    snake = {"function_calling_config": {"mode": "ANY", "allowed_function_names": [name]}}
    return [{"toolConfig": calling}, {"tool_config": snake}]


@pytest.mark.parametrize("api", FORMATS)
def test_a_choice_of_a_tool_that_is_not_sent_is_refused(api: str) -> None:
    tools = {"tools": [OWN[api], SEARCH[api]]}
    for choice in tool_choice(api, "look"):
        assert checked(api, **choice, **tools)["tools"] == [OWN[api]]
    for choice in tool_choice(api, "web_search"):
        with pytest.raises(InvalidInput, match=r"tool_choice: 'web_search'.*possible: look"):
            checked(api, **choice, **tools)
        with pytest.raises(InvalidInput, match=r"tool_choice: 'web_search'.*possible: none"):
            checked(api, **choice)


HARMLESS: list[tuple[str, JsonObject]] = [
    ("openai", {"chat_template_kwargs": {"enable_thinking": False, "thinking_budget": 100}}),
    ("openai", {"stream_options": {"include_usage": True}, "usage": {"include": True}}),
    (
        "openai",
        {
            "tools": [OWN["openai"]],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
        },
    ),
    (
        "responses",
        {
            "tools": [{"type": "custom", "name": "look"}],
            "tool_choice": {"type": "custom", "name": "look"},
            "text": {"verbosity": "low"},
        },
    ),
    ("responses", {"input": [APPROVED | {"approve": False}]}),
    (
        "anthropic",
        {
            "tools": [OWN["anthropic"]],
            "tool_choice": {"type": "tool", "name": "look"},
            "metadata": {"user_id": "u"},
        },
    ),
    ("openai", {"n": 1, "stream": True, "service_tier": "flex", "modalities": ["text"]}),
    ("openai", {"n": None, "made_up": None, "temperature": 0, "logit_bias": {"1": 2}}),
    ("responses", {"background": False, "conversation": None, "reasoning": {"effort": "high"}}),
    ("anthropic", {"speed": "standard", "service_tier": "auto", "thinking": {"type": "adaptive"}}),
    ("anthropic", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}),
    ("google", {"generationConfig": {"candidateCount": 1, "topK": 3}, "labels": {"a": "b"}}),
]


@pytest.mark.parametrize(("api", "more"), HARMLESS)
def test_other_parameters_are_forwarded_unchanged(api: str, more: JsonObject) -> None:
    given = {name: value for name, value in more.items() if value is not None}
    assert checked(api, **more) == ASKED[api] | given


LIMITS: dict[str, tuple[JsonObject, ...]] = {
    "anthropic": ({"max_tokens": 0}, {"thinking": {"type": "enabled", "budget_tokens": 0}}),
    "openai": (
        {"max_tokens": 0},
        {"max_completion_tokens": 0},
        {"thinking_budget": 0},
        {"reasoning": {"max_tokens": 0}},
    ),
    "responses": ({"max_output_tokens": 0},),
    "google": (
        {"generationConfig": {"maxOutputTokens": 0}},
        {"generation_config": {"max_output_tokens": 0}},
    ),
}
"""The limits of each format, 0 in place of each."""


def with_limit(limit: JsonObject, value: Any) -> JsonObject:
    return {
        name: value
        if inner == 0
        else with_limit(inner, value)
        if isinstance(inner, dict)
        else inner
        for name, inner in limit.items()
    }


@pytest.mark.parametrize("value", [-1, 0, 1.5, 500.0, True, "500", 10**10, [5], {}])
@pytest.mark.parametrize(
    ("api", "limit"), [(api, limit) for api, limits in LIMITS.items() for limit in limits]
)
def test_limit_that_is_not_a_whole_number_is_refused(
    api: str, limit: JsonObject, value: Any
) -> None:
    with pytest.raises(InvalidInput, match="is no limit"):
        checked(api, **with_limit(limit, value))


@pytest.mark.parametrize("api", FORMATS)
def test_only_one_limit_is_sent(api: str) -> None:
    asked: JsonObject = {}
    for limit in LIMITS[api][: 4 if api == "openai" else 2 if api == "anthropic" else 1]:
        asked |= with_limit(limit, 60_000)
    numbers = list(_numbers(sent(api, 2000, **asked)))
    assert numbers.count(2000) >= 1
    assert max(numbers) == 2000


def _numbers(value: Any) -> Any:
    """Yield all numbers in a body."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif type(value) is int:
        yield value


def test_the_limit_has_the_name_that_the_service_knows() -> None:
    asked: JsonObject = {"max_tokens": 60, "max_completion_tokens": 70}
    assert FORMATS["openai"].rules.limit(ASKED["openai"] | asked) == 60
    body = sent("openai", 50, **asked)
    assert (body["max_completion_tokens"], "max_tokens" in body) == (50, False)
    body = sent("openai", 50, ModelTraits(api="openai"), **asked)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (50, False)
    assert "max_tokens" in sent("anthropic", 50)
    assert sent("responses", 3)["max_output_tokens"] == 16, "the service accepts no lower one"


def test_thinking_that_has_no_room_beside_an_answer_is_switched_off() -> None:
    thinking = {"type": "enabled", "budget_tokens": 4000}
    assert sent("anthropic", 9000, thinking=thinking)["thinking"] == thinking
    assert sent("anthropic", 2000, thinking=thinking)["thinking"]["budget_tokens"] == 1999
    assert sent("anthropic", 1024, thinking=thinking)["thinking"] == {"type": "disabled"}


TOOLS: list[tuple[str, Any, Any, str]] = [
    (
        "anthropic",
        {"name": "look", "input_schema": {}},
        {"type": "web_search_20250305"},
        "web_search",
    ),
    ("anthropic", {"type": "bash_20250124"}, {"type": "advisor_20260301"}, "advisor"),
    ("anthropic", {"type": "custom", "name": "a"}, {"type": "computer_20250124"}, "computer"),
    ("openai", {"type": "function"}, {"type": "web_search_preview"}, "web_search_preview"),
    ("responses", {"type": "function", "name": "a"}, {"type": "web_search"}, "web_search"),
    (
        "responses",
        {"type": "custom", "name": "a"},
        {"type": "code_interpreter"},
        "code_interpreter",
    ),
    ("responses", {"type": "local_shell"}, {"type": "image_generation"}, "image_generation"),
    ("responses", {"type": "apply_patch"}, {"type": "web_search_preview_2025_03_11"}, "web_search"),
    (
        "responses",
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "shell", "environment": {"type": "container_auto"}},
        "shell",
    ),
    ("responses", {"type": "tool_search", "execution": "client"}, {"type": "mcp"}, "mcp"),
    ("google", {"functionDeclarations": []}, {"googleSearch": {}}, "googleSearch"),
    ("google", {"function_declarations": []}, {"code_execution": {}}, "codeExecution"),
]


@pytest.mark.parametrize(("api", "own", "of_service", "name"), TOOLS)
def test_tool_run_by_the_service_is_sent_only_if_the_settings_allow_it(
    api: str, own: Any, of_service: Any, name: str
) -> None:
    assert checked(api, tools=[own])["tools"] == [own]
    assert checked(api, tools=[own, of_service])["tools"] == [own]
    assert checked(api, name, tools=[own, of_service])["tools"] == [own, of_service]
    with pytest.raises(InvalidInput, match=rf"{name}: .*door\.service_tools allows: none"):
        checked(api, tools=[of_service])
    assert name in FORMATS[api].rules.why_native_only({"tools": [of_service]})
    assert FORMATS[api].rules.why_native_only({"tools": [own, of_service]}) == ""


def test_tools_in_other_places_are_found() -> None:
    look, search = {"type": "function", "name": "look"}, {"type": "web_search"}
    space = {"type": "namespace", "name": "s", "tools": [look, search]}
    assert checked("responses", tools=[space])["tools"] == [space | {"tools": [look]}]
    brought = {"type": "additional_tools", "role": "developer", "tools": [search, look]}
    [item] = checked("responses", input=[brought])["input"]
    assert item["tools"] == [look]
    both: JsonObject = {"functionDeclarations": [], "googleSearch": {}}
    assert checked("google", tools=both)["tools"] == [{"functionDeclarations": []}]


def test_service_stores_nothing_and_reasoning_is_encrypted() -> None:
    body = sent("responses", 50, store=True, include=["a"], prompt_cache_retention="24h")
    assert (body["store"], "prompt_cache_retention" in body) == (False, False)
    assert body["include"] == ["a", "reasoning.encrypted_content"]
    plain = ModelTraits(api="responses", reasoning="dropped")
    assert "include" not in sent("responses", 50, plain)
    assert "store" not in sent("openai", 50, store=True)


def test_cache_marks_have_the_lifetime_that_prices_are_about() -> None:
    long, short = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    text = {"type": "text", "cache_control": long}
    result = {"type": "tool_result", "content": [text]}
    document = {"type": "document", "source": {"type": "content", "content": [text]}}
    added = {"type": "tool_addition", "tool": {"definition": {"name": "b", "cache_control": long}}}
    body = checked(
        "anthropic",
        cache_control=long,
        system=[{"type": "text", "text": "a", "cache_control": long}],
        tools=[{"name": "a", "cache_control": long}],
        **parts(result | {"cache_control": long}, document, added),
    )
    assert body["cache_control"] == short
    assert body["system"][0]["cache_control"] == body["tools"][0]["cache_control"] == short
    block, document, added = body["messages"][0]["content"]
    assert block["cache_control"] == block["content"][0]["cache_control"] == short
    assert document["source"]["content"][0]["cache_control"] == short
    assert added["tool"]["definition"]["cache_control"] == short
    chat = checked("openai", **parts(text), tools=[{"type": "function", "cache_control": long}])
    assert chat["messages"][0]["content"][0]["cache_control"] == short
    assert chat["tools"][0]["cache_control"] == short


def said(*items: Any) -> JsonObject:
    return {"input": list(items)}


def shown_to(*blocks: Any) -> JsonObject:
    return {"contents": [{"parts": list(blocks)}]}


USER: JsonObject = {"role": "user", "content": "?"}
AUDIO_URL = "data:Audio/ogg;base64,aGk="
NESTED: list[tuple[str, str, JsonObject]] = [
    ("responses", "item_reference", said({"id": "msg_1"})),
    ("responses", "item_reference", said({"type": None, "id": "msg_1"})),
    ("responses", "item_reference", said(USER, {"type": "item_reference"})),
    ("responses", "role", said({"role": "user"})),
    ("responses", "role", said({"type": "message", "id": "msg_1"})),
    ("responses", "made_up", said({"type": "made_up", "id": "m"})),
    ("responses", "configuration_update", said({"type": "configuration_update"})),
    ("responses", "message.made_up", said(USER | {"made_up": 1})),
    ("responses", "a list of objects", said("text")),
    ("responses", "input: expected", {"input": {"type": "item_reference", "id": "i"}}),
    ("responses", "instructions", {"instructions": [{"type": "item_reference", "id": "i"}]}),
    (
        "responses",
        "container_id",
        said({"type": "code_interpreter_call", "id": "c", "container_id": "cntr_1"}),
    ),
    ("responses", "image_generation_call", said({"type": "image_generation_call", "id": "ig_1"})),
    (
        "responses",
        "shell_call.environment",
        said({"type": "shell_call", "action": {}, "environment": {"type": "container_reference"}}),
    ),
    (
        "responses",
        "file_id",
        said({"type": "function_call_output", "call_id": "c", "output": [
            {"type": "input_image", "file_id": "f"}]}),
    ),
    ("responses", "content.type", said(USER | {"content": [{"file_id": "f"}]})),
    (
        "responses",
        "file_id",
        said({"type": "computer_call_output", "output": {
            "type": "computer_screenshot", "file_id": "f"}}),
    ),
    (
        "responses",
        "audio",
        said(USER | {"content": [{"type": "input_file", "file_data": AUDIO_URL}]}),
    ),
    (
        "responses",
        "function.container",
        {"tools": [{"type": "function", "name": "a", "container": "c"}]},
    ),
    (
        "responses",
        "function.file_ids",
        said({"type": "additional_tools", "tools": [{"type": "function", "file_ids": ["f"]}]}),
    ),
    ("openai", "attachments", {"messages": [USER | {"attachments": [{"file_id": "f"}]}]}),
    ("openai", "file_ids", {"messages": [USER | {"file_ids": ["f"]}]}),
    ("openai", "audio", {"messages": [{"role": "assistant", "audio": {"id": "a"}}]}),
    ("openai", "messages.made_up", {"messages": [USER | {"made_up": 1}]}),
    ("openai", "content.type", parts({"image_url": "https://a"})),
    ("openai", "text.image_url", parts({"type": "text", "text": "", "image_url": "https://a"})),
    ("openai", "image_url.file_id", parts({"type": "image_url", "image_url": {"file_id": "f"}})),
    ("openai", "audio", parts({"type": "file", "file": {"file_data": AUDIO_URL}})),
    ("openai", "google_search", {"tools": [{"google_search": {}}]}),
    ("openai", "google_search", {"tools": [{"type": None, "google_search": {}}]}),
    ("openai", "google_search", {"tools": [{"type": "function", "google_search": {}}]}),
    ("openai", "tools: expected", {"tools": ["web_search"]}),
    ("anthropic", "content.type", parts({"source": {"type": "file", "file_id": "f"}})),
    ("anthropic", "text.file_id", parts({"type": "text", "text": "", "file_id": "f"})),
    ("anthropic", "source.type", parts({"type": "image", "source": {"type": "stored"}})),
    ("anthropic", "messages.container_id", {"messages": [USER | {"container_id": "c"}]}),
    (
        "anthropic",
        "file_id",
        parts({"type": "web_fetch_tool_result", "content": {
            "type": "web_fetch_result",
            "content": {"type": "document", "source": {"type": "file", "file_id": "f"}},
        }}),
    ),
    ("anthropic", "file_id", {"system": [{"type": "document", "source": {"type": "file"}}]}),
    ("anthropic", "tools.made_up", {"tools": [{"name": "a", "made_up": 1}]}),
    ("google", "parts.madeUp", shown_to({"made_up": {}})),
    ("google", "contents.madeUp", {"contents": [{"parts": [], "made_up": 1}]}),
    ("google", "given twice", shown_to({"inlineData": {}, "inline_data": {}})),
    (
        "google",
        "fileData",
        shown_to({"function_response": {"parts": [{"file_data": {"file_uri": "u"}}]}}),
    ),
    *(
        ("google", "audio", shown_to({"inlineData": {"mimeType": kind, "data": "aGk="}}))
        for kind in ("application/ogg", "AUDIO/wav", "Application/X-Ogg; codecs=opus")
    ),
    ("google", "mimeType", shown_to({"inlineData": {"mimeType": "application/octet-stream"}})),
]  # fmt: skip


@pytest.mark.parametrize(("api", "name", "more"), NESTED)
def test_item_that_may_cost_more_is_refused_by_its_name(
    api: str, name: str, more: JsonObject
) -> None:
    with pytest.raises(InvalidInput, match=name):
        checked(api, **more)


def test_items_of_a_conversation_are_forwarded_unchanged() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low"}
    items: list[JsonObject] = [
        USER,
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [picture]},
        {"type": "image_generation_call", "id": "ig", "result": "aGk="},
        {"type": "message", "role": "assistant", "phase": "commentary", "content": [
            {"type": "output_text", "text": "", "annotations": [], "logprobs": []}]},
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "", "stderr": ""}]},
    ]  # fmt: skip
    assert checked("responses", input=items)["input"] == items
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert checked("openai", messages=messages)["messages"] == messages


def test_reasoning_without_its_content_has_no_id() -> None:
    given = {"type": "reasoning", "id": "rs_1", "summary": []}
    assert checked("responses", input=[given])["input"] == [{"type": "reasoning", "summary": []}]


def test_a_file_at_a_url_beside_file_data_is_as_large_as_the_window() -> None:
    part = {"type": "input_file", "file_data": "aGk=", "file_url": "https://example.com/a.pdf"}
    found = FORMATS["responses"].rules.attachments(said(USER | {"content": [part]}))
    assert max(one.guess(WINDOW) for one in found) == WINDOW


def test_betas_that_change_the_price_are_not_forwarded() -> None:
    betas = "files-1, context-1m-2025-08-07,FAST-MODE-2026-02-01,Context-1M-2025-08-07,effort-2"
    given = {"anthropic-beta": betas, "anthropic-version": "1", "anthropic-workspace-id": "w"}
    assert format_headers(given) == {"anthropic-beta": "files-1,effort-2", "anthropic-version": "1"}
    assert format_headers({"anthropic-beta": "context-1m"}) == {}


@pytest.mark.parametrize(
    "betas",
    [
        "a context-1m-2025",
        "a;context-1m",
        "a\tb",
        "\u00e9",
        "a\u2028context-1m",
        "a,b c",
        "x" * 200,
    ],
)
def test_invalid_beta_name_is_refused(betas: str) -> None:
    with pytest.raises(InvalidInput, match="anthropic-beta"):
        format_headers({"anthropic-beta": betas})
    with pytest.raises(InvalidInput, match="anthropic-version"):
        format_headers({"anthropic-version": betas})


FILE = {"file_id": "f"}
HIDDEN: list[tuple[str, JsonObject]] = [
    *(
        (
            "responses",
            said(USER, {"type": kind, "id": "x", "call_id": "c"} if "call" in kind else
                 {"type": kind, "id": "x"}),
        )
        for kind in CONTENT
    ),
    ("responses", said(USER, {"type": "compaction", "id": "c", "encrypted_content": ""})),
    ("responses", said(USER | {"content": [
        {"type": "output_text", "text": "", "logprobs": [FILE]}]})),
    ("responses", said(USER | {"content": [
        {"type": "output_text", "text": "", "annotations": [{"type": "file_citation"} | FILE]}]})),
    ("responses", said(USER | {"content": [{"type": "input_text", "text": FILE}]})),
    ("responses", {"metadata": {"a": FILE}}),
    ("responses", {"metadata": FILE}),
    ("responses", {"text": {"format": FILE}}),
    ("responses", {"user": {"a": 1}}),
    ("responses", {"instructions": " FileID://x"}),
    ("responses", said({"type": "function_call", "call_id": "c", "name": FILE, "arguments": "{}"})),
    ("openai", {"tools": [{"type": "function", "function": {"name": "a"} | FILE}]}),
    ("openai", {"tools": [{"type": "function", "function": {"name": "a", "parameters": "EVIL"}}]}),
    ("openai", {"tools": [{"type": "function", "function": "EVIL"}]}),
    ("openai", {"functions": [{"name": "a", "parameters": ["x"]}]}),
    ("openai", {"functions": [{"name": "a"} | FILE]}),
    ("openai", {"metadata": {"fileId": "f"}}),
    ("openai", {"messages": [USER | {"annotations": [FILE]}]}),
    ("openai", {"messages": [USER | {"name": {"a": 1}}]}),
    ("openai", {"messages": [{"role": "system", "content": "a, fileid://file-1"}, USER]}),
    ("openai", {"messages": [{"role": "user", "content": "\n fileid://file-1"}]}),
    ("openai", parts({"type": "text", "text": FILE})),
    ("openai", parts({"type": "thinking", "thinking": [
        {"type": "image_url", "image_url": "https://a/"}]})),
    *(
        ("openai", parts({"type": "image_url", "image_url": place(url)}))
        for place in (lambda url: url, lambda url: {"url": url})
        for url in ("ms://file-1", "fileid://f", "gs://b/a", "file:///etc/passwd", "file-abc", "",
                    " https://a/", "https://a/ b", "//a/b.png", "blob:x", "oss://a", "ms:f")
    ),
    ("openai", {"messages": [{"role": "user", "content": [
        {"type": "video_url", "video_url": {"url": "ms://f"}}]}]}),
    ("openai", parts({"type": "file", "file": {"file_data": "ms://f"}})),
    ("openai", parts({"type": "file", "file": {"file_data": "file-abc\x00"}})),
    ("anthropic", parts({"type": "text", "text": "", "citations": [FILE]})),
    ("anthropic", parts({"type": "text", "text": "", "citations": [{"a": {"b": FILE}}]})),
    ("anthropic", parts({"type": "text", "text": [{"type": "text", "text": "a"}]})),
    ("anthropic", {"metadata": FILE}),
    ("anthropic", {"metadata": {"user_id": {"a": 1}}}),
    ("anthropic", {"tools": [{"name": "a", "input_schema": "EVIL"}]}),
    ("anthropic", parts({"type": "tool_use", "id": "a", "name": "b", "input": "x"})),
    ("anthropic", parts({"type": "image", "source": {"type": "url", "url": "ms://f"}})),
    ("anthropic", {"system": "fileid://f"}),
    *(
        ("google", shown_to({"inlineData": {"mimeType": "image/png", "data": data}}))
        for data in ("gs://b/a", "https://a/b.png", "data:image/png,x", "a b\x00")
    ),
    ("anthropic", parts({"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "https://a/b.png"}})),
    ("responses", said({"type": "image_generation_call", "id": "i", "result": "ms://f"})),
    ("google", shown_to({"text": FILE})),
    ("google", shown_to({"partMetadata": FILE})),
    ("google", shown_to({"part_metadata": {"a": {"fileUri": "u"}}})),
    ("google", {"labels": {"a": {"b": 1}}}),
    ("google", {"systemInstruction": {"parts": [{"text": "see fileid://f"}]}}),
    ("google", {"tools": [{"functionDeclarations": [{"name": "a", "parameters": "EVIL"}]}]}),
    ("google", {"tools": [{"function_declarations": [{"name": {"a": 1}}]}]}),
]  # fmt: skip
"""References to content that is not in the request, and values of another kind than they have."""


@pytest.mark.parametrize(("api", "more"), HIDDEN)
def test_references_to_content_outside_the_request_are_refused(api: str, more: JsonObject) -> None:
    with pytest.raises(InvalidInput, match=r"^[\w.]+: "):
        checked(api, **more)


def answered_with(**more: Any) -> JsonObject:
    earlier = {"role": "assistant", "content": "x", **more}
    return {"messages": [earlier, {"role": "user", "content": "?"}]}


PICTURE: JsonObject = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
DATA_PICTURE = "data:image/png;base64,aGk="


@pytest.mark.parametrize(
    "more",
    [
        {"annotations": [{"type": "file", "file": {"hash": "x", "content": [PICTURE]}}]},
        {"annotations": [{"type": "file", "file": {"file_data": "aGk="}}]},
        {"annotations": [PICTURE]},
        {"annotations": [{"type": "x", "image_url": "https://x.example/y.png"}]},
        {"annotations": [{"type": "url_citation", "url_citation": {"url": DATA_PICTURE}}]},
        {"reasoning_details": [{"type": "x", "image_url": "https://x.example/y.png"}]},
        {"reasoning_details": [{"type": "x", "content": [PICTURE]}]},
        {"thinking_blocks": [{"type": "thinking", "content": [PICTURE]}]},
        {"extra_content": {"google": {"content": [PICTURE]}}},
    ],
)
def test_no_media_is_beside_the_content_of_an_earlier_answer(more: JsonObject) -> None:
    with pytest.raises(InvalidInput, match=r"^messages\.0\."):
        checked("openai", **answered_with(**more))


def test_citations_and_reasoning_of_an_earlier_answer_are_forwarded() -> None:
    citation = {"url": "https://x.example/", "title": "x", "start_index": 0, "end_index": 1}
    more = answered_with(
        annotations=[{"type": "url_citation", "url_citation": citation}],
        reasoning_details=[{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}],
        extra_content={"google": {"thought_signature": "s"}},
    )
    assert checked("openai", **more)["messages"] == more["messages"]


LITERAL: list[tuple[str, JsonObject]] = [
    ("openai", {"tools": [{"type": "function", "function": {"name": "a", "parameters": {
        "type": "object", "properties": {"file_id": {"type": "string"}}}}}]}),
    ("openai", {"response_format": {"type": "json_schema", "json_schema": {
        "name": "a", "schema": {"properties": {"audio": {}, "url": {}}}}}}),
    ("anthropic", {"tools": [{"name": "a", "input_schema": {"properties": {"file_id": {}}}}]}),
    ("anthropic", parts({"type": "tool_use", "id": "a", "name": "b", "input": {"file_id": ["x"]}})),
    ("anthropic", parts({"type": "tool_result", "tool_use_id": "a", "content": "see ms://f"})),
    ("google", shown_to({"functionCall": {"name": "a", "args": {"file_id": {"url": "x"}}}})),
    ("google", shown_to({"functionResponse": {"name": "a", "response": {"attachments": [1]}}})),
    ("responses", said(USER | {"content": "about fileid://x and ms://y"})),
    ("responses", said({"type": "local_shell_call", "call_id": "c", "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {"FILE_ID": "x"}}})),
]  # fmt: skip


@pytest.mark.parametrize(("api", "more"), LITERAL)
def test_names_in_model_text_are_unrestricted(api: str, more: JsonObject) -> None:
    assert checked(api, **more) == ASKED[api] | more


def test_items_that_a_service_may_have_stored_are_sent_without_their_id() -> None:
    items: list[JsonObject] = [
        {"type": "message", "id": "m", "role": "user", "content": "?"},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "a", "arguments": "{}"},
        {"type": "web_search_call", "id": "w", "status": "completed"},
        {"type": "file_search_call", "id": "s", "queries": ["a"]},
    ]
    sent = checked("responses", input=items)["input"]
    assert sent == [{k: v for k, v in item.items() if k != "id"} for item in items]


@pytest.mark.parametrize(
    "url",
    [
        "data:audio/mp3;base64,aGk=", "data:Audio/ogg;base64,aGk=", "data:AUDIO/x;a=b,x",
        "data:;audio/mp3,x", "data:;base64;audio/mp3,x", " data:audio/mp3;base64,aGk=",
        "\tdata:image/png,x", "data: audio/mp3,x", "data:image/png ;base64,x", "data:image/png",
        "data:application/ogg,x", "data:application/x-flac;codecs=flac,x", "data:image,x",
        "data:image/png;base64,a b", "data:image/png,audio/mp3", "data:application/octet-stream,x",
        "data:image/png,\u00e9", "data:image/png;base64,aGk=\n", "DATA:AUDIO/MP3,x",
    ],
)  # fmt: skip
def test_data_url_is_checked_by_its_parsed_type(url: str) -> None:
    is_picture = url == "data:image/png,audio/mp3"
    body = parts({"type": "image_url", "image_url": {"url": url}})
    if is_picture:
        assert checked("openai", **body)["messages"] == body["messages"]
        return
    with pytest.raises(InvalidInput, match=r"url"):
        checked("openai", **body)
    with pytest.raises(InvalidInput, match=r"url|file_data"):
        checked("openai", **parts({"type": "file", "file": {"file_data": url}}))
    with pytest.raises(InvalidInput, match=r"url"):
        checked(
            "responses", **said(USER | {"content": [{"type": "input_image", "image_url": url}]})
        )


@pytest.mark.parametrize("kind", ["audio/mp3", " image/png", "image", "", None, "image/png,x", 3])
def test_a_media_type_is_parsed(kind: Any) -> None:
    for api, more in (
        ("google", shown_to({"inlineData": {"mimeType": kind, "data": "aGk="}})),
        ("anthropic", parts({"type": "image", "source": {
            "type": "base64", "media_type": kind, "data": "aGk="}})),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=r"media_type|mimeType"):
            checked(api, **more)


REAL: dict[str, tuple[str, JsonObject]] = {
    "Claude Code": (
        "anthropic",
        {
            "system": [{"type": "text", "text": "You", "cache_control": {"type": "ephemeral"}}],
            "metadata": {"user_id": "u"},
            "max_tokens": 128_000,
            "thinking": {"type": "adaptive", "display": "updates"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "medium"},
            "tools": [{"name": "Bash", "input_schema": {}, "defer_loading": True}],
            "stream": True,
        },
    ),
    "Codex": (
        "responses",
        {
            "stream": True,
            "input": [{"type": "message", "role": "developer", "content": []}],
            "tools": [{"type": "function", "name": "exec_command"}],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "k",
            "client_metadata": {"session_id": "s"},
        },
    ),
    "Gemini CLI": (
        "google",
        {
            "systemInstruction": {"parts": [{"text": "You"}], "role": "user"},
            "generationConfig": {
                "temperature": 1,
                "topP": 0.95,
                "topK": 64,
                "thinkingConfig": {"includeThoughts": True},
            },
            "tools": [{"functionDeclarations": []}],
        },
    ),
}
"""Parameters of the agents' requests, as their programs send them."""


@pytest.mark.parametrize("agent", REAL)
def test_the_requests_of_coding_agents_are_forwarded(agent: str) -> None:
    api, asked = REAL[agent]
    assert checked(api, **asked) == ASKED[api] | asked


# --- the size of a request -----------------------------------------------------------------------

WINDOW = 200_000
DATA = "A" * 400_000


def pictures(api: str, data: str) -> JsonObject:
    """Return a request with a picture and a document in each place where the format has them."""
    url = f"data:image/png;base64,{data}"
    match api:
        case "anthropic":
            source = {"type": "base64", "media_type": "image/png", "data": data}
            picture = {"type": "image", "source": source}
            document = {"type": "document", "source": source}
            return parts({"type": "tool_result", "content": [picture]}, document)
        case "openai":
            picture = {"type": "image_url", "image_url": {"url": url}}
            return parts(picture, {"type": "file", "file": {"file_data": url}})
        case "responses":
            picture = {"type": "input_image", "image_url": url}
            output = {"type": "function_call_output", "call_id": "c", "output": [picture]}
            document = {"type": "input_file", "file_data": url}
            return {"input": [output, {"role": "user", "content": [document]}]}
        case _:
            picture = {"inlineData": {"mimeType": "image/png", "data": data}}
            result = {"functionResponse": {"name": "a", "parts": [picture]}}
            document = {"inline_data": {"mime_type": "application/pdf", "data": data}}
            return {"contents": [{"parts": [result, document]}]}


@pytest.mark.parametrize("api", FORMATS)
def test_pictures_and_documents_are_sized_by_their_highest_cost(api: str) -> None:
    found = sorted(FORMATS[api].rules.attachments(pictures(api, DATA)), key=lambda a: a.is_picture)
    assert [one.is_picture for one in found] == [False, True]
    assert all(0 <= one.encoded - len(DATA) < 50 for one in found)
    body_bytes = 2 * len(DATA) + 3000
    size = forwarded_size(body_bytes, found, WINDOW, has_service_tools=False)
    assert WINDOW + 3000 < size.guess < WINDOW + 5000
    assert 300_000 + 50_000 < size.most < 300_000 + 60_000


@pytest.mark.parametrize("url", ["https://example.com/a.pdf", "HTTP://example.com/a"])
def test_a_document_at_a_url_in_file_data_is_as_large_as_the_window(url: str) -> None:
    given = {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    [found] = FORMATS["openai"].rules.attachments(parts(given))
    part = {"type": "input_file", "file_data": url}
    [other] = FORMATS["responses"].rules.attachments({"input": [{"content": [part]}]})
    assert found == other
    assert found.guess(WINDOW) == WINDOW


@pytest.mark.parametrize(
    ("api", "more"),
    [
        ("openai", parts({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})),
        ("openai", parts({"type": "image_url", "image_url": "https://example.com/a"})),
        ("responses", {"input": [{"content": [
            {"type": "input_image", "image_url": "https://example.com/a.png"}]}]}),
        ("anthropic", parts(
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})),
    ],
)  # fmt: skip
def test_a_picture_at_a_url_is_as_large_as_the_window(api: str, more: JsonObject) -> None:
    [found] = FORMATS[api].rules.attachments(more)
    assert found.guess(WINDOW) == WINDOW


def test_a_document_elsewhere_is_as_large_as_the_window() -> None:
    source = {"type": "url", "url": "https://example.com/a.pdf"}
    [found] = FORMATS["anthropic"].rules.attachments(parts({"type": "document", "source": source}))
    assert found.guess(WINDOW) == WINDOW
    assert Attachment(8, is_picture=False).guess(WINDOW) == 3000


@pytest.mark.parametrize("known", [WINDOW, None])
@pytest.mark.parametrize("api", FORMATS)
def test_a_small_document_may_have_as_many_tokens_as_the_window(
    api: str, known: int | None
) -> None:
    found = [
        one
        for one in FORMATS[api].rules.attachments(pictures(api, "A" * 4000))
        if not one.is_picture
    ]
    size = document_size(found, known)
    longest = known or LARGEST_WINDOW
    assert size.guess < 5000
    assert longest < size.most <= longest + MOST_HIDDEN_TOKENS + 5000
    for billed in (1, 5000, longest, LARGEST_WINDOW):
        assert booked_for(size, billed) == Usage(input_tokens=billed, output_tokens=5)
    for wrong in (0, -1, 10**25):
        booked = booked_for(size, wrong)
        assert (booked.input_tokens, booked.is_estimate) == (longest, True)


def document_size(found: list[Attachment], known: int | None) -> InputSize:
    return forwarded_size(5000, found, known, has_service_tools=False)


def booked_for(size: InputSize, counted: int) -> Usage:
    usage = Usage(input_tokens=counted, output_tokens=5)
    return believed_usage(PartialUsage(usage, 3, has_begun=True, is_complete=True), size, 64)


def test_all_documents_of_a_request_fit_into_the_window() -> None:
    one, many = (document_size([Attachment(0, is_picture=False)] * n, WINDOW) for n in (1, 9))
    assert (many.guess, many.most, many.uncounted) == (one.guess, one.most, one.uncounted)


@pytest.mark.parametrize("known", [WINDOW, None])
def test_video_or_document_at_a_url_reserves_the_whole_window(known: int | None) -> None:
    elsewhere = Attachment(0, is_picture=False)
    assert document_size([elsewhere], known).guess >= (known or LARGEST_WINDOW)


# --- the documentation ---------------------------------------------------------------------------


def names_in(cell: str) -> set[str]:
    """Return the names of parameters in a cell of the table: before a colon, or alone."""
    return {
        found for text in cell.split(";") for found in re.findall(r"`(\w+)`", text.split(":")[0])
    }


@pytest.mark.parametrize(("api", "row"), [
    ("anthropic", "Messages"), ("openai", "Chat Completions"), ("responses", "Responses"),
    ("google", "Gemini"),
])  # fmt: skip
def test_documentation_lists_the_forwarded_parameters(api: str, row: str) -> None:
    [line] = re.findall(rf"^\| {row} \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    forwarded, with_values, left_out = map(names_in, line.split("|"))
    rules = FORMATS[api].rules
    settings = rules.settings if isinstance(rules, GoogleRules) else {}
    in_path = {"model", "stream"} if api == "google" else set()
    assert forwarded == {*rules.parameters, *settings} - in_path
    assert left_out == rules.left_out
    values = rules.setting_values if isinstance(rules, GoogleRules) else rules.values
    assert with_values >= values.keys()
    assert with_values - values.keys() <= {"context_management"}


@pytest.mark.parametrize(
    ("media", "is_picture"),
    [
        ("image/png", True),
        ("IMAGE/webp;a=b", True),
        ("video/mp4", False),
        ("application/pdf", False),
    ],
)
def test_only_a_media_type_of_a_picture_makes_a_data_url_a_picture(
    media: str, is_picture: bool
) -> None:
    assert from_url(f"data:{media};base64,AAAA", is_picture=True).is_picture is is_picture
