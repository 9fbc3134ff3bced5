"""Activity: what an entity does right now, in one short line for people: `bash: make test`."""

from collections.abc import Sequence
from typing import Final

from agiraph.core.redaction import redact
from agiraph.core.turns import ToolCall

STEP_LIMIT: Final = 80
WAIT: Final = "wait"
FOR_ANSWER: Final = "for an answer"
"""The wait of an entity that has asked the human and rests."""
TELLING: Final = ("command", "path", "url", "query", "question", "to", "name", "ref_name", "key")


def step_of(call: ToolCall) -> str:
    """Return a tool's name and the argument that says most; secrets are blotted out."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    found = (arguments[key] for key in TELLING if isinstance(arguments.get(key), str))
    return _short(call.name, next(found, ""))


def waiting_for(names: Sequence[str]) -> str:
    """Return whom or what an entity waits for; without names it is a message."""
    return _short(WAIT, ", ".join(names))


def _short(what: str, about: str) -> str:
    words = " ".join(str(redact(about)).split())
    step = f"{what}: {words}" if words else what
    return step if len(step) <= STEP_LIMIT else f"{step[: STEP_LIMIT - 1]}…"
