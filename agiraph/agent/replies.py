"""Replies: match each message with the message that it answers; pure.

A message answers the last message from its recipient that is not yet answered. So neither people
nor models have to handle ids, and both see to which of their messages an answer belongs.
"""

from dataclasses import dataclass

from agiraph.core.ids import BOARD_NAME, TRIGGER_NAME

NOBODY = frozenset({BOARD_NAME, TRIGGER_NAME, "runtime", "system", "supervisor"})
QUOTED_CHARACTERS = 120
REPLYING = '(replying to your "'


@dataclass(frozen=True, slots=True)
class ReplyReference:
    """The answered message: its bus id in hexadecimal, and its beginning."""

    message: str = ""
    quoted: str = ""


def quote(content: str) -> str:
    """Return the beginning of a message as one line."""
    line = " ".join(content.split())
    return line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 1] + "…"


def header(from_name: str, quoted: str) -> str:
    """Return the introduction of a message to a model: its sender, and the text it replies to."""
    about = f'{REPLYING}{quoted}") ' if quoted else ""
    return f"[Message from {from_name}]: {about}"


def body_of(shown: str) -> str:
    """Return a shown message without its introduction."""
    text = shown.partition("]: ")[2] if shown.startswith("[Message from ") else shown
    return text.partition('") ')[2] if text.startswith(REPLYING) else text


def key_of(name: str) -> str:
    """Return the key of a sender's messages, independent of the spelling of the name."""
    return name.strip().lstrip("@").casefold()
