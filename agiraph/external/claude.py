"""ClaudeDriver: Claude Code's two-way stream of JSON lines (`--input-format stream-json`).

Claude Code reads user messages until its stdin is closed, ends each turn with a `result`, and
requests permission for a tool with a `control_request`. A failed turn has `is_error`, regardless of
its `subtype`. With `--replay-user-messages` it repeats each message when it accepts it. This shows
whether a `result` is the last one, or another turn follows for messages sent in the meantime.
"""

from typing import Any

from agiraph.core.turns import JsonObject, Usage
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
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import amount, count, json_line, mapping, rows, text_of
from agiraph.tools.approvals.spellings import SEARCHED

TOOL_NAMES = {
    "Bash": "bash",
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), "write_file"),
    **dict.fromkeys(("Read", "Glob", "Grep", "LS"), "read_file"),
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
}
PATHS = ("file_path", "notebook_path")
SEARCH = "Grep"
SUCCESS = "success"
NO_PERSON = (
    "No person is at your terminal. Write your question into _outbox.md as `@human?: ...`, go on "
    "with work that does not depend on it; the answer is appended to _inbox.md."
)


class ClaudeDriver(Driver):
    """One start of Claude Code."""

    is_two_way = True
    reads_mid_turn = True

    def __init__(self, launch: AgentLaunch) -> None:
        super().__init__(launch)
        self._permission_inputs: dict[str, JsonObject] = {}
        self._request_number = self._not_taken_in = 0
        self._usage = Usage()
        self._is_interrupted = False

    def opening(self) -> bytes:
        """Return the initialize request and the task."""
        initialize = self._control({"subtype": "initialize", "hooks": None})
        return initialize + self.encode_prompt(self.launch.prompt)

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return the events in these bytes."""
        return [event for line in self.lines.objects(data) for event in self._read(line)]

    def encode_prompt(self, text: str) -> bytes:
        """Return a user message for stdin, which Claude Code reads at its next step."""
        self._not_taken_in += 1
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return json_line({"type": "user", "message": message, "parent_tool_use_id": None})

    def interrupt(self) -> bytes | None:
        """Return a request that ends the current turn; the process then reads further messages."""
        self._is_interrupted = True
        return self._control({"subtype": "interrupt"})

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the answer to a permission request."""
        given = self._permission_inputs.pop(request, {})
        response: JsonObject = {"behavior": "allow", "updatedInput": given}
        if refusal:
            response = {"behavior": "deny", "message": refusal}
        return _respond({"subtype": "success", "request_id": request, "response": response})

    def verdict(self, exit_code: int, stderr: str) -> str:
        """Return why the agent failed: the problem of its last turn, or of its exit code.

        '' if the agent did not fail.
        """
        if exit_code == 1 and self._is_interrupted:
            exit_code = 0  # normal after an interrupted turn
        return super().verdict(exit_code, stderr)

    def _control(self, request: JsonObject) -> bytes:
        self._request_number += 1
        id = f"agiraph-{self._request_number}"
        return json_line({"type": "control_request", "request_id": id, "request": request})

    def _read(self, line: JsonObject) -> list[AgentEvent]:
        match line:
            case {"type": "system", "subtype": "init", "session_id": str(session)}:
                return [SessionIdReported(session)]
            case {"type": "stream_event", "event": {"delta": {"text": str(text)}}}:
                return [TextStreamed(text)]
            case {"type": "assistant", "message": {"content": list(blocks)} as message}:
                return _assistant_events(blocks, str(message.get("model", "")))
            case {"type": "user", "isReplay": True}:
                self._not_taken_in -= 1
                return []
            case {"type": "user", "message": {"content": list(blocks)}}:
                return [
                    ToolUseEnded(id, text_of(block.get("content")), bool(block.get("is_error")))
                    for block in rows(blocks)
                    if isinstance(id := block.get("tool_use_id"), str)
                ]
            case {"type": "control_request", "request_id": str(id)}:
                return self._requested(id, mapping(line.get("request")))
            case {"type": "result"}:
                return self._turn_ended(line)
            case _:
                return []

    def _requested(self, id: str, request: JsonObject) -> list[AgentEvent]:
        if request.get("subtype") != "can_use_tool":
            refused = {"subtype": "error", "request_id": id, "error": "not served here"}
            return [ProtocolOutput(_respond(refused))]
        tool, given = str(request.get("tool_name", "")), mapping(request.get("input"))
        self._permission_inputs[id] = given
        if tool == "AskUserQuestion":
            return [ProtocolOutput(self.answer(id, NO_PERSON))]
        arguments = dict(given)
        for key in PATHS:
            if key in arguments:
                arguments["path"] = arguments.pop(key)
        if tool == SEARCH:
            arguments[SEARCHED] = arguments["path"] = arguments.get("path") or "."
        return [PermissionRequested(id, TOOL_NAMES.get(tool, tool), arguments)]

    def _turn_ended(self, line: JsonObject) -> list[AgentEvent]:
        self._usage = self._usage + _usage(mapping(line.get("usage")))
        total = self._usage.model_copy(update={"cost_usd": amount(line.get("total_cost_usd"))})
        text = text_of(line.get("result"))
        subtype = str(line.get("subtype", SUCCESS))
        has_failed = bool(line.get("is_error")) or subtype != SUCCESS
        self.problem = ""
        if has_failed and not self._is_interrupted:
            self.problem = text or text_of(line.get("errors")) or subtype
        self._is_interrupted = self._is_interrupted and has_failed
        if self._not_taken_in > 0:
            return [UsageReported(total)]
        return [UsageReported(total), TurnEnded("" if has_failed else text, self.problem)]


def _assistant_events(blocks: list[Any], model: str) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                events.append(TextReported(text, model))
            case {"type": "tool_use", "id": str(id), "name": str(name)}:
                events.append(ToolUseStarted(id, name, mapping(block.get("input"))))
    return events


def _usage(counted: JsonObject) -> Usage:
    """Return the usage of one turn; Anthropic counts cached input separately."""
    read = count(counted.get("cache_read_input_tokens"))
    written = count(counted.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(counted.get("input_tokens")) + read + written,
        output_tokens=count(counted.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _respond(response: JsonObject) -> bytes:
    return json_line({"type": "control_response", "response": response})
