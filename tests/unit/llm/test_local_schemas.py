"""Shapes and words of the local model: schemas brought down, answers read."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelResponse,
    ToolCall,
    ToolTurn,
    UserTurn,
)
from agiraph.llm.providers.local.prompts import as_rendered, read_answer
from agiraph.llm.providers.local.schemas import SIMPLE, answer_schema, plain
from tests.unit.llm.requests import BASH, ask

WORDS = {
    *("type", "properties", "required", "additionalProperties"),
    *("items", "anyOf", "enum", "const"),
}


def schemas() -> st.SearchStrategy[Any]:
    leaf = st.fixed_dictionaries({"type": st.sampled_from([*SIMPLE, "made-up"])})
    return st.recursive(
        leaf | st.just({}) | st.just(True) | st.just({"$ref": "#/$defs/x", "title": "X"}),
        lambda inner: st.one_of(
            st.builds(lambda one: {"type": "array", "items": one, "minItems": 1}, inner),
            st.builds(lambda some: {"anyOf": some, "title": "T"}, st.lists(inner, max_size=3)),
            st.builds(
                lambda some: {"type": "object", "properties": some, "required": ["a", "zzz"]},
                st.dictionaries(st.sampled_from(["a", "b", "type"]), inner, max_size=3),
            ),
        ),
        max_leaves=8,
    )


def check(schema: Any) -> None:
    assert set(schema) <= WORDS
    for one in schema.get("properties", {}).values():
        check(one)
    for one in schema.get("anyOf", ()):
        check(one)
    if "items" in schema:
        check(schema["items"])
    assert set(schema.get("required", ())) <= set(schema.get("properties", ()))


@settings(max_examples=60, deadline=None)
@given(schemas(), schemas())
def test_any_schema_is_reduced_to_supported_keywords(schema: Any, other: Any) -> None:
    root: JsonObject = {"type": "object", "properties": {"a": schema}, "$defs": {"x": other}}
    check(plain(root))


def test_circular_references_terminate() -> None:
    loop: JsonObject = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert plain(loop) == {}
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    check(plain({"$ref": "#/$defs/node", "$defs": {"node": node}}))


def test_answer_is_one_call_or_text() -> None:
    call, say = answer_schema([BASH])["anyOf"]
    assert call["properties"]["name"] == {"const": "bash"}
    assert call["properties"]["arguments"]["properties"] == {"command": {"type": "string"}}
    assert list(say["properties"]) == ["say"]


@pytest.mark.parametrize(
    ("text", "expected", "calls"),
    [
        ('{"say": "hello"}', "hello", []),
        ('{"name": "bash", "arguments": {"command": "ls"}}', None, [("bash", {"command": "ls"})]),
        ('{"name": "bash", "argum', '{"name": "bash", "argum', []),
        ("[1]", "[1]", []),
        ('{"name": 3, "arguments": {}}', '{"name": 3, "arguments": {}}', []),
    ],
)
def test_answers_are_read_and_truncated_ones_are_not_calls(
    text: str, expected: str | None, calls: list[tuple[str, JsonObject]]
) -> None:
    read = read_answer(ModelResponse(text=text), ask())
    assert read.text == expected
    assert [(call.name, call.arguments) for call in read.tool_calls] == calls
    assert all(call.id for call in read.tool_calls)


def test_conversation_is_rendered_as_text() -> None:
    call = ToolCall(id="c1", name="bash", arguments={"command": "ls"})
    told = as_rendered(
        ask(
            UserTurn(content="Begin."),
            AssistantTurn(text="Well.", tool_calls=(call,)),
            ToolTurn(call_id="c1", name="bash", content="a.txt", is_error=True),
        )
    )
    assert told.tools == ()
    assert "- bash(command): Run a shell command." in told.system
    _, answer, result = told.turns
    assert isinstance(answer, AssistantTurn)
    lines = [json.loads(line) for line in (answer.text or "").splitlines()]
    assert lines == [{"say": "Well."}, {"name": "bash", "arguments": {"command": "ls"}}]
    assert result == UserTurn(content="[Error of bash]\na.txt")
