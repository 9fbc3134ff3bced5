"""OpenCode: the JSON lines of `opencode run --format json`."""

from agiraph.outside.happenings import (
    Happening,
    SaidText,
    SessionKnown,
    Spent,
    ToolBegan,
    ToolEnded,
)
from agiraph.outside.one_way import OneWay
from agiraph.outside.text import count, mapping, text_of
from agiraph.turns import JsonObject, Usage


class OpenCodeDriver(OneWay):
    """One start of OpenCode. A tool is told of when it has ended."""

    _session = ""

    def read(self, line: JsonObject) -> list[Happening]:
        """Return what a line tells."""
        known: list[Happening] = []
        if isinstance(session := line.get("sessionID"), str) and session != self._session:
            self._session = session
            known = [SessionKnown(session)]
        return known + self._read(line)

    def _read(self, line: JsonObject) -> list[Happening]:
        match line:
            case {"type": "text", "part": {"text": str(text)}} if text.strip():
                self.last_word = text.strip()
                return [SaidText(self.last_word)]
            case {"type": "tool_use", "part": {"callID": str(id), "tool": str(tool)} as part}:
                state = mapping(part.get("state"))
                is_error = state.get("status") == "error"
                output = text_of(state.get("error") if is_error else state.get("output"))
                return [
                    ToolBegan(id, tool, mapping(state.get("input"))),
                    ToolEnded(id, output, is_error),
                ]
            case {"type": "step_finish", "part": dict(part)}:
                self.usage = self.usage + _usage(part)
                return [Spent(self.usage)]
            case {"type": "error"}:
                self.problem = text_of(line.get("error")) or "it told of an error"
                return []
            case _:
                return []


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
