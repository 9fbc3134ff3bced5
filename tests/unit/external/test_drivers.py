"""The meaning of each agent's lines, in whatever pieces they arrive."""

import itertools
import json
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

FILES = {path.stem: path for path in (Path(__file__).parent / "lines").glob("*.jsonl")}
"""One turn of each agent: a text, a tool call, the last message, the usage."""


def driver(name: str, session: str = "", spent: Usage | None = None, **preset: Any) -> Driver:
    made = AgentPreset.model_validate({"driver": name, "command": ("x",), **preset})
    agent = ExternalAgent(name, made, "/x")
    return driver_for(
        AgentLaunch(agent, "do it", Path("/f"), Path("/h"), session=session, spent=spent or Usage())
    )


def fed(driver: Driver, *lines: object) -> list[AgentEvent]:
    return driver.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def ended(driver: Driver, *lines: object) -> TurnEnded:
    """Feed lines and the end of stdout; return the turn's end."""
    [found] = [e for e in (*fed(driver, *lines), *driver.feed(b"")) if isinstance(e, TurnEnded)]
    return found


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_driver_events_do_not_depend_on_the_split_of_its_input(
    name: str, data: st.DataObject
) -> None:
    lines = FILES[name].read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=5))
    one = driver(name)
    events = [
        event
        for begin, end in itertools.pairwise([0, *sorted(cuts), len(lines)])
        if begin < end
        for event in one.feed(lines[begin:end])
    ]
    events += one.feed(b"")
    assert SessionIdReported("s1") in events
    assert next(e.text for e in events if isinstance(e, TextReported)) == "I write."
    [started] = [e for e in events if isinstance(e, ToolUseStarted)]
    assert (started.id, started.arguments) == ("t1", {"command": "ls"})
    assert ToolUseEnded("t1", "a.py") in events
    cost = 0.5 if name == "claude" else None
    usage = Usage(input_tokens=3, output_tokens=4, cache_read_tokens=2, cost_usd=cost)
    assert [e for e in events if isinstance(e, UsageReported)] == [UsageReported(usage)]
    assert [e for e in events if isinstance(e, TurnEnded)] == [TurnEnded("Done.")]
    assert one.verdict(0, "") == ""


@pytest.mark.parametrize("name", DRIVERS)
@given(data=st.binary(max_size=200))
def test_every_driver_skips_unknown_input(name: str, data: bytes) -> None:
    one = driver(name)
    strange: list[Any] = [{"type": "new"}, [1], {"type": "result", "usage": 7, "stats": "x"}]
    one.feed(data + b"\n")
    fed(one, *strange, {"type": "step_finish", "part": []})
    one.feed(b"")
    assert one.verdict(3, "no such model").startswith(("exit code 3", "its turn", "None"))


QUOTED = '[API Error: {"error":{"code":402,"message":"no money"}}]'


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("claude", {"subtype": "success", "is_error": True, "result": "Error: 500"}, "Error: 500"),
        ("codex", {"type": "turn.failed", "error": {"message": "no quota"}}, "no quota"),
        ("gemini", {"status": "error", "error": {"message": "bad"}}, "bad"),
        ("gemini", {"status": "error", "error": {"message": QUOTED}}, "no money"),
        ("opencode", {"type": "error", "error": {"name": "AuthError"}}, '{"name": "AuthError"}'),
    ],
)
def test_a_turn_that_failed_has_the_reason(name: str, line: dict[str, Any], why: str) -> None:
    one = driver(name)
    assert ended(one, {"type": "result", **line}).problem == why
    assert one.verdict(1, "") == why


@pytest.mark.parametrize("wrong", [-5, float("nan"), float("inf"), True, "7", None])
def test_a_count_that_cannot_be_true_is_not_reported(wrong: Any) -> None:
    counted = {"input_tokens": wrong, "output_tokens": wrong, "cache_read_input_tokens": wrong}
    line = {"type": "result", "usage": counted, "total_cost_usd": wrong}
    [reported] = [e for e in fed(driver("claude"), line) if isinstance(e, UsageReported)]
    assert reported == UsageReported(Usage())


# --- Codex and OpenCode --------------------------------------------------------------------------


def test_codex_reports_the_usage_of_its_thread_of_which_a_start_is_a_part() -> None:
    line = {
        "type": "turn.completed",
        "usage": {"input_tokens": 40_224, "cached_input_tokens": 100, "output_tokens": 48},
    }
    spent = Usage(input_tokens=19_897, output_tokens=28, cache_read_tokens=100)
    one = driver("codex", "s1", spent, resume=("x",))
    assert fed(one, line) == [UsageReported(Usage(input_tokens=20_327, output_tokens=20))]
    assert fed(driver("codex"), line) == [
        UsageReported(Usage(input_tokens=40_224, output_tokens=48, cache_read_tokens=100))
    ]


def test_text_of_codex_before_a_tool_call_is_not_its_last_message() -> None:
    lines = [json.loads(line) for line in FILES["codex"].read_text().splitlines()]
    assert ended(driver("codex"), *(line for line in lines if "Done." not in str(line))).text == ""


def opencode(type_: str, **part: Any) -> dict[str, Any]:
    return {"type": type_, "sessionID": "s", "part": part}


def step(reason: str) -> dict[str, Any]:
    tokens = {"input": 10, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 1}}
    return opencode("step_finish", reason=reason, tokens=tokens, cost=0.25)


TEXT = opencode("text", text="I look at it.")
REFUSED = opencode(
    "tool_use",
    callID="t",
    tool="read",
    state={"status": "error", "input": {}, "error": "The user rejected permission."},
)


def test_opencode_that_ended_during_its_work_has_failed_despite_exit_code_0() -> None:
    one = driver("opencode")
    end = ended(one, TEXT, REFUSED, step("tool-calls"))
    assert end.text == "", "a text before a tool call is not the last message"
    assert end.problem == one.verdict(0, "")
    why = "its last step ended with 'tool-calls', not with 'stop' (read: The user rejected per"
    assert end.problem.startswith(why)
    assert "'length'" in ended(driver("opencode"), TEXT, step("length")).problem


def test_opencode_that_continued_after_a_refusal_has_not_failed_and_its_usage_adds_up() -> None:
    one = driver("opencode")
    events = fed(one, REFUSED, step("tool-calls"), TEXT, step("stop"))
    assert one.feed(b"") == [TurnEnded("I look at it.")]
    assert one.verdict(0, "") == ""
    used = {"input_tokens": 30, "output_tokens": 10, "cache_read_tokens": 8}
    assert events[-1] == UsageReported(Usage(**used, cache_write_tokens=2, cost_usd=0.5))


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ({"name": "APIError", "data": {"message": "bad", "statusCode": 401}}, "APIError 401: bad"),
        ({"name": "UnknownError", "data": {"message": "it broke"}}, "UnknownError: it broke"),
        ("it broke", "it broke"),
        (None, "it reported an error"),
    ],
)
def test_error_of_opencode_is_shown_verbatim(error: object, shown: str) -> None:
    one = driver("opencode")
    fed(one, TEXT, {"type": "error", "sessionID": "s", "error": error})
    assert one.verdict(1, "") == shown


# --- Claude Code ---------------------------------------------------------------------------------


def test_claude_requests_permission_and_is_answered() -> None:
    one = driver("claude")
    given = {"file_path": "/f/a.py", "content": "x"}
    tool = {"subtype": "can_use_tool", "tool_name": "Write", "input": given}
    request = {"type": "control_request", "request_id": "r1", "request": tool}
    arguments = {"path": "/f/a.py", "content": "x"}
    for refusal, response in (
        ("", {"behavior": "allow", "updatedInput": given}),
        ("not here", {"behavior": "deny", "message": "not here"}),
    ):
        assert fed(one, request) == [PermissionRequested("r1", "write_file", arguments)]
        assert json.loads(one.answer("r1", refusal))["response"]["response"] == response


@pytest.mark.parametrize(
    ("tool", "given", "judged"),
    [
        ("NotebookEdit", {"notebook_path": "/f/a.ipynb"}, ("write_file", {"path": "/f/a.ipynb"})),
        (
            "Grep",
            {"pattern": "x"},
            ("read_file", {"pattern": "x", "path": ".", "searched_folder": "."}),
        ),
        ("Grep", {"path": "/f"}, ("read_file", {"path": "/f", "searched_folder": "/f"})),
        ("Glob", {"pattern": "*.pem"}, ("read_file", {"pattern": "*.pem"})),
    ],
)
def test_files_of_claudes_tools_have_the_names_that_rules_look_at(
    tool: str, given: dict[str, str], judged: tuple[str, dict[str, str]]
) -> None:
    asked = {"subtype": "can_use_tool", "tool_name": tool, "input": given}
    line = {"type": "control_request", "request_id": "r1", "request": asked}
    assert fed(driver("claude"), line) == [PermissionRequested("r1", *judged)]


@pytest.mark.parametrize(
    "request_", [{"subtype": "can_use_tool", "tool_name": "AskUserQuestion"}, {"subtype": "x"}]
)
def test_a_question_of_claude_to_its_user_is_refused_at_once(request_: dict[str, str]) -> None:
    line = {"type": "control_request", "request_id": "r", "request": request_}
    [reply] = fed(driver("claude"), line)
    assert isinstance(reply, ProtocolOutput)
    assert b'"request_id": "r"' in reply.data


def test_claude_that_was_interrupted_has_not_failed() -> None:
    one = driver("claude")
    assert json.loads(one.interrupt() or b"")["request"] == {"subtype": "interrupt"}
    line = {"type": "result", "subtype": "error_during_execution", "is_error": True}
    assert TurnEnded() in fed(one, line)
    assert one.verdict(1, "") == ""
    assert b"go on" in (one.encode_prompt("go on") or b"")


def test_turn_of_claude_ends_after_all_prompts_were_read() -> None:
    one = driver("claude")
    one.opening()
    one.encode_prompt("and this")
    taken_in = {"type": "user", "isReplay": True, "message": {"content": "x"}}
    result = {"type": "result", "subtype": "success", "result": "ok"}
    assert [type(event) for event in fed(one, taken_in, result)] == [UsageReported]
    assert TurnEnded("ok") in fed(one, taken_in, result)


# --- any command ---------------------------------------------------------------------------------


def test_the_output_of_a_plain_command_is_its_last_message() -> None:
    one = driver("plain")
    assert one.opening() == b"do it\n"
    assert driver("plain", start=("--task", "{prompt}")).opening() == b""
    data = "grün\nfertig\n".encode()
    assert one.feed(data[:3]) == [TextStreamed("gr")]
    assert one.feed(data[3:]) == [TextStreamed("ün\nfertig\n")]
    assert one.feed(b"") == [TurnEnded("grün\nfertig")]
    assert one.verdict(-9, "") == "killed by SIGKILL: grün fertig"
    assert one.verdict(137, "x") == "killed by SIGKILL: x"
