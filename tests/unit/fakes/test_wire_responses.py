"""The fake's Responses wire: what it makes of a request, what it refuses, what it streams."""

from typing import Any

import pytest

from agiraph.core.turns import AssistantTurn, ToolTurn, Usage, UserTurn
from tests.fakes.model_server import Call, Reply
from tests.fakes.wire_anthropic import BadBody
from tests.fakes.wire_responses import events, read, whole

JsonObject = dict[str, Any]
TOOLS = [
    {"type": "function", "name": "bash"},
    {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "send"}]},
    {"type": "custom", "name": "apply_patch"},
    {"type": "web_search"},
]
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


def body(*items: JsonObject) -> JsonObject:
    return {"model": "fake", "instructions": "You are ada.", "input": list(items), "tools": TOOLS}


def test_an_answer_that_is_sent_back_is_one_turn_with_its_calls_answered() -> None:
    first = read(body(USER), {}, 0)
    reply = Reply(
        text="Look.", thinking="Hm.", calls=(Call("bash", {"command": "ls"}), Call("apply_patch"))
    )
    output = whole(reply, first, Usage(), ["c1", "c2"])["output"]
    assert [item["type"] for item in output] == [
        "reasoning", "message", "function_call", "custom_tool_call",
    ]  # fmt: skip
    results: list[JsonObject] = [
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"text": "done"}]},
    ]
    seen = read(body(USER, *output, *results), {}, 1)
    user, answer, *told = seen.turns
    assert user == UserTurn(content="Hi")
    assert isinstance(answer, AssistantTurn)
    assert answer.text == "Look."
    assert [(call.id, call.name) for call in answer.tool_calls] == [
        ("c1", "bash"), ("c2", "apply_patch"),
    ]  # fmt: skip
    assert [turn.content for turn in told if isinstance(turn, ToolTurn)] == ["a.txt", "done"]
    assert seen.tools == ("bash", "mcp__x__send", "apply_patch", "web_search")
    assert seen.system == "You are ada."


@pytest.mark.parametrize(
    "items",
    [
        [{"type": "function_call_output", "call_id": "c1", "output": "x"}],
        [{"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}],
        [{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "assistant", "content": "x"}],
        [{"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed:x"}],
    ],
)
def test_what_the_real_api_refuses_is_refused(items: list[JsonObject]) -> None:
    with pytest.raises(BadBody):
        read(body(USER, *items), {}, 0)


@pytest.mark.parametrize(
    ("reply", "last", "kind"),
    [
        (Reply(text="abcd"), "response.completed", "output_text"),
        (Reply(text="abcd", stop_reason="max_tokens"), "response.incomplete", "output_text"),
        (Reply(text="abcd", stop_reason="refusal"), "response.completed", "refusal"),
    ],
)
def test_a_stream_is_numbered_and_says_how_it_ended(reply: Reply, last: str, kind: str) -> None:
    seen = read(body(USER), {}, 0)
    stream = list(events(reply, seen, Usage(), [], ["ab", "cd"]))
    datas = [data for _, data in stream if isinstance(data, dict)]
    assert [data["sequence_number"] for data in datas] == list(range(len(stream)))
    assert [name for name, _ in stream] == [data["type"] for data in datas]
    assert stream[-1][0] == last
    deltas = [data["delta"] for data in datas if data["type"] == f"response.{kind}.delta"]
    assert deltas == ["ab", "cd"]


def test_a_function_of_a_name_space_is_called_in_it() -> None:
    made = Reply(calls=(Call("send", {"to": "ada"}, namespace="mcp__x"),))
    (item,) = whole(made, read(body(USER), {}, 0), Usage(), ["c1"])["output"]
    assert (item["namespace"], item["name"]) == ("mcp__x", "send")
