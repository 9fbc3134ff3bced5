"""The digest: one line for each action, statement and received message of an entity; pure.

A compacted conversation contains it in place of the turns that it no longer shows; no model is
needed for it. Statements to others, such as promises and questions, are marked, so that they can be
shown separately.
"""

import json
from collections.abc import Iterable

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, UserTurn

SAID = "said: "
SPEAKING = ("send_message", "ask_human")
LONGEST_LINE = 240
LONGEST_SAID = 500
LONGEST_VALUE = 80
LONGEST_RESULT = 120


def digest_of(turns: Iterable[Turn]) -> list[str]:
    """Return a line for each received message, statement and action, in order."""
    calls: dict[str, ToolCall] = {}
    lines: list[str] = []
    for turn in turns:
        match turn:
            case UserTurn():
                lines.append(one_line(f"heard: {turn.content}", LONGEST_LINE))
            case AssistantTurn():
                calls = {call.id: call for call in turn.tool_calls}
                if turn.text and turn.text.strip():
                    limit = LONGEST_LINE if calls else LONGEST_SAID
                    lines.append(one_line(f"{'thought' if calls else 'said'}: {turn.text}", limit))
            case ToolTurn():
                lines.append(_done(calls.get(turn.call_id), turn))
    return lines


def _done(call: ToolCall | None, result: ToolTurn) -> str:
    outcome = "error: " if result.is_error else ""
    outcome += one_line(result.content, LONGEST_RESULT) or "nothing"
    if call is None:
        return one_line(f"{result.name} -> {outcome}", LONGEST_LINE)
    if call.name in SPEAKING:
        said = one_line(_values(call, LONGEST_SAID), LONGEST_SAID)
        answer = f" -> {outcome}" if result.is_error or call.name == "ask_human" else ""
        return f"{SAID}{call.name} {said}{answer}"
    return one_line(f"{call.name}({_values(call, LONGEST_VALUE)}) -> {outcome}", LONGEST_LINE)


def _values(call: ToolCall, limit: int) -> str:
    return ", ".join(f"{name}={_short(value, limit)}" for name, value in call.arguments.items())


def _short(value: object, limit: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, limit)


def one_line(text: str, limit: int) -> str:
    """Return a text on one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 4] + " ..."
