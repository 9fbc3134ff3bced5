"""Events as lines for a terminal: their sentences come from the API."""

import json
from dataclasses import dataclass
from typing import Any

from agiraph.core.event_types import Tone
from agiraph.http.api import EventView
from cli.sanitize import one_line

TEXT_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line to show: the entity, the text, the tone; a screen may shorten a line that `fits`."""

    who: str
    text: str
    tone: Tone = "plain"
    fits: bool = False


def line_of(event: EventView) -> EventLine:
    """Return the line of an event: its sentence and its longer text."""
    detail = text_of(event.data, event.detail)
    text = f"{event.text}: {detail}" if detail else event.text
    return EventLine(one_line(event.who, 40), one_line(text, TEXT_LIMIT), event.tone)


def text_of(data: dict[str, Any], *keys: str) -> str:
    """Return the first non-empty text among the values of `keys` in `data`, else ''."""
    return next((v for key in keys if isinstance(v := data.get(key), str) and v), "")


def arguments_in_lines(arguments: object) -> str:
    """Return a call's arguments for people: `name: value` lines, long texts unchanged."""
    if not isinstance(arguments, dict):
        return str(arguments) if arguments else ""
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        joint = "\n" if "\n" in text else " "
        lines.append(f"{name}:{joint}{text}")
    return "\n".join(lines)
