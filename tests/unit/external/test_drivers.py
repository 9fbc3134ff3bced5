"""What each agent's lines tell, in whatever pieces they come."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.turns import Usage
from agiraph.external.agent_events import (
    AgentEvent,
    PermissionRequested,
    ProtocolOutput,
    SessionIdReported,
    TextReported,
    TextStreamed,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnded,
    UsageReported,
)
from agiraph.external.driver import Driver
from agiraph.external.drivers import DRIVERS, driver_for
from agiraph.external.launching import AgentLaunch
from agiraph.external.preset import AgentPreset, ExternalAgent

LINES: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {"type": "system", "subtype": "init", "session_id": "s1", "tools": []},
        {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": "I wr"}}},
        {
            "type": "assistant",
            "message": {
                "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "I write."},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
                ],
            },
        },
        {
            "type": "user",
            "message": {
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "a.py"}],
                    }
                ]
            },
        },
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "Done.",
            "total_cost_usd": 0.5,
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 4},
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "s1"},
        {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "hm"}},
        {
            "type": "item.completed",
            "item": {"id": "1", "type": "agent_message", "text": "I write."},
        },
        {
            "type": "item.started",
            "item": {"id": "t1", "type": "command_execution", "command": "ls"},
        },
        {
            "type": "item.completed",
            "item": {
                "id": "t1",
                "type": "command_execution",
                "command": "ls",
                "aggregated_output": "a.py",
                "exit_code": 0,
                "status": "completed",
            },
        },
        {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "Done."}},
        {
            "type": "turn.completed",
            "usage": {"input_tokens": 3, "cached_input_tokens": 2, "output_tokens": 4},
        },
    ],
    "gemini": [
        {"type": "init", "session_id": "s1", "model": "m"},
        {"type": "message", "role": "user", "content": "do it"},
        {"type": "message", "role": "assistant", "content": "I wr", "delta": True},
        {"type": "message", "role": "assistant", "content": "ite.", "delta": True},
        {"type": "tool_use", "tool_id": "t1", "tool_name": "Bash", "parameters": {"command": "ls"}},
        {"type": "tool_result", "tool_id": "t1", "status": "success", "output": "a.py"},
        {"type": "message", "role": "assistant", "content": "Done.", "delta": True},
        {
            "type": "result",
            "status": "success",
            "stats": {"input_tokens": 3, "output_tokens": 4, "cached": 2},
        },
    ],
    "opencode": [
        {"type": "step_start", "sessionID": "s1", "part": {}},
        {"type": "text", "sessionID": "s1", "part": {"type": "text", "text": "I write."}},
        {
            "type": "tool_use",
            "sessionID": "s1",
            "part": {
                "callID": "t1",
                "tool": "bash",
                "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.py"},
            },
        },
        {"type": "text", "sessionID": "s1", "part": {"type": "text", "text": "Done."}},
        {
            "type": "step_finish",
            "sessionID": "s1",
            "part": {
                "reason": "stop",
                "tokens": {"input": 1, "output": 4, "cache": {"read": 2}},
                "cost": 0,
            },
        },
    ],
}


def driver(name: str, **preset: Any) -> Driver:
    made = AgentPreset.model_validate({"driver": name, "command": ("x",), **preset})
    agent = ExternalAgent(name, made, "/x")
    return driver_for(AgentLaunch(agent, "do it", Path("/f"), Path("/h")))


def all_of(driver: Driver, data: bytes, pieces: list[int]) -> list[AgentEvent]:
    found: list[AgentEvent] = []
    places = [0, *sorted(pieces), len(data)]
    for begin, end in itertools.pairwise(places):
        found += driver.feed(data[begin:end]) if begin < end else []
    return [*found, *driver.feed(b"")]


@pytest.mark.parametrize("name", LINES)
@given(data=st.data())
def test_each_driver_tells_the_same_however_it_is_cut(name: str, data: st.DataObject) -> None:
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES[name]).encode()
    pieces = data.draw(st.lists(st.integers(0, len(lines)), max_size=5))
    one = driver(name)
    found = [h for h in all_of(one, lines, pieces) if not isinstance(h, TextStreamed)]
    said = [h.text for h in found if isinstance(h, TextReported)]
    assert SessionIdReported("s1") in found
    assert said[0] == "I write."
    [began] = [h for h in found if isinstance(h, ToolUseStarted)]
    assert (began.id, began.arguments) == ("t1", {"command": "ls"})
    assert ToolUseEnded("t1", "a.py") in found
    [spent] = [h.usage for h in found if isinstance(h, UsageReported)]
    assert spent == Usage(
        input_tokens=3,
        output_tokens=4,
        cache_read_tokens=2,
        cost_usd=0.5 if name == "claude" else None,
    )
    [ended] = [h for h in found if isinstance(h, TurnEnded)]
    assert ended == TurnEnded("Done.")
    assert one.verdict(0, "") == ""


def test_codex_tells_what_its_whole_thread_has_used_of_which_a_start_is_a_part() -> None:
    made = AgentPreset.model_validate({"driver": "codex", "command": ("x",), "resume": ("x",)})
    before = Usage(input_tokens=19_897, output_tokens=28, cache_read_tokens=100)
    told = {"input_tokens": 40_224, "cached_input_tokens": 100, "output_tokens": 48}
    line = json.dumps({"type": "turn.completed", "usage": told}).encode()
    job = AgentLaunch(
        ExternalAgent("codex", made, "/x"), "go on", Path("/f"), Path("/h"), session="s1"
    )
    for known, spent in ((Usage(), 40_224), (before, 20_327)):
        found = driver_for(replace(job, spent=known)).feed(line + b"\n")
        [usage] = [one.usage for one in found if isinstance(one, UsageReported)]
        assert usage.input_tokens == spent
    assert (usage.output_tokens, usage.cache_read_tokens) == (20, 0)


@pytest.mark.parametrize("name", DRIVERS)
@given(data=st.binary(max_size=200))
def test_no_driver_stumbles_over_what_it_does_not_know(name: str, data: bytes) -> None:
    one = driver(name)
    strange: list[Any] = [{"type": "new"}, [1], {"type": "result", "usage": 7, "stats": "x"}]
    strange.append({"type": "step_finish", "part": []})
    one.feed(b"\n".join([data, *(json.dumps(line).encode() for line in strange), b""]))
    one.feed(b"")
    assert one.verdict(3, "no such model").startswith(("exit code 3", "its turn", "None"))


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        (
            "claude",
            {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 500"},
            "API Error: 500",
        ),
        ("codex", {"type": "turn.failed", "error": {"message": "no quota"}}, "no quota"),
        ("gemini", {"type": "result", "status": "error", "error": {"message": "bad"}}, "bad"),
        (
            "gemini",
            {
                "type": "result",
                "status": "error",
                "error": {"message": '[API Error: {"error":{"code":402,"message":"no money"}}]'},
            },
            "no money",
        ),
        ("opencode", {"type": "error", "error": {"name": "ProviderAuthError"}}, "ProviderAuth"),
    ],
)
def test_a_turn_that_failed_says_why(name: str, line: object, why: str) -> None:
    one = driver(name)
    found = all_of(one, json.dumps(line).encode(), [])
    [ended] = [h for h in found if isinstance(h, TurnEnded)]
    assert why in ended.problem
    assert "{" not in ended.problem or name == "opencode"
    assert why in one.verdict(1, "")


def opencode_tells(*lines: dict[str, Any]) -> tuple[Driver, list[AgentEvent]]:
    one = driver("opencode")
    return one, all_of(one, "".join(json.dumps(line) + "\n" for line in lines).encode(), [])


def step(reason: str, **more: Any) -> dict[str, Any]:
    tokens = {"input": 10, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 1}}
    part = {"reason": reason, "tokens": tokens, "cost": 0.25, **more}
    return {"type": "step_finish", "sessionID": "s", "part": part}


SAYS = {"type": "text", "sessionID": "s", "part": {"text": "I look at it."}}
REFUSED = {
    "type": "tool_use",
    "sessionID": "s",
    "part": {
        "callID": "t",
        "tool": "read",
        "state": {"status": "error", "input": {}, "error": "The user rejected permission."},
    },
}


def test_opencode_that_ended_in_the_middle_of_its_work_has_failed_though_it_exits_with_0() -> None:
    one, found = opencode_tells(SAYS, REFUSED, step("tool-calls"))
    why = "its last step ended with 'tool-calls', not with 'stop' (read: The user rejected per"
    assert one.verdict(0, "").startswith(why)
    [ended] = [h for h in found if isinstance(h, TurnEnded)]
    assert ended.text == "", "what it said before it used a tool is not its last word"
    one, found = opencode_tells(SAYS, step("length"))
    assert "'length'" in one.verdict(0, "")


def test_opencode_that_went_on_after_a_refusal_has_done_it_and_its_steps_add_up() -> None:
    one, found = opencode_tells(REFUSED, step("tool-calls"), SAYS, step("stop"))
    assert one.verdict(0, "") == ""
    assert TurnEnded("I look at it.") in found
    spent = [h.usage for h in found if isinstance(h, UsageReported)]
    assert spent[-1] == Usage(
        input_tokens=30,
        output_tokens=10,
        cache_read_tokens=8,
        cache_write_tokens=2,
        cost_usd=0.5,
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            {"name": "APIError", "data": {"message": "no such key", "statusCode": 401}},
            "APIError 401: no such key",
        ),
        ({"name": "UnknownError", "data": {"message": "it broke"}}, "UnknownError: it broke"),
        ({"name": "MessageAbortedError"}, '{"name": "MessageAbortedError"}'),
        ("it broke", "it broke"),
        (None, "it reported an error"),
    ],
)
def test_an_error_of_opencode_is_told_in_its_own_words(error: object, said: str) -> None:
    one, _ = opencode_tells(SAYS, {"type": "error", "sessionID": "s", "error": error})
    assert one.verdict(1, "") == said


def test_what_codex_said_before_it_used_a_tool_is_not_its_last_word() -> None:
    lines = [json.dumps(line) for line in LINES["codex"] if line.get("item", {}).get("id") != "2"]
    found = all_of(driver("codex"), "\n".join(lines).encode(), [])
    assert TurnEnded("") in found


def test_claude_asks_for_leave_and_is_answered() -> None:
    one = driver("claude")
    request = {
        "type": "control_request",
        "request_id": "r1",
        "request": {
            "subtype": "can_use_tool",
            "tool_name": "Write",
            "input": {"file_path": "/f/a.py", "content": "x"},
        },
    }
    [asked] = one.feed(json.dumps(request).encode() + b"\n")
    assert asked == PermissionRequested("r1", "write_file", {"path": "/f/a.py", "content": "x"})
    allowed = json.loads(one.answer("r1", ""))
    word = {"behavior": "allow", "updatedInput": {"file_path": "/f/a.py", "content": "x"}}
    assert allowed["response"]["response"] == word
    one.feed(json.dumps(request).encode() + b"\n")
    denied = json.loads(one.answer("r1", "not here"))["response"]["response"]
    assert denied == {"behavior": "deny", "message": "not here"}


def test_claude_is_told_where_to_put_questions_and_what_is_not_served() -> None:
    one = driver("claude")
    for request in ({"subtype": "can_use_tool", "tool_name": "AskUserQuestion"}, {"subtype": "x"}):
        line = {"type": "control_request", "request_id": "r", "request": request}
        [reply] = one.feed(json.dumps(line).encode() + b"\n")
        assert isinstance(reply, ProtocolOutput)
        assert b'"request_id": "r"' in reply.data


def test_claude_that_was_interrupted_has_not_failed() -> None:
    one = driver("claude")
    assert json.loads(one.interrupt() or b"")["request"] == {"subtype": "interrupt"}
    line = {"type": "result", "subtype": "error_during_execution", "is_error": True}
    found = one.feed(json.dumps(line).encode() + b"\n")
    assert TurnEnded("", "") in found
    assert one.verdict(1, "") == ""
    assert b"go on" in (one.encode_prompt("go on") or b"")


def test_claudes_turn_is_over_when_all_that_it_was_told_is_taken_in() -> None:
    one = driver("claude")
    one.opening()
    one.encode_prompt("and this")
    taken = json.dumps({"type": "user", "isReplay": True, "message": {"content": "x"}}).encode()
    result = json.dumps({"type": "result", "subtype": "success", "result": "ok"}).encode()
    found = one.feed(taken + b"\n" + result + b"\n")
    assert [type(h) for h in found] == [UsageReported]
    found = one.feed(taken + b"\n" + result + b"\n")
    assert TurnEnded("ok") in found


def test_a_plain_command_says_its_last_word_at_the_end() -> None:
    one = driver("plain")
    assert one.opening() == b"do it\n"
    assert driver("plain", start=("--task", "{prompt}")).opening() == b""
    found = all_of(one, "grün\nfertig\n".encode(), [3])
    assert found[-1] == TurnEnded("grün\nfertig")
    assert one.verdict(-9, "") == "killed by SIGKILL: grün fertig"
    assert one.verdict(137, "x") == "killed by SIGKILL: x"
