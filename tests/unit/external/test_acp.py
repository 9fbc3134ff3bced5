"""The Agent Client Protocol, spoken to an agent whose every word is written here."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput, OutOfScope
from agiraph.core.turns import Usage
from agiraph.external.acp import LOST, AcpDriver
from agiraph.external.acp_updates import output_of
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
from agiraph.external.client_filesystem import ClientFilesystem
from agiraph.external.json_rpc import error_text
from agiraph.external.launching import AgentLaunch
from agiraph.external.preset import AgentPreset, ExternalAgent

JsonObject = dict[str, Any]
LOADS = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
OPTIONS = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Talk:
    """A driver, and what it has written."""

    def __init__(
        self, folder: Path, session: str = "", anew: str = "", walled: bool = False, **preset: Any
    ) -> None:
        made = AgentPreset(command=("agent",), driver="acp", resume=("{options}",), **preset)
        agent = ExternalAgent("agent", made, "/bin/agent")
        job = AgentLaunch(
            agent,
            "do it",
            folder,
            folder / "home",
            session=session,
            prompt_if_lost=anew,
            is_sandboxed=walled,
        )
        self.driver = AcpDriver(job)
        self.written: list[JsonObject] = []
        self.wrote(self.driver.opening())

    def wrote(self, data: bytes | None) -> None:
        self.written += [json.loads(line) for line in (data or b"").splitlines()]

    @property
    def last(self) -> JsonObject:
        return self.written[-1]

    def hears(self, *messages: JsonObject) -> list[AgentEvent]:
        """Hand it messages; return what it tells, replies written."""
        data = b"".join(json.dumps(m).encode() + b"\n" for m in messages)
        found = [h for n in range(len(data)) for h in self.driver.feed(data[n : n + 1])]
        for happening in found:
            if isinstance(happening, ProtocolOutput):
                self.wrote(happening.data)
        return [h for h in found if not isinstance(h, ProtocolOutput)]

    def answers(self, **result: Any) -> list[AgentEvent]:
        """Answer what it asked last."""
        return self.hears({"id": self.last["id"], "result": result})

    def fails(self, message: str, **error: Any) -> list[AgentEvent]:
        return self.hears({"id": self.last["id"], "error": {"message": message, **error}})

    def updates(self, what: str, /, **more: Any) -> list[AgentEvent]:
        update = {"sessionUpdate": what, **more}
        return self.hears({"method": "session/update", "params": {"update": update}})

    def asks(self, id: object, method: str, **params: Any) -> list[AgentEvent]:
        return self.hears({"id": id, "method": method, "params": params})

    def begin(self) -> "Talk":
        """Go as far as the first prompt."""
        self.answers(protocolVersion=1)
        assert self.answers(sessionId="s1") == [SessionIdReported("s1")]
        assert self.last["method"] == "session/prompt"
        return self


def chunk(text: str) -> JsonObject:
    return {"content": {"type": "text", "text": text}}


def methods(talk: Talk) -> Sequence[str]:
    return [message.get("method", "answer") for message in talk.written]


def test_a_turn_from_the_greeting_to_its_last_word(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.last["params"]["clientCapabilities"]["fs"]["writeTextFile"] is True
    talk.answers(protocolVersion=1, agentCapabilities={})
    assert talk.last["params"] == {"cwd": str(tmp_path), "mcpServers": []}
    assert talk.answers(sessionId="s1") == [SessionIdReported("s1")]
    assert talk.last["params"]["prompt"] == [{"type": "text", "text": "do it"}]
    prompt = talk.last["id"]
    assert talk.updates("agent_message_chunk", **chunk("Let me ")) == [TextStreamed("Let me ")]
    talk.updates("agent_thought_chunk", **chunk("hm"))
    talk.updates("agent_message_chunk", **chunk("look."))
    assert talk.updates("tool_call", toolCallId="t", title="ls", kind="execute", rawInput={}) == [
        TextReported("Let me look.")
    ]
    began = talk.updates("tool_call_update", toolCallId="t", rawInput={"command": ["ls", "-l"]})
    assert began == [ToolUseStarted("t", "bash", {"command": "ls -l"})]
    content = [{"type": "content", **chunk("a.txt")}]
    ended = talk.updates("tool_call_update", toolCallId="t", status="completed", content=content)
    assert ended == [ToolUseEnded("t", "a.txt")]
    assert talk.updates("usage_update", cost={"amount": 0.5, "currency": "USD"}) == [
        UsageReported(Usage(cost_usd=0.5))
    ]
    talk.updates("agent_message_chunk", **chunk("Done."))
    usage = {"inputTokens": 3, "cachedReadTokens": 4, "outputTokens": 2, "totalTokens": 9}
    over = talk.hears({"id": prompt, "result": {"stopReason": "end_turn", "usage": usage}})
    spent = Usage(input_tokens=7, output_tokens=2, cache_read_tokens=4, cost_usd=0.5)
    assert over == [TextReported("Done."), UsageReported(spent), TurnEnded("Done.")]
    assert talk.driver.verdict(143, "terminated") == ""


def test_what_is_said_in_a_turn_is_the_next_prompt(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.wrote(talk.driver.encode_prompt("and that"))
    talk.begin()
    assert talk.last["params"]["prompt"][0]["text"] == "do it\n\nand that"
    assert talk.driver.encode_prompt("faster") == b""
    assert talk.answers(stopReason="end_turn") == []
    assert talk.last["params"]["prompt"][0]["text"] == "faster"
    assert talk.answers(stopReason="end_turn") == [TurnEnded()]
    talk.wrote(talk.driver.encode_prompt("one more"))
    assert talk.last["params"]["prompt"][0]["text"] == "one more"


def test_an_interruption_cancels_the_turn_and_what_leave_was_asked_for(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    prompt = talk.last["id"]
    asked = talk.asks("r", "session/request_permission", toolCall={"toolCallId": "t", "title": "X"},
                      options=OPTIONS)  # fmt: skip
    assert asked == [PermissionRequested("'r'", "X", {"title": "X"})]
    talk.wrote(talk.driver.interrupt())
    talk.wrote(talk.driver.encode_prompt("stop that"))
    assert methods(talk)[-2:] == ["session/cancel", "answer"]
    assert talk.last["result"] == {"outcome": {"outcome": "cancelled"}}
    assert talk.driver.answer("'r'", "") == b""
    talk.asks("r2", "session/request_permission", toolCall={"toolCallId": "u"}, options=OPTIONS)
    assert talk.last["result"] == {"outcome": {"outcome": "cancelled"}}
    assert talk.hears({"id": prompt, "result": {"stopReason": "cancelled"}}) == []
    assert talk.last["params"]["prompt"][0]["text"] == "stop that"
    assert talk.answers(stopReason="end_turn") == [TurnEnded()]


def test_leave_is_given_once_and_a_refusal_is_explained_with_the_next_prompt(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path).begin()
    prompt = talk.last["id"]
    edit = {"toolCallId": "e", "kind": "edit", "rawInput": {"file_path": "/w/a.py", "text": "x"}}
    asked = talk.asks(7, "session/request_permission", toolCall=edit, options=OPTIONS)
    arguments = {"file_path": "/w/a.py", "text": "x", "path": "/w/a.py"}
    assert asked == [
        ToolUseStarted("e", "write_file", arguments),
        PermissionRequested("7", "write_file", arguments),
    ]
    talk.wrote(talk.driver.answer("7", ""))
    assert talk.last == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"outcome": {"outcome": "selected", "optionId": "once"}},
    }
    shell = {"toolCallId": "b", "kind": "execute", "title": "rm -r /"}
    asked = talk.asks(8, "session/request_permission", toolCall=shell, options=OPTIONS)
    assert asked == [PermissionRequested("8", "bash", {"command": "rm -r /"})]
    talk.wrote(talk.driver.answer("8", "never"))
    assert talk.last["result"]["outcome"]["optionId"] == "no"
    talk.hears({"id": prompt, "result": {"stopReason": "end_turn"}})
    assert talk.last["params"]["prompt"][0]["text"].endswith("not allowed to do that: never")


def test_leave_without_an_option_that_fits_is_taken_as_cancelled(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    talk.asks(1, "session/request_permission", toolCall={"toolCallId": "t"}, options=[])
    talk.wrote(talk.driver.answer("1", ""))
    assert talk.last["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_session_is_loaded_and_what_is_replayed_is_not_told_again(tmp_path: Path) -> None:
    talk = Talk(tmp_path, session="s0")
    talk.answers(**LOADS)
    assert (talk.last["method"], talk.last["params"]["sessionId"]) == ("session/load", "s0")
    assert talk.updates("agent_message_chunk", **chunk("old words")) == []
    assert talk.answers() == [SessionIdReported("s0")]
    assert talk.last["params"]["sessionId"] == "s0"
    assert talk.answers(stopReason="end_turn") == [TurnEnded()]


def test_a_session_is_resumed_where_that_is_possible_without_a_replay(tmp_path: Path) -> None:
    talk = Talk(tmp_path, session="s0")
    can = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
    talk.answers(protocolVersion=1, agentCapabilities=can)
    assert talk.last["method"] == "session/resume"


def test_a_session_is_loaded_where_resuming_it_is_promised_and_refused(tmp_path: Path) -> None:
    talk = Talk(tmp_path, session="s0")
    can = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
    talk.answers(protocolVersion=1, agentCapabilities=can)
    assert talk.fails("Method not found", code=-32601) == []
    assert (talk.last["method"], talk.last["params"]["sessionId"]) == ("session/load", "s0")
    assert talk.updates("agent_message_chunk", **chunk("old words")) == []
    assert talk.answers() == [SessionIdReported("s0")]
    assert talk.last["params"]["prompt"][0]["text"] == "do it"


def test_a_session_that_is_loaded_as_an_empty_one_is_lost(tmp_path: Path) -> None:
    talk = Talk(tmp_path, session="s0", anew="all of the task")
    talk.answers(**LOADS)
    talk.updates("available_commands_update", availableCommands=[])
    assert talk.answers() == [SessionIdReported("s0", is_new=True)]
    text = f"{LOST}\n\nall of the task"
    assert talk.last["params"]["prompt"][0]["text"] == text


@pytest.mark.parametrize(
    "can",
    [{"loadSession": True}, {"loadSession": True, "sessionCapabilities": {"resume": {}}}, {}],
)
def test_a_session_that_is_lost_begins_anew_and_is_told_its_task(
    tmp_path: Path, can: JsonObject
) -> None:
    talk = Talk(tmp_path, session="s0", anew="all of the task")
    talk.wrote(talk.driver.encode_prompt("and that"))
    talk.answers(protocolVersion=1, agentCapabilities=can)
    for _ in can:
        assert talk.fails("no such session") == []
    assert talk.last["method"] == "session/new"
    assert "sessionId" not in talk.last["params"]
    assert talk.answers(sessionId="s1") == [SessionIdReported("s1", is_new=True)]
    text = f"{LOST}\n\nall of the task\n\nand that"
    assert talk.last["params"]["prompt"][0]["text"] == text


def test_it_logs_in_where_that_is_wanted(tmp_path: Path) -> None:
    talk = Talk(tmp_path, authenticate="key")
    talk.answers(protocolVersion=1)
    assert talk.last["params"] == {"methodId": "key"}
    talk.answers()
    assert talk.last["method"] == "session/new"


def test_it_is_told_of_its_tool_servers_as_far_as_it_can_use_them(tmp_path: Path) -> None:
    servers = {
        "files": {"command": ["npx", "server", "/x"], "environment": {"A": "1"}},
        "far": {"url": "http://127.0.0.1:1/mcp", "headers": {"X": "y"}},
    }
    files = {"name": "files", "command": "npx", "args": ["server", "/x"],
             "env": [{"name": "A", "value": "1"}]}  # fmt: skip
    far = {"type": "http", "name": "far", "url": "http://127.0.0.1:1/mcp",
           "headers": [{"name": "X", "value": "y"}]}  # fmt: skip
    for can, told in (({}, [files]), ({"mcpCapabilities": {"http": True}}, [files, far])):
        talk = Talk(tmp_path, mcp=servers)
        talk.answers(protocolVersion=1, agentCapabilities=can)
        assert talk.last["params"]["mcpServers"] == told
    with pytest.raises(ValueError, match="a command or a url"):
        Talk(tmp_path, mcp={"none": {}})


def test_what_cannot_go_on_is_a_problem_with_the_agents_own_words(tmp_path: Path) -> None:
    old = Talk(tmp_path)
    problem = "it speaks version 0 of the protocol, not 1"
    assert old.answers(protocolVersion=0) == [TurnEnded("", problem)]
    assert old.driver.verdict(0, "") == problem
    locked = Talk(tmp_path)
    locked.answers(protocolVersion=1)
    [ended] = locked.fails("Authentication required", data={"details": "run login"})
    assert ended == TurnEnded("", "session/new was refused: Authentication required: run login")
    failing = Talk(tmp_path).begin()
    assert failing.fails("Internal error", data="429") == [TurnEnded("", "Internal error: 429")]
    cut = Talk(tmp_path).begin()
    [ended] = cut.answers(stopReason="refusal")
    assert ended == TurnEnded("", "the model refused to go on")
    dying = Talk(tmp_path).begin()
    dying.updates("agent_message_chunk", **chunk("I was"))
    assert dying.driver.feed(b"") == [TextReported("I was")]
    assert dying.driver.verdict(-9, "") == "killed by SIGKILL"
    assert dying.driver.verdict(0, "") == "it ended before it had answered: "


def test_files_are_read_and_written_within_its_folder_alone(tmp_path: Path) -> None:
    folder, out = tmp_path / "work", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    (out / "secret").write_text("s")
    (folder / "link").symlink_to(out)
    (folder / "own").symlink_to(out / "secret")
    talk = Talk(folder).begin()
    talk.asks(1, "fs/write_text_file", path=str(folder / "a/b.txt"), content="1\n2\n3\n")
    assert talk.last["result"] == {}
    assert (folder / "a/b.txt").read_text() == "1\n2\n3\n"
    talk.asks(2, "fs/read_text_file", path=str(folder / "a/b.txt"), line=2, limit=1)
    assert talk.last["result"] == {"content": "2\n"}
    for n, path in enumerate((out / "secret", folder / "link/secret", folder / "own",
                              f"{folder}/../out/secret", "missing", "", "x\0")):  # fmt: skip
        talk.asks(n, "fs/read_text_file", path=str(path))
        assert "error" in talk.last, path
        talk.asks(n, "fs/write_text_file", path=str(path), content="x")
        assert "error" in talk.last or path == "missing", path
    assert (out / "secret").read_text() == "s"
    talk.asks(9, "terminal/create", command="ls")
    assert talk.last["error"]["message"] == "terminal/create is not served here"


def test_a_folder_that_may_be_read_besides_is_not_written(tmp_path: Path) -> None:
    for name in ("work", "input"):
        (tmp_path / name).mkdir()
    (tmp_path / "input/a.txt").write_text("a")
    (tmp_path / "work/a.txt").write_text("a")
    files = ClientFilesystem(tmp_path / "work", (tmp_path / "input",))
    assert files.read(str(tmp_path / "input/a.txt")) == "a"
    with pytest.raises(OutOfScope, match="is outside of"):
        files.write(str(tmp_path / "input/a.txt"), "b")
    with pytest.raises(InvalidInput, match="cannot be read"):
        files.read(str(tmp_path / "work/a.txt/none"))


def test_a_missing_file_is_told_by_the_protocols_own_code(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    talk.asks(1, "fs/read_text_file", path=str(tmp_path / "new.md"))
    missing = {"code": -32002, "message": f"Resource not found: {tmp_path / 'new.md'}"}
    assert talk.last["error"] == missing


def test_an_agent_that_reads_and_writes_files_itself_is_offered_no_client_for_it(
    tmp_path: Path,
) -> None:
    offered = Talk(tmp_path, client_files=False).written[0]["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}


def test_a_command_is_told_as_it_was_meant_once_it_is_known(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    shell = {"toolCallId": "t", "kind": "execute", "title": "bash"}
    assert talk.updates("tool_call", **shell, status="in_progress", rawInput={"cwd": "/w"}) == []
    command = ["/bin/bash", "-lc", "rm -r 'a b'"]
    [began] = talk.updates("tool_call_update", toolCallId="t", rawInput={"command": command})
    assert began == ToolUseStarted("t", "bash", {"command": "rm -r 'a b'"})
    [began] = talk.updates("tool_call", toolCallId="u", kind="execute", rawInput={"cmd": ["a b"]})
    assert began == ToolUseStarted("u", "bash", {"cmd": ["a b"], "command": "'a b'"})


CODEX_END = {
    "call_id": "call_1", "command": ["/bin/bash", "-lc", "x"], "cwd": "/w", "stderr": "",
    "stdout": "", "aggregated_output": "hello\noops\n", "formatted_output": "hello\noops\n",
    "exit_code": 1, "status": "failed", "duration": {"secs": 0, "nanos": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ({"rawOutput": CODEX_END}, "exit code 1\nhello\noops"),
        ({"rawOutput": CODEX_END | {"exit_code": 0}}, "hello\noops\n"),
        ({"rawOutput": CODEX_END | {"formatted_output": ""}}, "exit code 1\nhello\noops"),
        ({"rawOutput": {"exit_code": 0, "stdout": "", "stderr": ""}}, "exit code 0"),
        ({"rawOutput": {"exitCode": 2, "stdout": "a\n", "stderr": "b\n"}}, "exit code 2\na\nb"),
        ({"rawOutput": {"output": "read", "metadata": {}}}, "read"),
        ({"rawOutput": {"rows": [1]}}, '{"rows": [1]}'),
        ({"rawOutput": "plain"}, "plain"),
        ({"rawOutput": {"exit_code": True, "output": "x"}}, "x"),
        (
            {
                "rawOutput": {"exit_code": 3},
                "content": [{"type": "content", "content": {"type": "text", "text": "no"}}],
            },
            "exit code 3\nno",
        ),
    ],
)
def test_what_a_command_gave_is_shown_as_text_with_its_exit_code(
    known: JsonObject, shown: str
) -> None:
    assert output_of(known) == shown


def test_a_plan_is_told_when_it_changes(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    rows = [{"content": "look", "status": "completed"}, {"content": "write", "status": "pending"}]
    assert talk.updates("plan", entries=rows) == [TextReported("Plan:\n- [x] look\n- [ ] write")]
    assert talk.updates("plan", entries=rows) == []


def test_what_is_odd_is_passed_over(tmp_path: Path) -> None:
    talk = Talk(tmp_path).begin()
    assert talk.hears({"id": 99, "result": {}}) == []
    assert talk.hears({"method": "session/update", "params": {"update": "x"}}) == []
    assert talk.updates("tool_call", title="no id") == []
    assert talk.updates("tool_call_update", toolCallId="t", status="failed", title="Boom") == [
        ToolUseStarted("t", "Boom", {"title": "Boom"}),
        ToolUseEnded("t", "", is_error=True),
    ]
    assert talk.updates("tool_call_update", toolCallId="t", status="completed") == []
    diff = [{"type": "diff", "path": "/w/a", "oldText": None, "newText": "1\n2\n"}]
    found = talk.updates("tool_call", toolCallId="d", kind="edit", status="completed", content=diff)
    assert found == [
        ToolUseStarted("d", "write_file", {"path": "/w/a"}),
        ToolUseEnded("d", "wrote /w/a (0 -> 2 lines)"),
    ]
    assert error_text("plain") == "plain"
    assert error_text({"message": '{"error":{"code":402,"message":"no money"}}'}) == "no money"
