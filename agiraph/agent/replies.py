"""Replies: which message answers which; pure.

Who writes to somebody answers the last message from them that it has not answered yet. So neither
people nor models have to handle ids, and both are shown which of their words an answer is to.
"""

from dataclasses import dataclass

from agiraph.core.ids import BOARD_NAME, TRIGGER_NAME

NOBODY = frozenset({BOARD_NAME, TRIGGER_NAME, "runtime", "system", "supervisor"})
QUOTED_CHARACTERS = 120
REPLYING = '(replying to your "'


@dataclass(frozen=True, slots=True)
class ReplyReference:
    """The message that is answered: its bus id in hexadecimal, and how it begins."""

    message: str = ""
    quoted: str = ""


def quote(content: str) -> str:
    """Return the beginning of a message as one line."""
    line = " ".join(content.split())
    return line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 1] + "…"


def header(from_name: str, quoted: str) -> str:
    """Return how a message is introduced to a model: who says it, and to what."""
    about = f'{REPLYING}{quoted}") ' if quoted else ""
    return f"[Message from {from_name}]: {about}"


def body_of(shown: str) -> str:
    """Return a message as it was written, without what introduces it."""
    text = shown.partition("]: ")[2] if shown.startswith("[Message from ") else shown
    return text.partition('") ')[2] if text.startswith(REPLYING) else text


def key_of(name: str) -> str:
    """Return under which key the messages of somebody are kept, however the name is written."""
    return name.strip().lstrip("@").casefold()
