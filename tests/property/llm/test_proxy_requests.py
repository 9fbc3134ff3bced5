"""Requests of external agents, changed at any place: refused with the field, or forwarded whole.

Each request is a request of a coding agent, with one value replaced, one field added or one field
removed. The only possible error is a refusal, and no forwarded request has a reference.
"""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.record import why_not_stored
from agiraph.core.turns import JsonObject
from agiraph.foreign.http import RepeatedName, TooManyValues, read_json_once
from agiraph.llm.connect import FORMATS
from agiraph.llm.providers.local.schemas import answer_schema
from agiraph.llm.request_body_cache import RequestBodyCache, as_json
from agiraph.llm.structured import with_schema_as_text
from agiraph.llm.text_tools.text_tools import as_text
from agiraph.llm.wire.format import readable
from agiraph.llm.wire.google_rules import GoogleRules
from agiraph.llm.wire.request_rules import LIMIT, SHAPES
from agiraph.models.registry import ModelTraits

SCHEMA: JsonObject = {"type": "object", "properties": {"file_id": {"type": "string"}}}
DATA = "data:image/png;base64,aGk="
REQUESTS: dict[str, JsonObject] = {
    "anthropic": {
        "model": "any", "max_tokens": 500, "stream": True, "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "look", "description": "d", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"}, "output_config": {"effort": "low"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "?", "citations": []}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"file_id": "x"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [
                    {"type": "image", "source": {
                        "type": "base64", "media_type": "image/png", "data": "aGk="}}]},
                {"type": "document", "title": "t", "citations": {"enabled": True}, "source": {
                    "type": "url", "url": "https://example.com/a.pdf"}}]},
        ],
    },
    "openai": {
        "model": "any", "stream": True, "stream_options": {"include_usage": True},
        "metadata": {"a": "b"}, "stop": ["x"], "logit_bias": {"1": 2}, "temperature": 1,
        "reasoning": {"effort": "low", "max_tokens": 3000},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [
                {"type": "text", "text": "?"},
                {"type": "image_url", "image_url": {"url": DATA, "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "aGk="}}]},
            {"role": "assistant", "content": None, "reasoning_details": [{"type": "t", "id": "i"}],
             "tool_calls": [{"id": "c", "type": "function", "extra_content": {"google": {}},
                             "function": {"name": "look", "arguments": '{"a": 1}'}}]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ],
    },
    "responses": {
        "model": "any", "stream": True, "instructions": "s", "include": ["a"],
        "client_metadata": {"session_id": "s"}, "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "tools": [
            {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False},
            {"type": "custom", "name": "patch", "format": {"type": "grammar", "definition": "x"}}],
        "input": [
            {"type": "message", "role": "user", "id": "m", "content": [
                {"type": "input_text", "text": "?"},
                {"type": "input_image", "image_url": DATA, "detail": "low"}]},
            {"type": "reasoning", "id": "r", "encrypted_content": "x", "summary": [
                {"type": "summary_text", "text": "t"}]},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "t", "annotations": [], "logprobs": []}]},
            {"type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
            {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}},
            {"type": "compaction", "id": "k", "encrypted_content": "x"},
        ],
    },
    "google": {
        "model": "any", "stream": True, "labels": {"a": "b"},
        "systemInstruction": {"role": "user", "parts": [{"text": "s"}]},
        "generationConfig": {"temperature": 1, "maxOutputTokens": 50, "stopSequences": ["x"],
                             "thinkingConfig": {"thinkingBudget": 100}},
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["look"]}},
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}],
        "contents": [
            {"role": "user", "parts": [
                {"text": "?"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "c", "name": "look", "args": {"file_id": "x"}},
                 "thoughtSignature": "s"}]},
            {"role": "user", "parts": [{"functionResponse": {
                "id": "c", "name": "look", "response": {"output": "r"}, "parts": []}}]},
        ],
    },
}  # fmt: skip
LITERAL = {
    "input_schema", "input", "schema", "parameters", "parametersJsonSchema", "args", "response",
    "arguments", "env",
}  # fmt: skip
"""The fields whose JSON no service inspects (`input` of Responses is none of them)."""
REFERENCES = {"file_id", "fileId", "file_ids", "container_id", "fileUri", "item_reference"}
WITHOUT_CONTENT = {"web_search_call", "message", "function_call", "compaction", "reasoning"}
TRAITS = ModelTraits(api="openai")

names = st.sampled_from(
    ["file_id", "fileId", "file_ids", "container_id", "id", "type", "role", "url", "image_url",
     "content", "text", "input", "source", "parts", "name", "parameters", "audio", "tools", "é",
     "\ud800", "", "a.b", "metadata", "arguments", "call_id", "max_tokens", "fileUri"]
)  # fmt: skip
scalars = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**63, "", "x", "fileid://f", "ms://f", "file-abc", "\ud800", "\0",
     "https://a/b", "data:audio/mp3,x", "data:;audio/mp3,x", "item_reference", "message", "text",
     "file", "system", "{", "[1]"]
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values of a body."""
    found = [path] if path else []
    if not isinstance(value, dict | list):
        return found
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found += places(inner, (*path, key))
    return found


def changed(body: JsonObject, path: tuple[Any, ...], name: str | None, value: Any) -> JsonObject:
    """Return a body with another value at a path, or with one more field there."""
    made = copy.deepcopy(body)
    holder: Any = made
    for step in path[:-1]:
        holder = holder[step]
    if name is not None and isinstance(holder[path[-1]], dict):
        holder[path[-1]][name] = value
    else:
        holder[path[-1]] = value
    return made


changes = st.sampled_from(sorted(REQUESTS)).flatmap(
    lambda api: st.tuples(
        st.just(api),
        st.builds(
            changed,
            st.just(REQUESTS[api]),
            st.sampled_from(places(REQUESTS[api])),
            st.none() | names,
            values,
        ),
    )
)


def references(value: Any, name: str = "") -> list[str]:
    """Return the references in a forwarded body to content that is not in it."""
    if isinstance(value, list):
        return [found for one in value for found in references(one, name)]
    if isinstance(value, str):
        is_url = name.endswith(("url", "Uri"))
        is_address = is_url and value != "" and not value.startswith(("data:", "http"))
        is_file = value.lstrip().lower().startswith("fileid://") or is_address
        return [value] if is_file else []
    if not isinstance(value, dict):
        return []
    found = [name for name in value if name in REFERENCES and value[name] is not None]
    found += [value["type"]] if value.get("type") == "item_reference" else []
    for key, inner in value.items():
        is_literal = key in LITERAL and not (key == "input" and isinstance(inner, list))
        found += [] if is_literal else references(inner, key)
    return found


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(1, 5) | st.floats(0, 1) | st.sampled_from(["x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("x"), inner, max_size=1),
    max_leaves=3,
)


@given(st.sampled_from(sorted(REQUESTS)), st.data())
def test_a_parameter_is_refused_or_forwarded_in_a_shape_of_its_own(
    api: str, data: st.DataObject
) -> None:
    rules = FORMATS[api].rules
    settings = rules.settings if isinstance(rules, GoogleRules) else {}
    name = data.draw(st.sampled_from(sorted({*rules.parameters, *settings} - {"model"})))
    value = data.draw(JSON_VALUES)
    body = {key: REQUESTS[api][key] for key in ("model", "messages", "contents", "input")
            if key in REQUESTS[api]}  # fmt: skip
    is_setting = name in settings
    given = {"generationConfig": {name: value}} if is_setting else {name: value}
    try:
        sent = rules.checked(body | given)
    except InvalidInput:
        return
    if value is None:
        return
    found = sent["generationConfig"][name] if is_setting else sent[name]
    assert found == value
    possible = (settings if is_setting else rules.parameters)[name]
    assert possible == LIMIT or any(SHAPES[shape][1](found) for shape in possible)


@given(changes, st.data())
def test_a_body_with_a_name_twice_in_one_object_is_refused(
    change: tuple[str, JsonObject], data: st.DataObject
) -> None:
    _, body = change
    text = json.dumps(body)
    assert read_json_once(text.encode(), 1000) == json.loads(text)
    objects = [path for path in places(body) if isinstance(held := at(body, path), dict) and held]
    path = data.draw(st.sampled_from([(), *objects]))
    held = at(body, path)
    name = data.draw(st.sampled_from(sorted(held)))
    other = json.dumps(data.draw(scalars))
    escaped = "".join(f"\\u{unit:04x}" for unit in units(name))
    again = data.draw(st.sampled_from([json.dumps(name), f'"{escaped}"']))
    inner = json.dumps(held)
    twice = data.draw(
        st.sampled_from([f"{inner[:-1]}, {again}: {other}}}", f"{{{again}: {other}, {inner[1:]}"])
    )
    marked = json.dumps(changed(body, path, None, "HERE") if path else "HERE")
    with pytest.raises(RepeatedName):
        read_json_once(marked.replace('"HERE"', twice).encode(), 1000)


AT_A_URL = "https://example.com/media.png"
VIDEO: JsonObject = {"mimeType": "video/mp4", "data": "media"}
MEDIA: dict[str, list[JsonObject]] = {
    "openai": [
        {"type": "image_url", "image_url": {"url": AT_A_URL}},
        {"type": "video_url", "video_url": AT_A_URL},
        {"type": "file", "file": {"file_data": AT_A_URL}},
        {"image_url": AT_A_URL},
    ],
    "responses": [
        {"type": "input_image", "image_url": AT_A_URL},
        {"type": "input_file", "file_url": AT_A_URL},
        {"type": "computer_screenshot", "image_url": AT_A_URL},
        {"file_data": AT_A_URL},
    ],
    "anthropic": [
        {"type": "image", "source": {"type": "url", "url": AT_A_URL}},
        {"type": "document", "source": {"type": "url", "url": AT_A_URL}},
        {"type": "search_result", "source": {"type": "url", "url": AT_A_URL}},
        {"type": "url", "url": AT_A_URL},
    ],
    "google": [
        {"inlineData": VIDEO},
        {"inline_data": {"mime_type": "video/mp4", "data": "media"}},
        {"functionResponse": {"name": "a", "response": {}, "parts": [{"inlineData": VIDEO}]}},
        VIDEO,
    ],
}
"""Pictures and files whose tokens are not known from their bytes."""
HOLDERS = st.sampled_from([
    None, "content", "output", "outputs", "summary", "source", "parts", "image_url", "file",
    "tools", "action", "caller", "logprobs", "annotations", "extra_content", "metadata",
    "format", "grammar", "cache_control", "toolResponse", "executableCode", "functionResponse",
    "labels", "0", "x",
])  # fmt: skip


def media_in(value: Any, name: str = "") -> int:
    """Return how many pictures and files are in a forwarded body, outside of literal JSON."""
    if isinstance(value, list):
        return sum(media_in(one, name) for one in value)
    if isinstance(value, str):
        return value in (AT_A_URL, "media")
    if not isinstance(value, dict):
        return 0
    literal = {key for key in value if key in LITERAL and not isinstance(value[key], list)}
    return sum(media_in(inner, key) for key, inner in value.items() if key not in literal)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(REQUESTS)), HOLDERS, st.data())
def test_picture_or_file_is_refused_or_counted_at_any_place(
    api: str, holder: str | None, data: st.DataObject
) -> None:
    rules = FORMATS[api].rules
    media = data.draw(st.sampled_from(MEDIA[api]))
    put = data.draw(st.sampled_from([media, [media], {"content": [media]}, {"0": media}]))
    body = changed(REQUESTS[api], data.draw(st.sampled_from(places(REQUESTS[api]))), holder, put)
    try:
        with readable():
            sent = rules.checked(body)
    except InvalidInput:
        return
    unknown = [one for one in rules.attachments(sent) if not one.is_picture and not one.encoded]
    assert media_in(sent) <= len(unknown)


def values_in(value: Any) -> int:
    """Return how many values are in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + values_in(one) for one in inner)


@given(values)
def test_a_body_of_more_values_than_are_read_is_refused(value: Any) -> None:
    data, size = json.dumps({"commas": ",[{" * 50, "value": value}).encode(), 2 + values_in(value)
    assert read_json_once(data, 2 * size) == json.loads(data)
    with pytest.raises(TooManyValues):
        read_json_once(data, size - 1)


def units(name: str) -> list[int]:
    """Return the units of a name in UTF-16, as JSON escapes it."""
    data = name.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[place : place + 2], "little") for place in range(0, len(data), 2)]


def at(body: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for step in path:
        body = body[step]
    return body


def test_each_request_is_forwarded_unchanged() -> None:
    for api, body in REQUESTS.items():
        sent = FORMATS[api].rules.checked(body)
        if api != "responses":
            assert sent == body


@settings(max_examples=200, deadline=None)
@given(changes)
def test_a_changed_request_is_refused_or_forwarded_without_a_reference(
    change: tuple[str, JsonObject],
) -> None:
    api, body = change
    wire = FORMATS[api]
    if any(map(why_not_stored, body.values())):
        return
    try:
        with readable():
            sent = wire.rules.checked(body)
            request = wire.parse_request(sent)
    except InvalidInput:
        return
    forwarded = wire.forwarded(sent, "m", 1500, TRAITS)
    assert json.loads(as_json(forwarded).decode())
    assert not references(forwarded), forwarded
    items = forwarded.get("input") if api == "responses" else None
    for item in items if isinstance(items, list) else []:
        assert not ("id" in item and item.get("type", "message") in WITHOUT_CONTENT)
    wire.writer(sent)
    answer_schema(request.tools, request.response_schema)
    with_schema_as_text(request)
    as_text(request)
    for other in FORMATS.values():
        other.encode_request(request, "m", TRAITS, RequestBodyCache())
