"""Codex: the JSON lines of `codex exec --json`."""

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import (
    Happening,
    SessionIdReported,
    TextReported,
    ToolUseEnded,
    ToolUseStarted,
    UsageReported,
)
from agiraph.external.launching import AgentLaunch
from agiraph.external.one_way import OneWayDriver
from agiraph.external.text import count, text_of

ENDED_WELL = (0, None)
TALK = ("agent_message", "reasoning", "error", "todo_list")


class CodexDriver(OneWayDriver):
    """One start of Codex."""

    def __init__(self, job: AgentLaunch) -> None:
        """Speak with what is started for `job`."""
        super().__init__(job)
        self._before = job.spent

    def read(self, line: JsonObject) -> list[Happening]:
        """Return what a line tells."""
        match line:
            case {"type": "thread.started", "thread_id": str(thread)}:
                return [SessionIdReported(thread)]
            case {"type": "item.started", "item": dict(item)}:
                return self._began(item)
            case {"type": "item.completed", "item": {"type": "agent_message"} as item}:
                self.last_word = text_of(item.get("text"))
                return [TextReported(self.last_word)]
            case {"type": "item.completed", "item": dict(item)}:
                return self._ended(item)
            case {"type": "turn.completed", "usage": dict(counted)}:
                self.problem = ""
                self.usage = _usage(counted).less(self._before)  # it is that of the whole thread
                return [UsageReported(self.usage)]
            case {"type": "turn.failed", "error": dict(error)}:
                self.problem = text_of(error.get("message")) or "its turn failed"
                return []
            case {"type": "error", "message": str(message)}:
                self.problem = self.problem or message
                return []
            case _:
                return []

    def _began(self, item: JsonObject) -> list[Happening]:
        kind = str(item.get("type", ""))
        if kind in TALK:
            return []
        self.last_word = ""  # what it said before was no last word
        told = {k: v for k, v in item.items() if k in ("command", "changes", "query", "arguments")}
        return [ToolUseStarted(str(item.get("id", "")), str(item.get("tool") or kind), told)]

    def _ended(self, item: JsonObject) -> list[Happening]:
        if str(item.get("type", "")) in TALK:
            return []
        failed = item.get("status") == "failed" or item.get("exit_code") not in ENDED_WELL
        output = text_of(item.get("aggregated_output") or item.get("result") or item.get("error"))
        return [ToolUseEnded(str(item.get("id", "")), output, failed)]


def _usage(counted: JsonObject) -> Usage:
    return Usage(
        input_tokens=count(counted.get("input_tokens")),
        output_tokens=count(counted.get("output_tokens")),
        cache_read_tokens=count(counted.get("cached_input_tokens")),
    )
