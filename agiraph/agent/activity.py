"""Activity: the current action of an entity, in one short line for people: `bash: make test`."""

from collections.abc import Sequence
from typing import Final

from agiraph.core.naming import on_one_line
from agiraph.core.redaction import redact
from agiraph.core.turns import ToolCall

STEP_LIMIT: Final = 80
FOR_ANSWER: Final = "for an answer"
"""The wait of an entity that has asked the human and has nothing else to do."""
TELLING: Final = ("command", "path", "url", "query", "question", "to", "name", "key")


def step_of(call: ToolCall) -> str:
    """Return a tool call as one line: the tool's name and its main argument, redacted."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    found = (arguments[key] for key in TELLING if isinstance(arguments.get(key), str))
    about = next(found, "")
    return shortened(f"{call.name}: {about}" if about.strip() else call.name)


def waiting_for(names: Sequence[str]) -> str:
    """Return the names of the nodes that an entity waits for, in one line."""
    return shortened(", ".join(names))


def shortened(text: str) -> str:
    """Return a step as one line of at most STEP_LIMIT characters, without secrets."""
    words = on_one_line(str(redact(text)))
    return words if len(words) <= STEP_LIMIT else f"{words[: STEP_LIMIT - 1]}…"
