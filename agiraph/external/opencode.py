"""OpenCode: the JSON lines of `opencode run --format json`."""

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import (
    Happening,
    SessionIdReported,
    TextReported,
    ToolUseEnded,
    ToolUseStarted,
    UsageReported,
)
from agiraph.external.one_way import OneWayDriver
from agiraph.external.text import count, mapping, text_of

STOPPED = "stop"


class OpenCodeDriver(OneWayDriver):
    """One start of OpenCode. A tool is told of when it has ended."""

    _session = ""
    _refused = ""

    def read(self, line: JsonObject) -> list[Happening]:
        """Return what a line tells."""
        known: list[Happening] = []
        if isinstance(session := line.get("sessionID"), str) and session != self._session:
            self._session = session
            known = [SessionIdReported(session)]
        return known + self._read(line)

    def _read(self, line: JsonObject) -> list[Happening]:
        match line:
            case {"type": "text", "part": {"text": str(text)}} if text.strip():
                self.last_word = text.strip()
                return [TextReported(self.last_word)]
            case {"type": "tool_use", "part": {"callID": str(id), "tool": str(tool)} as part}:
                return self._used(id, tool, mapping(part.get("state")))
            case {"type": "step_finish", "part": dict(part)}:
                self.usage = self.usage + _usage(part)
                self.problem = self._why_unfinished(str(part.get("reason", STOPPED)))
                return [UsageReported(self.usage)]
            case {"type": "error"}:
                self.problem = _error(line.get("error"))
                return []
            case _:
                return []

    def _used(self, id: str, tool: str, state: JsonObject) -> list[Happening]:
        is_error = state.get("status") == "error"
        output = text_of(state.get("error") if is_error else state.get("output"))
        self.last_word = ""
        self._refused = f"{tool}: {output}" if is_error else ""
        return [
            ToolUseStarted(id, tool, mapping(state.get("input"))),
            ToolUseEnded(id, output, is_error),
        ]

    def _why_unfinished(self, reason: str) -> str:
        """Return why a step cannot be the last one, '' if it can.

        OpenCode exits with 0 when a permission was refused, in the middle of its work.
        """
        if reason == STOPPED:
            return ""
        why = f" ({self._refused})" if self._refused else ""
        return f"its last step ended with '{reason}', not with '{STOPPED}'{why}"


def _error(error: object) -> str:
    """Return what an error says: its own words, with its name; all of it if it has no words."""
    match error:
        case {"name": str(name), "data": {"message": str(said), **data}} if said:
            status = data.get("statusCode")
            return f"{name} {status}: {said}" if isinstance(status, int) else f"{name}: {said}"
        case _:
            return text_of(error) or "it told of an error"


def _usage(part: JsonObject) -> Usage:
    counted = mapping(part.get("tokens"))
    cache = mapping(counted.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    cost = part.get("cost")
    return Usage(
        input_tokens=count(counted.get("input")) + read + written,
        output_tokens=count(counted.get("output")) + count(counted.get("reasoning")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=float(cost) if isinstance(cost, int | float) and cost else None,
    )
