"""Claude: Claude Code's two-way stream of JSON lines (`--input-format stream-json`).

It reads user messages for as long as its stdin is open, answers each with a `result`, and asks for
leave to use a tool by a `control_request`. A failed turn says `is_error`, whatever its `subtype`.
With `--replay-user-messages` it repeats each message when it takes it in, so it is known whether
a `result` is the last, or another turn follows with what was said meanwhile.
"""

import json
from typing import Any

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import (
    Happening,
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
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import JsonLinesReader, count, mapping, text_of, why_failed

NAMES = {
    "Bash": "bash",
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), "write_file"),
    **dict.fromkeys(("Read", "Glob", "Grep", "LS"), "read_file"),
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
}
SUCCESS = "success"
ASKS_A_PERSON = "AskUserQuestion"
NO_PERSON = (
    "Nobody sits at your terminal. Write your question into _outbox.md as `@human?: ...`, go on "
    "with what does not depend on it, and find the answer in _inbox.md."
)


class ClaudeDriver:
    """One start of Claude Code."""

    is_two_way = True
    hears_in_turn = True

    def __init__(self, job: AgentLaunch) -> None:
        """Speak with what is started for `job`."""
        self._job = job
        self._lines = JsonLinesReader()
        self._asked: dict[str, JsonObject] = {}
        self._requests = self._untaken = 0
        self._usage = Usage()
        self._problem = ""
        self._is_interrupted = False

    def opening(self) -> bytes:
        """Return the greeting and the task."""
        greeting = self._control({"subtype": "initialize", "hooks": None})
        return greeting + self.say(self._job.prompt)

    def take(self, data: bytes) -> list[Happening]:
        """Return what these bytes tell."""
        found: list[Happening] = []
        for line in self._lines.objects(data):
            found += self._read(line)
        return found

    def say(self, text: str) -> bytes:
        """Return a user message: it enters at the next step."""
        self._untaken += 1
        return _user(text)

    def interrupt(self) -> bytes | None:
        """Return what stops the turn; the process stays and listens."""
        self._is_interrupted = True
        return self._control({"subtype": "interrupt"})

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the word on what it asked leave for."""
        asked = self._asked.pop(request, {})
        if refusal:
            word: JsonObject = {"behavior": "deny", "message": refusal}
        else:
            word = {"behavior": "allow", "updatedInput": asked}
        response = {"subtype": "success", "request_id": request, "response": word}
        return _line({"type": "control_response", "response": response})

    def verdict(self, exit_code: int, complaint: str) -> str:
        """Return why it failed: what its last turn says, else its exit code."""
        if self._problem:
            return self._problem
        if exit_code == 1 and self._is_interrupted:
            return ""  # so it ends when a turn of it was interrupted
        return why_failed(exit_code, complaint or self._lines.noise)

    def _control(self, request: JsonObject) -> bytes:
        self._requests += 1
        id = f"agiraph-{self._requests}"
        return _line({"type": "control_request", "request_id": id, "request": request})

    def _read(self, line: JsonObject) -> list[Happening]:
        match line:
            case {"type": "system", "subtype": "init", "session_id": str(session)}:
                return [SessionIdReported(session)]
            case {"type": "stream_event", "event": {"delta": {"text": str(text)}}}:
                return [TextStreamed(text)]
            case {"type": "assistant", "message": {"content": list(blocks)} as message}:
                return _said(blocks, str(message.get("model", "")))
            case {"type": "user", "isReplay": True}:
                self._untaken -= 1
                return []
            case {"type": "user", "message": {"content": list(blocks)}}:
                return _returned(blocks)
            case {"type": "control_request", "request_id": str(id), "request": dict(request)}:
                return self._asked_by_it(id, request)
            case {"type": "result"}:
                return self._ended(line)
            case _:
                return []

    def _asked_by_it(self, id: str, request: JsonObject) -> list[Happening]:
        if request.get("subtype") != "can_use_tool":
            response = {"subtype": "error", "request_id": id, "error": "not served here"}
            return [ProtocolOutput(_line({"type": "control_response", "response": response}))]
        tool, arguments = str(request.get("tool_name", "")), mapping(request.get("input"))
        self._asked[id] = arguments
        if tool == ASKS_A_PERSON:
            return [ProtocolOutput(self.answer(id, NO_PERSON))]
        known = dict(arguments)
        if "file_path" in known:
            known["path"] = known.pop("file_path")
        return [PermissionRequested(id, NAMES.get(tool, tool), known)]

    def _ended(self, line: JsonObject) -> list[Happening]:
        self._usage = self._usage + _usage(mapping(line.get("usage")))
        cost = line.get("total_cost_usd")
        total = self._usage.model_copy(update={"cost_usd": cost if _is_number(cost) else None})
        text = text_of(line.get("result"))
        how = str(line.get("subtype", SUCCESS))
        failed = bool(line.get("is_error")) or how != SUCCESS
        self._problem = ""
        if failed and not self._is_interrupted:
            self._problem = text or text_of(line.get("errors")) or how
        self._is_interrupted = self._is_interrupted and failed
        if self._untaken > 0:
            return [UsageReported(total)]
        return [UsageReported(total), TurnEnded("" if failed else text, self._problem)]


def _said(blocks: list[Any], model: str) -> list[Happening]:
    found: list[Happening] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                found.append(TextReported(text, model))
            case {"type": "tool_use", "id": str(id), "name": str(name)}:
                found.append(ToolUseStarted(id, name, mapping(block.get("input"))))
            case _:
                pass
    return found


def _returned(blocks: list[Any]) -> list[Happening]:
    return [
        ToolUseEnded(
            block["tool_use_id"], text_of(block.get("content")), bool(block.get("is_error"))
        )
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("tool_use_id"), str)
    ]


def _usage(counted: JsonObject) -> Usage:
    """Return what one turn used; Anthropic counts cached input beside the rest."""
    read = count(counted.get("cache_read_input_tokens"))
    written = count(counted.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(counted.get("input_tokens")) + read + written,
        output_tokens=count(counted.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _user(text: str) -> bytes:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return _line({"type": "user", "message": message, "parent_tool_use_id": None})


def _line(value: JsonObject) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
