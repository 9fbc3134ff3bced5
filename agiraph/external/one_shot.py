"""Drivers of agents that receive their task at the start, and then only write.

`PlainDriver` is for any command; the drivers of Codex, Gemini CLI and OpenCode read one JSON object
per line.
"""

import codecs
from abc import abstractmethod

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import (
    AgentEvent,
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
from agiraph.external.text import amount, count, mapping, text_of, unquoted, why_failed

STDOUT_CHARACTERS = 8000


class PlainDriver(Driver):
    """Driver of a command without a protocol: the end of its stdout is its last message.

    The task is written to its stdin, unless one of its arguments contains it.
    """

    def __init__(self, launch: AgentLaunch) -> None:
        super().__init__(launch)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._output = ""

    def opening(self) -> bytes:
        """Return the task, unless an argument contains it."""
        preset = self.launch.agent.preset
        words = preset.resume if self.launch.resumes else preset.start
        is_argument = any("{prompt}" in word for word in words)
        return b"" if is_argument else f"{self.launch.prompt}\n".encode()

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return the text as it arrives, and the end of the turn at the end of stdout."""
        text = self._decoder.decode(data, final=not data)
        self._output = (self._output + text)[-STDOUT_CHARACTERS:]
        streamed: list[AgentEvent] = [TextStreamed(text)] if text else []
        return streamed if data else [*streamed, TurnEnded(self._output.strip())]

    def verdict(self, exit_code: int, stderr: str) -> str:
        """Return the meaning of an exit code other than 0, with stdout if stderr is empty."""
        return why_failed(exit_code, stderr or self._output)


class OneShotDriver(Driver):
    """Driver of an agent that writes one JSON object per line; its turn ends when stdout ends."""

    def __init__(self, launch: AgentLaunch) -> None:
        super().__init__(launch)
        self.usage = Usage()

    @abstractmethod
    def read(self, line: JsonObject) -> list[AgentEvent]:
        """Return the events in one JSON object (a line of stdout)."""

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return the events in these bytes."""
        events = [event for line in self.lines.objects(data) for event in self.read(line)]
        return events if data else [*events, TurnEnded(self.last_message, self.problem)]


class CodexDriver(OneShotDriver):
    """Driver of `codex exec --json`, which reports the usage of the whole thread."""

    NO_TOOLS = ("agent_message", "reasoning", "error", "todo_list")
    SHOWN = ("command", "changes", "query", "arguments")

    def read(self, line: JsonObject) -> list[AgentEvent]:
        """Return the events in one JSON object (a line of stdout)."""
        match line:
            case {"type": "thread.started", "thread_id": str(thread)}:
                return [SessionIdReported(thread)]
            case {"type": "item.started", "item": dict(item)}:
                return self._item_started(item)
            case {"type": "item.completed", "item": {"type": "agent_message"} as item}:
                self.last_message = text_of(item.get("text"))
                return [TextReported(self.last_message)]
            case {"type": "item.completed", "item": dict(item)}:
                return self._item_completed(item)
            case {"type": "turn.completed", "usage": dict(counted)}:
                self.problem = ""
                return [UsageReported(_codex_usage(counted).less(self.launch.spent))]
            case {"type": "turn.failed", "error": dict(error)}:
                self.problem = text_of(error.get("message")) or "its turn failed"
            case {"type": "error", "message": str(message)}:
                self.problem = self.problem or message
        return []

    def _item_started(self, item: JsonObject) -> list[AgentEvent]:
        kind = str(item.get("type", ""))
        if kind in self.NO_TOOLS:
            return []
        self.last_message = ""  # text before a tool call is not the last message
        arguments = {key: value for key, value in item.items() if key in self.SHOWN}
        return [ToolUseStarted(str(item.get("id", "")), str(item.get("tool") or kind), arguments)]

    def _item_completed(self, item: JsonObject) -> list[AgentEvent]:
        if str(item.get("type", "")) in self.NO_TOOLS:
            return []
        is_error = item.get("status") == "failed" or item.get("exit_code") not in (0, None)
        output = text_of(item.get("aggregated_output") or item.get("result") or item.get("error"))
        return [ToolUseEnded(str(item.get("id", "")), output, is_error)]


def _codex_usage(counted: JsonObject) -> Usage:
    return Usage(
        input_tokens=count(counted.get("input_tokens")),
        output_tokens=count(counted.get("output_tokens")),
        cache_read_tokens=count(counted.get("cached_input_tokens")),
    )


class GeminiDriver(OneShotDriver):
    """Driver of Gemini CLI with `--output-format stream-json`.

    Text arrives in pieces; a tool call or the end of the turn completes it.
    """

    def read(self, line: JsonObject) -> list[AgentEvent]:
        """Return the events in one JSON object (a line of stdout)."""
        match line:
            case {"type": "init", "session_id": str(session)}:
                return [SessionIdReported(session)]
            case {"type": "message", "role": "assistant", "content": str(text)}:
                self.pieces.append(text)
                return [TextStreamed(text)]
            case {"type": "tool_use", "tool_id": str(id), "tool_name": str(name)}:
                arguments = mapping(line.get("parameters"))
                return [*self.complete_text(), ToolUseStarted(id, name, arguments)]
            case {"type": "tool_result", "tool_id": str(id)}:
                output = text_of(line.get("output") or line.get("error"))
                return [ToolUseEnded(id, output, line.get("status") == "error")]
            case {"type": "result"}:
                return self._turn_ended(line)
            case {"type": "error"} if line.get("severity") != "warning":
                self.problem = text_of(line.get("message")) or "it reported an error"
        return []

    def _turn_ended(self, line: JsonObject) -> list[AgentEvent]:
        if line.get("status") == "success":
            self.problem = ""
        else:
            error = line.get("error")
            message = text_of(mapping(error).get("message")) or text_of(error)
            self.problem = unquoted(message) or self.problem or "its turn failed"
        counted = mapping(line.get("stats"))
        self.usage = self.usage + Usage(
            input_tokens=count(counted.get("input_tokens")),
            output_tokens=count(counted.get("output_tokens")),
            cache_read_tokens=count(counted.get("cached")),
        )
        return [*self.complete_text(), UsageReported(self.usage)]


class OpenCodeDriver(OneShotDriver):
    """Driver of `opencode run --format json`, which reports a tool call after it has ended."""

    _session = ""
    _tool_error = ""

    def read(self, line: JsonObject) -> list[AgentEvent]:
        """Return the events in one JSON object; each of them names the session."""
        events: list[AgentEvent] = []
        if isinstance(session := line.get("sessionID"), str) and session != self._session:
            self._session = session
            events.append(SessionIdReported(session))
        match line:
            case {"type": "text", "part": {"text": str(text)}} if text.strip():
                self.last_message = text.strip()
                events.append(TextReported(self.last_message))
            case {"type": "tool_use", "part": {"callID": str(id), "tool": str(tool)} as part}:
                events += self._tool_used(id, tool, mapping(part.get("state")))
            case {"type": "step_finish", "part": dict(part)}:
                self.usage = self.usage + _opencode_usage(part)
                self.problem = self._unfinished_because(str(part.get("reason", "stop")))
                events.append(UsageReported(self.usage))
            case {"type": "error"}:
                self.problem = _opencode_error(line.get("error"))
        return events

    def _tool_used(self, id: str, tool: str, state: JsonObject) -> list[AgentEvent]:
        is_error = state.get("status") == "error"
        output = text_of(state.get("error") if is_error else state.get("output"))
        self.last_message = ""
        self._tool_error = f"{tool}: {output}" if is_error else ""
        started = ToolUseStarted(id, tool, mapping(state.get("input")))
        return [started, ToolUseEnded(id, output, is_error)]

    def _unfinished_because(self, reason: str) -> str:
        """Return why a step with this end cannot be the agent's last step, '' if it can.

        OpenCode exits with 0 in the middle of its work when a permission was refused.
        """
        if reason == "stop":
            return ""
        why = f" ({self._tool_error})" if self._tool_error else ""
        return f"its last step ended with '{reason}', not with 'stop'{why}"


def _opencode_error(error: object) -> str:
    """Return an error's name, status and message; the whole error if it has no message."""
    match error:
        case {"name": str(name), "data": {"message": str(message), **data}} if message:
            status = data.get("statusCode")
            return (
                f"{name} {status}: {message}" if isinstance(status, int) else f"{name}: {message}"
            )
        case _:
            return text_of(error) or "it reported an error"


def _opencode_usage(part: JsonObject) -> Usage:
    counted = mapping(part.get("tokens"))
    cache = mapping(counted.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    return Usage(
        input_tokens=count(counted.get("input")) + read + written,
        output_tokens=count(counted.get("output")) + count(counted.get("reasoning")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=amount(part.get("cost")) or None,
    )
