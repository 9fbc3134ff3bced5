"""Gemini: the JSON lines of Gemini CLI's `--output-format stream-json` (Qwen Code's are alike)."""

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import (
    Happening,
    SessionIdReported,
    TextReported,
    TextStreamed,
    ToolUseEnded,
    ToolUseStarted,
    UsageReported,
)
from agiraph.external.one_way import OneWayDriver
from agiraph.external.text import count, mapping, text_of, unquoted


class GeminiDriver(OneWayDriver):
    """One start of Gemini CLI. Its words come in pieces; a tool, or the end, makes them whole."""

    _pieces = ""

    def read(self, line: JsonObject) -> list[Happening]:
        """Return what a line tells."""
        match line:
            case {"type": "init", "session_id": str(session)}:
                return [SessionIdReported(session)]
            case {"type": "message", "role": "assistant", "content": str(text)}:
                self._pieces += text
                return [TextStreamed(text)]
            case {"type": "tool_use", "tool_id": str(id), "tool_name": str(name)}:
                return [*self._whole(), ToolUseStarted(id, name, mapping(line.get("parameters")))]
            case {"type": "tool_result", "tool_id": str(id)}:
                output = text_of(line.get("output") or line.get("error"))
                return [ToolUseEnded(id, output, line.get("status") == "error")]
            case {"type": "result"}:
                return self._ended(line)
            case {"type": "error", "severity": "warning"}:
                return []
            case {"type": "error"}:
                self.problem = text_of(line.get("message")) or "it told of an error"
                return []
            case _:
                return []

    def _whole(self) -> list[Happening]:
        pieces, self._pieces = self._pieces.strip(), ""
        self.last_word = pieces or self.last_word
        return [TextReported(pieces)] if pieces else []

    def _ended(self, line: JsonObject) -> list[Happening]:
        if line.get("status") == "success":
            self.problem = ""
        else:
            error = line.get("error")
            told = text_of(mapping(error).get("message")) or text_of(error)
            self.problem = unquoted(told) or self.problem or "its turn failed"
        counted = mapping(line.get("stats"))
        self.usage = self.usage + Usage(
            input_tokens=count(counted.get("input_tokens")),
            output_tokens=count(counted.get("output_tokens")),
            cache_read_tokens=count(counted.get("cached")),
        )
        return [*self._whole(), UsageReported(self.usage)]
