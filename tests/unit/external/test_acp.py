"""The Agent Client Protocol, with an agent whose messages are written by the test."""

from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.core.turns import Usage
from agiraph.external.acp import LOST, NOT_ONCE, error_text
from agiraph.external.acp_updates import AcpToolCalls, output_of
from agiraph.external.agent_events import (
    PermissionRequested,
    SessionIdReported,
    TextReported,
    TextStreamed,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnded,
    UsageReported,
)
from agiraph.external.client_filesystem import ClientFilesystem
from agiraph.tools.approvals.policy import (
    ActingEntity,
    ApprovalPolicy,
    ApprovalRule,
    actions_of_call,
)
from tests.unit.external.acp_connection import OPTIONS, AcpConnection, JsonObject

LOADS = {"loadSession": True}
RESUMES = {"loadSession": True, "sessionCapabilities": {"resume": {}}}


@pytest.fixture
def connection(tmp_path: Path) -> AcpConnection:
    """A connection whose session has begun; the first prompt is in flight."""
    return AcpConnection(tmp_path).begin()


def test_a_turn_from_initialize_to_its_last_message(tmp_path: Path) -> None:
    connection = AcpConnection(tmp_path)
    assert connection.last["params"]["clientCapabilities"]["fs"]["writeTextFile"] is True
    connection.answers(protocolVersion=1, agentCapabilities={})
    assert connection.last["params"] == {"cwd": str(tmp_path), "mcpServers": []}
    assert connection.answers(sessionId="s1") == [SessionIdReported("s1")]
    assert connection.prompt == "do it"
    assert connection.writes("Let me ") == [TextStreamed("Let me ")]
    connection.updates("agent_thought_chunk", content={"type": "text", "text": "hm"})
    connection.writes("look.")
    call = {"toolCallId": "t", "title": "ls", "kind": "execute", "rawInput": {}}
    assert connection.updates("tool_call", **call) == [TextReported("Let me look.")]
    started = connection.updates(
        "tool_call_update", toolCallId="t", rawInput={"command": ["ls", "-l"]}
    )
    assert started == [ToolUseStarted("t", "bash", {"command": "ls -l"})]
    content = [{"type": "content", "content": {"type": "text", "text": "a.txt"}}]
    ended = connection.updates(
        "tool_call_update", toolCallId="t", status="completed", content=content
    )
    assert ended == [ToolUseEnded("t", "a.txt")]
    cost = connection.updates("usage_update", cost={"amount": 0.5, "currency": "USD"})
    assert cost == [UsageReported(Usage(cost_usd=0.5))]
    connection.writes("Done.")
    usage = {"inputTokens": 3, "cachedReadTokens": 4, "outputTokens": 2, "totalTokens": 9}
    over = connection.answers(stopReason="end_turn", usage=usage)
    used = Usage(input_tokens=7, output_tokens=2, cache_read_tokens=4, cost_usd=0.5)
    assert over == [TextReported("Done."), UsageReported(used), TurnEnded("Done.")]
    assert connection.driver.verdict(143, "terminated") == ""


def test_text_sent_during_a_turn_is_the_next_prompt(tmp_path: Path) -> None:
    connection = AcpConnection(tmp_path)
    connection.write(connection.driver.encode_prompt("and that"))
    connection.begin()
    assert connection.prompt == "do it\n\nand that"
    assert connection.driver.encode_prompt("faster") == b""
    assert connection.answers(stopReason="end_turn") == []
    assert connection.prompt == "faster"
    assert connection.answers(stopReason="end_turn") == [TurnEnded()]
    connection.write(connection.driver.encode_prompt("one more"))
    assert connection.prompt == "one more"


# --- permissions ---------------------------------------------------------------------------------

CANCELLED = {"outcome": {"outcome": "cancelled"}}


def test_an_interrupt_cancels_the_turn_and_its_permission_requests(
    connection: AcpConnection,
) -> None:
    prompt = connection.last["id"]
    assert connection.asks("r", toolCallId="t", title="X") == [
        PermissionRequested("'r'", "X", {"title": "X", "possible_commands": ["X"]})
    ]
    connection.write(connection.driver.interrupt())
    connection.write(connection.driver.encode_prompt("stop that"))
    assert connection.written[-2]["method"] == "session/cancel"
    assert connection.last["result"] == CANCELLED
    assert connection.driver.answer("'r'", "") == b""
    connection.asks("r2", toolCallId="u")
    assert connection.last["result"] == CANCELLED
    assert connection.receive({"id": prompt, "result": {"stopReason": "cancelled"}}) == []
    assert connection.prompt == "stop that"
    assert connection.answers(stopReason="end_turn") == [TurnEnded()]


def test_permission_is_granted_once_and_a_refusal_explained_in_the_next_prompt(
    connection: AcpConnection,
) -> None:
    prompt = connection.last["id"]
    edit = {"toolCallId": "e", "kind": "edit", "rawInput": {"file_path": "/w/a.py", "text": "x"}}
    arguments = {"file_path": "/w/a.py", "text": "x", "path": "/w/a.py"}
    assert connection.asks(7, **edit) == [
        ToolUseStarted("e", "write_file", arguments),
        PermissionRequested("7", "write_file", arguments),
    ]
    connection.write(connection.driver.answer("7", ""))
    assert (connection.last["id"], connection.last["jsonrpc"]) == (7, "2.0")
    assert connection.last["result"] == {"outcome": {"outcome": "selected", "optionId": "once"}}
    asked = connection.asks(8, toolCallId="b", kind="execute", title="rm -r /")
    assert asked == [PermissionRequested("8", "bash", {"command": "rm -r /"})]
    connection.write(connection.driver.answer("8", "never"))
    assert connection.last["result"]["outcome"]["optionId"] == "no"
    connection.receive({"id": prompt, "result": {"stopReason": "end_turn"}})
    assert connection.prompt.endswith("not allowed to do that: never")


def test_a_request_without_an_option_that_fits_is_cancelled(connection: AcpConnection) -> None:
    connection.requests(1, "session/request_permission", toolCall={"toolCallId": "t"}, options=[])
    connection.write(connection.driver.answer("1", ""))
    assert connection.last["result"] == CANCELLED


@pytest.mark.parametrize("params", [[1], "text", None, {"path": "a", "line": 10**30}])
@pytest.mark.parametrize("method", ["fs/read_text_file", "session/request_permission"])
def test_request_with_unreadable_params_is_answered_with_an_error(
    connection: AcpConnection, method: str, params: Any
) -> None:
    assert connection.receive({"id": 5, "method": method, "params": params}) == []
    assert (connection.last["id"], connection.last["error"]["code"]) == (5, -32602)
    assert connection.receive({"method": "session/update", "params": params}) == []


def test_half_of_an_emoji_in_a_path_or_a_command_is_replaced(connection: AcpConnection) -> None:
    connection.requests(1, "fs/read_text_file", path="cut \ud83d")
    assert connection.last["error"]["message"] == "Resource not found: cut \ufffd"
    asked = connection.asks(2, kind="execute", rawInput={"command": "ls \ud83d"})
    assert asked == [PermissionRequested("2", "bash", {"command": "ls \ufffd"})]


SUDO = {"command": "sudo ls"}
TEXT_SUDO = {"type": "content", "content": {"type": "text", "text": "sudo ls"}}


def decisions(call: JsonObject, *rules: tuple[str, str]) -> str:
    """Return how rules (action, pattern) about `bash` decide on a call."""
    policy = ApprovalPolicy(
        tuple(
            ApprovalRule(tool=("bash",), action=action, pattern=pattern)
            for action, pattern in rules
        )
    )
    actions = actions_of_call(*AcpToolCalls().action_of({"toolCallId": "t"} | call))
    return policy.judge_all(actions, ActingEntity("ada")).action


@pytest.mark.parametrize(
    "call",
    [
        *(
            {"kind": kind, "title": "x", "rawInput": SUDO}
            for kind in ("execute", "Execute", "other", "think", "read", "edit", "?", None, [1])
        ),
        *(
            {"kind": "execute", "title": "x", "rawInput": given}
            for given in (
                "sudo ls",
                ["sudo", "ls"],
                {"input": SUDO},
                {"command": "ls", "cmd": "sudo ls"},
                {"command": {"text": "sudo ls"}},
                {"Command_Line": ["bash", "-lc", "sudo ls"]},
                {"command": "sudo", "args": ["ls"]},
                {"x": [{"y": "sudo ls"}]},
            )
        ),
        {"kind": "execute", "title": "sudo ls"},
        {"kind": "other", "title": "run", "rawInput": {"x": ["sudo ls"]}},
        {"kind": "execute", "title": "x", "content": [TEXT_SUDO]},
        *({"kind": "execute", "title": "x", "rawInput": given} for given in ({"command": 5}, 5)),
        {"kind": "execute"},
    ],
)
def test_command_in_any_field_of_any_kind_of_call_is_judged(call: JsonObject) -> None:
    assert decisions(call, ("deny", "*sudo ls*")) == "deny"
    assert decisions(call, ("ask", "*sudo ls*")) == "ask"
    assert decisions(call, ("deny", "*rm -r*"), ("allow", "*")) == (
        "deny" if "sudo" not in str(call) else "allow"
    )


def test_text_that_is_no_command_is_not_judged_by_rules_about_every_command() -> None:
    described = {"kind": "execute", "rawInput": {"command": "ls", "description": "List /etc"}}
    assert decisions(described, ("allow", "ls*"), ("deny", "*")) == "allow"
    assert decisions(described | {"title": "sudo"}, ("allow", "ls*"), ("ask", "*")) == "allow"
    assert decisions(described | {"title": "sudo"}, ("deny", "*sudo*")) == "allow"
    mail = {"kind": "other", "title": "mail", "rawInput": {"text": "hello"}}
    assert decisions(mail, ("deny", "*")) == "allow"
    note = {"kind": "edit", "rawInput": {"file_path": "a.md", "content": "sudo ls"}}
    assert decisions(note, ("deny", "*sudo*")) == "allow"


def test_request_about_an_ended_call_is_judged_by_its_own_input() -> None:
    calls = AcpToolCalls()
    call = {"toolCallId": "t", "kind": "execute"}
    calls.apply(call | {"rawInput": {"command": "ls"}, "status": "completed"})
    request = call | {"rawInput": SUDO}
    calls.apply(request)
    assert calls.action_of(request) == ("bash", SUDO)


def test_a_request_that_can_only_be_allowed_always_is_refused(connection: AcpConnection) -> None:
    prompt = connection.last["id"]
    for id, options in ((1, [OPTIONS[0], OPTIONS[2]]), (2, [OPTIONS[0]])):
        method = "session/request_permission"
        tool = {"toolCallId": f"t{id}", "kind": "execute", "rawInput": {"command": "ls"}}
        connection.requests(id, method, toolCall=tool, options=options)
        connection.write(connection.driver.answer(f"{id}", ""))
        chosen = {"outcome": {"outcome": "selected", "optionId": "no"}}
        assert connection.last["result"] == (chosen if id == 1 else CANCELLED)
    connection.receive({"id": prompt, "result": {"stopReason": "end_turn"}})
    assert NOT_ONCE in connection.prompt


# --- sessions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("refuses_resume", [True, False])
def test_replayed_updates_of_a_loaded_session_are_not_reported(
    tmp_path: Path, refuses_resume: bool
) -> None:
    connection = AcpConnection(tmp_path, "s0")
    connection.answers(protocolVersion=1, agentCapabilities=RESUMES if refuses_resume else LOADS)
    if refuses_resume:
        assert connection.last["method"] == "session/resume"
        assert connection.fails("Method not found", code=-32601) == []
    assert (connection.last["method"], connection.last["params"]["sessionId"]) == (
        "session/load",
        "s0",
    )
    assert connection.writes("old words") == []
    assert connection.answers() == [SessionIdReported("s0")]
    assert (connection.prompt, connection.last["params"]["sessionId"]) == ("do it", "s0")
    assert connection.answers(stopReason="end_turn") == [TurnEnded()]


def test_a_session_that_is_loaded_as_an_empty_one_is_lost(tmp_path: Path) -> None:
    connection = AcpConnection(tmp_path, "s0")
    connection.answers(protocolVersion=1, agentCapabilities=LOADS)
    connection.updates("available_commands_update", availableCommands=[])
    assert connection.answers() == [SessionIdReported("s0", is_new=True)]
    assert connection.prompt == f"{LOST}\n\nall of the task"


@pytest.mark.parametrize("capabilities", [LOADS, RESUMES, {}])
def test_lost_session_is_replaced_by_one_with_the_whole_task(
    tmp_path: Path, capabilities: JsonObject
) -> None:
    connection = AcpConnection(tmp_path, "s0")
    connection.write(connection.driver.encode_prompt("and that"))
    connection.answers(protocolVersion=1, agentCapabilities=capabilities)
    for _ in capabilities:
        assert connection.fails("no such session") == []
    assert connection.last["method"] == "session/new"
    assert "sessionId" not in connection.last["params"]
    assert connection.answers(sessionId="s1") == [SessionIdReported("s1", is_new=True)]
    assert connection.prompt == f"{LOST}\n\nall of the task\n\nand that"


def test_preset_method_is_used_for_authentication(tmp_path: Path) -> None:
    connection = AcpConnection(tmp_path, authenticate="key")
    connection.answers(protocolVersion=1)
    assert connection.last["params"] == {"methodId": "key"}
    connection.answers()
    assert connection.last["method"] == "session/new"


def test_a_session_gets_the_tool_servers_that_its_agent_can_use(tmp_path: Path) -> None:
    servers = {
        "files": {"command": ["npx", "server", "/x"], "environment": {"A": "1"}},
        "far": {"url": "http://127.0.0.1:1/mcp", "headers": {"X": "y"}},
    }
    env = [{"name": "A", "value": "1"}]
    files = {"name": "files", "command": "npx", "args": ["server", "/x"], "env": env}
    headers = [{"name": "X", "value": "y"}]
    far = {"type": "http", "name": "far", "url": "http://127.0.0.1:1/mcp", "headers": headers}
    for can, given in (({}, [files]), ({"mcpCapabilities": {"http": True}}, [files, far])):
        connection = AcpConnection(tmp_path, mcp=servers)
        connection.answers(protocolVersion=1, agentCapabilities=can)
        assert connection.last["params"]["mcpServers"] == given
    with pytest.raises(ValueError, match="a command or a url"):
        AcpConnection(tmp_path, mcp={"none": {}})


# --- failures ------------------------------------------------------------------------------------


def test_failed_start_is_reported_with_the_message_of_the_agent(tmp_path: Path) -> None:
    old = AcpConnection(tmp_path)
    problem = "it speaks version 0 of the protocol, not 1"
    assert old.answers(protocolVersion=0) == [TurnEnded("", problem)]
    assert old.driver.verdict(0, "") == problem
    locked = AcpConnection(tmp_path)
    locked.answers(protocolVersion=1)
    [ended] = locked.fails("Authentication required", data={"details": "run login"})
    assert ended == TurnEnded("", "session/new was refused: Authentication required: run login")


def test_failed_or_truncated_turn_has_the_reason(tmp_path: Path) -> None:
    failed = AcpConnection(tmp_path).begin().fails("Internal error", data="429")
    assert failed == [TurnEnded("", "Internal error: 429")]
    refused = AcpConnection(tmp_path).begin().answers(stopReason="refusal")
    assert refused == [TurnEnded("", "the model refused to go on")]
    killed = AcpConnection(tmp_path).begin()
    killed.writes("I was")
    assert killed.driver.feed(b"") == [TextReported("I was")]
    assert killed.driver.verdict(-9, "") == "killed by SIGKILL"
    assert killed.driver.verdict(0, "") == "it ended before it had answered: "
    assert error_text("plain") == "plain"
    assert error_text({"message": '{"error":{"code":402,"message":"no money"}}'}) == "no money"


# --- files ---------------------------------------------------------------------------------------


def test_files_are_read_and_written_only_within_its_folder(tmp_path: Path) -> None:
    folder, out = tmp_path / "work", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    (out / "secret").write_text("s")
    (folder / "link").symlink_to(out)
    (folder / "own").symlink_to(out / "secret")
    connection = AcpConnection(folder).begin()
    inside = str(folder / "a/b.txt")
    connection.requests(1, "fs/write_text_file", path=inside, content="1\n2\n3\n")
    assert connection.last["result"] == {}
    connection.requests(2, "fs/read_text_file", path=inside, line=2, limit=1)
    assert connection.last["result"] == {"content": "2\n"}
    linked = (folder / "link/secret", folder / "own")
    for path in (out / "secret", *linked, f"{folder}/../out/secret", "missing", "", "x\0"):
        connection.requests(3, "fs/read_text_file", path=str(path))
        assert "error" in connection.last, path
        connection.requests(4, "fs/write_text_file", path=str(path), content="x")
        assert "error" in connection.last or path == "missing", path
    assert (out / "secret").read_text() == "s"
    connection.requests(5, "fs/read_text_file", path=str(folder / "new.md"))
    missing = {"code": -32002, "message": f"Resource not found: {folder / 'new.md'}"}
    assert connection.last["error"] == missing
    connection.requests(6, "terminal/create", command="ls")
    assert connection.last["error"]["message"] == "terminal/create is not served here"


def test_a_readable_folder_is_not_written(tmp_path: Path) -> None:
    for name in ("work", "input"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("a")
    files = ClientFilesystem(tmp_path / "work", (tmp_path / "input",))
    assert files.read(str(tmp_path / "input/a.txt")) == "a"
    with pytest.raises(OutOfScope, match="is outside of"):
        files.write(str(tmp_path / "input/a.txt"), "b")
    with pytest.raises(InvalidInput, match="cannot be read"):
        files.read(str(tmp_path / "work/a.txt/none"))


def test_the_client_is_not_offered_to_an_agent_that_uses_files_itself(tmp_path: Path) -> None:
    offered = AcpConnection(tmp_path, client_files=False).written[0]["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}


# --- updates -------------------------------------------------------------------------------------


def test_command_is_reported_as_typed_once_it_is_known(connection: AcpConnection) -> None:
    shell = {"toolCallId": "t", "kind": "execute", "title": "bash"}
    assert (
        connection.updates("tool_call", **shell, status="in_progress", rawInput={"cwd": "/w"}) == []
    )
    command = ["/bin/bash", "-lc", "rm -r 'a b'"]
    started = connection.updates("tool_call_update", toolCallId="t", rawInput={"command": command})
    assert started == [ToolUseStarted("t", "bash", {"command": "rm -r 'a b'"})]
    started = connection.updates(
        "tool_call", toolCallId="u", kind="execute", rawInput={"cmd": ["a b"]}
    )
    assert started == [ToolUseStarted("u", "bash", {"cmd": ["a b"], "command": "'a b'"})]


CODEX = {"command": ["x"], "stderr": "", "stdout": "", "status": "failed", "exit_code": 1}
CODEX |= {"aggregated_output": "hello\noops\n", "formatted_output": "hello\noops\n"}
TEXT_NO = [{"type": "content", "content": {"type": "text", "text": "no"}}]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (CODEX, "exit code 1\nhello\noops"),
        (CODEX | {"exit_code": 0}, "hello\noops\n"),
        (CODEX | {"formatted_output": ""}, "exit code 1\nhello\noops"),
        ({"exit_code": 0, "stdout": "", "stderr": ""}, "exit code 0"),
        ({"exitCode": 2, "stdout": "a\n", "stderr": "b\n"}, "exit code 2\na\nb"),
        ({"output": "read", "metadata": {}}, "read"),
        ({"rows": [1]}, '{"rows": [1]}'),
        ("plain", "plain"),
        ({"exit_code": True, "output": "x"}, "x"),
    ],
)
def test_the_output_of_a_command_is_text_with_its_exit_code(raw: Any, shown: str) -> None:
    assert output_of({"rawOutput": raw}) == shown
    assert output_of({"rawOutput": {"exit_code": 3}, "content": TEXT_NO}) == "exit code 3\nno"


def test_plan_is_reported_when_it_changes(connection: AcpConnection) -> None:
    rows = [{"content": "look", "status": "completed"}, {"content": "write", "status": "pending"}]
    plan = [TextReported("Plan:\n- [x] look\n- [ ] write")]
    assert connection.updates("plan", entries=rows) == plan
    assert connection.updates("plan", entries=rows) == []


def test_incomplete_or_unknown_updates_are_skipped(connection: AcpConnection) -> None:
    assert connection.receive({"id": 99, "result": {}}) == []
    assert connection.receive({"method": "session/update", "params": {"update": "x"}}) == []
    assert connection.updates("tool_call", title="no id") == []
    assert connection.updates(
        "tool_call_update", toolCallId="t", status="failed", title="Boom"
    ) == [
        ToolUseStarted("t", "Boom", {"title": "Boom"}),
        ToolUseEnded("t", "", is_error=True),
    ]
    assert connection.updates("tool_call_update", toolCallId="t", status="completed") == []
    diff = [{"type": "diff", "path": "/w/a", "oldText": None, "newText": "1\n2\n"}]
    edit = {"toolCallId": "d", "kind": "edit", "status": "completed", "content": diff}
    assert connection.updates("tool_call", **edit) == [
        ToolUseStarted("d", "write_file", {"path": "/w/a"}),
        ToolUseEnded("d", "wrote /w/a (0 -> 2 lines)"),
    ]


@pytest.mark.parametrize(
    ("known", "tool", "judged"),
    [
        (
            {
                "kind": "edit",
                "content": [{"type": "diff", "path": "a"}, {"type": "diff", "path": "b"}],
            },
            "write_file",
            {"path": "a", "further_paths": ["b"]},
        ),
        (
            {
                "kind": "edit",
                "rawInput": {"path": "a"},
                "locations": [{"path": "a"}, {"path": "c"}],
            },
            "write_file",
            {"path": "a", "further_paths": ["c"]},
        ),
        (
            {"kind": "move", "rawInput": {"source": "a", "destination": "b"}},
            "write_file",
            {"source": "a", "destination": "b", "path": "a", "further_paths": ["b"]},
        ),
        ({"kind": "search", "title": "x"}, "read_file", {"path": ".", "searched_folder": "."}),
        (
            {"kind": "search", "rawInput": {"path": "/f"}},
            "read_file",
            {"path": "/f", "searched_folder": "/f"},
        ),
        (
            {"kind": "other", "title": "mail", "rawInput": {"to": "a"}},
            "mail",
            {"to": "a", "possible_commands": ["a", "mail"]},
        ),
    ],
)
def test_every_file_of_a_call_has_a_name_that_rules_look_at(
    known: JsonObject, tool: str, judged: JsonObject
) -> None:
    assert AcpToolCalls().action_of({"toolCallId": "t"} | known) == (tool, judged)
