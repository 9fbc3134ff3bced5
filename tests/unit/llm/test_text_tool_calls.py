"""Calls as small models write them: read if they are unambiguous, and returned as an error
otherwise."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import AssistantTurn, ToolCall, ToolSchema, ToolTurn, UserTurn
from agiraph.llm.text_tools.lenient_json import UnreadableJson, read_whole
from agiraph.llm.text_tools.text_tool_calls import problem_of, read_calls
from agiraph.llm.text_tools.text_tools import as_text
from tests.unit.llm.requests import BASH, ask

WRITE = ToolSchema(
    name="write_file",
    description="Write a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "lines": {"type": "integer"},
        },
    },
)
TOOLS = (BASH, WRITE)
LS = ("bash", {"command": "ls"}, None)

GOOD = {
    "as asked": '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
    "a fence within": '<tool_call>\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```'
    "\n</tool_call>",
    "no end": '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}',
    "no end, then words": '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}\nI wait.',
    "single quotes": "<tool_call>{'name': 'bash', 'arguments': {'command': 'ls'}}</tool_call>",
    "commas": '<tool_call>{"name": "bash", "arguments": {"command": "ls",},}</tool_call>',
    "a bracket too many": '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}}'
    "</tool_call>",
    "bare keys": '<tool_call>{name: "bash", arguments: {command: "ls"}}</tool_call>',
    "other keys": '<tool_call>{"tool": "bash", "args": {"command": "ls"}}</tool_call>',
    "arguments as text": '<tool_call>{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}'
    "</tool_call>",
    "as OpenAI has it": '<tool_call>{"id": "1", "type": "function", "function": {"name": "bash", '
    '"arguments": "{\\"command\\": \\"ls\\"}"}}</tool_call>',
    "another tag": '<function_call>{"name": "bash", "arguments": {"command": "ls"}}'
    "</function_call>",
    "bars": '<|tool_call|>{"name": "bash", "arguments": {"command": "ls"}}<|/tool_call|>',
    "as Mistral has it": '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]',
    "a function": '<function=bash>{"command": "ls"}</function>',
    "parameters": "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>",
    "parameters in a tag": "<tool_call>\n<function=bash>\n<parameter=command>ls</parameter>\n"
    "</function>\n</tool_call>",
    "a fence alone": '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
    "an object alone": '{"name": "bash", "arguments": {"command": "ls"}}',
    "thoughts first": "<think>{'name': 'bash'} <tool_call>no</tool_call></think>"
    '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
}


def read(text: str) -> list[tuple[str, Any, str | None]]:
    return [(c.name, c.arguments, c.malformed) for c in read_calls(text, TOOLS).calls]


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_unambiguous_call_is_read(text: str) -> None:
    assert read(text) == [LS]
    assert read(f"I look first.\n{text}") == [LS]


BAD = {
    "cut off": '<tool_call>{"name": "bash", "arguments": {"command": "rm -r build',
    "cut off behind a value": '<tool_call>{"name": "bash", "arguments": {"command": "rm"',
    "the object goes on": '<tool_call>{"name": "bash", "arguments": {"command": "rm"}}, "x": 1}',
    "it goes on in the tag": '<tool_call>{"name": "bash", "arguments": {"command": "rm"}} twice'
    "</tool_call>",
    "no arguments object": '<tool_call>{"name": "bash", "command": "rm"}</tool_call>',
    "arguments beside": '<tool_call>{"name": "bash", "arguments": {}, "command": "rm"}</tool_call>',
    "a key twice": '<tool_call>{"name": "bash", "arguments": {"command": "a", "command": "b"}}'
    "</tool_call>",
    "quotes within quotes": '<tool_call>{"name": "bash", "arguments": {"command": "echo "hi""}}'
    "</tool_call>",
    "an apostrophe": "<tool_call>{'name': 'bash', 'arguments': {'command': 'echo it's'}}"
    "</tool_call>",
    "an unknown escape": r'<tool_call>{"name": "bash", "arguments": {"command": "grep \d"}}'
    "</tool_call>",
    "two names": '<tool_call>{"name": "bash", "tool": "wait", "arguments": {}}</tool_call>',
    "a parameter without its end": "<function=bash><parameter=command>rm -r build",
    "a function without its end": "<function=bash><parameter=command>rm</parameter>",
    "a number in words": "<function=write_file><parameter=lines>three</parameter></function>",
    "words": "<tool_call>run ls please</tool_call>",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_ambiguous_call_is_never_run(text: str) -> None:
    calls = read_calls(text, TOOLS).calls
    assert calls
    assert all(call.malformed and not call.arguments for call in calls)
    assert problem_of(calls[0].malformed or "", TOOLS)
    named = [name for name in ("bash", "write_file") if name in text]
    assert calls[0].name == next(iter(named), "unknown")


@pytest.mark.parametrize(
    "text",
    [
        'For example:\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```\nSo it goes.',
        '```json\n{"name": "Ada", "born": 1815}\n```',
        '```json\n{"name": "launch_rockets", "arguments": {}}\n```',
        '{"name": "bash"}',
        "<think>I might call <tool_call>{}</tool_call>",
        "a < b and c[0] > d",
    ],
)
def test_json_that_may_be_something_else_is_text(text: str) -> None:
    assert read(text) == []


def test_several_calls_of_one_answer_are_read_in_order() -> None:
    text = (
        '<tool_call>{"name": "bash", "arguments": {"command": "a"}}\n'
        '<tool_call>{"name": "bash", "arguments": {"command": "b"}}</tool_call>\n'
        '<tool_call>{"name": "bash", "arguments": {"command": "c"}}\n'
        '{"name": "bash", "arguments": {"command": "d"}}</tool_call>'
    )
    assert [arguments["command"] for _, arguments, _ in read(text)] == ["a", "b", "c", "d"]
    assert read_calls(f"First.\n{text}\nThen.", TOOLS).text == "First.\n\n\n\nThen."


def test_parameters_have_the_types_of_their_tool() -> None:
    text = (
        "<function=write_file><parameter=path>a.txt</parameter><parameter=content>\n"
        '{"a": 1}\n</parameter><parameter=lines> 3 </parameter></function>'
    )
    assert read(text) == [
        ("write_file", {"path": "a.txt", "content": '{"a": 1}', "lines": 3}, None)
    ]


def test_unreadable_call_is_returned_with_the_error_and_the_right_form() -> None:
    call = ToolCall(id="c1", name="bash", malformed='{"name": "bash", "arguments": {"command": "l')
    result = ToolTurn(call_id="c1", name="bash", content="not a JSON object", is_error=True)
    told = as_text(ask(AssistantTurn(tool_calls=(call,)), result)).turns[1]
    assert isinstance(told, UserTurn)
    assert told.content.startswith("[Error of bash]\nnot a JSON object")
    assert "Nothing was run" in told.content
    assert "has no end" in told.content
    assert '<tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call>' in (
        told.content
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
ARGUMENTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=3)


@given(VALUES)
def test_json_is_parsed_exactly(value: Any) -> None:
    assert read_whole(json.dumps(value)) == value
    assert read_whole(json.dumps(value, ensure_ascii=False, indent=2)) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), VALUES))
def test_python_repr_is_parsed_like_json(value: dict[str, Any]) -> None:
    try:
        found = read_whole(repr(value))
    except UnreadableJson:
        return  # repr has escapes that JSON has not
    assert found == value


@given(ARGUMENTS)
def test_a_call_with_any_arguments_is_read_back(arguments: dict[str, Any]) -> None:
    text = json.dumps({"name": "bash", "arguments": arguments})
    assert read(f"<tool_call>{text}</tool_call>") == [("bash", arguments, None)]


@given(ARGUMENTS, st.data())
def test_truncated_call_is_not_run(arguments: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps({"name": "bash", "arguments": arguments})
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert all(malformed is not None for _, _, malformed in read(f"<tool_call>{cut}"))


@given(st.text(max_size=60), st.sampled_from(["<tool_call>", "<function=bash>", "```json\n", ""]))
def test_any_text_is_read_without_an_exception(text: str, opener: str) -> None:
    written = read_calls(opener + text, TOOLS)
    for call in written.calls:
        assert call.malformed is None or not call.arguments
        if call.malformed is not None:
            problem_of(call.malformed, TOOLS)


REPEATED = {
    "empty lines": "\n",
    "opening tags": "<tool_call>",
    "opening tags of functions": "<function=bash>\n<parameter=command>ls\n",
    "objects without an end": '\n{"name": "bash"',
    "strings without an end": '<tool_call>{"a":"',
}


@pytest.mark.parametrize("piece", REPEATED.values(), ids=REPEATED)
def test_a_long_text_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    # In time that grows with the square, the first one alone takes minutes.
    read_calls(piece * (200_000 // len(piece)), TOOLS)


def test_a_number_that_is_too_long_is_a_malformed_call() -> None:
    call = '<tool_call>{"name": "bash", "arguments": {"command": %s}}</tool_call>'
    [read] = read_calls(call.replace("%s", "1" * 10_000), TOOLS).calls
    assert read.malformed is not None
    assert "too many digits" in problem_of(read.malformed, TOOLS)
