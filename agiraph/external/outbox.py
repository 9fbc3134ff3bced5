"""Outbox: the messages that an external agent wrote into `_outbox.md`; pure.

Two forms are accepted:

    @ada: text to ada                 TO: ada
    @human: a note to the human       text, over as
    @human?: a question to them       many lines as you like
    @*: to all                        ---

A message of the first form continues until a blank line or the next message. The file can be
appended to or rewritten: a message is identified by its text and its repetition count, so it is
sent only once.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agiraph.core.ids import derived_id

AT = re.compile(r"^\s{0,3}@(?P<to>[\w.*-]+)(?P<asks>\s?\?)?\s*:\s?(?P<text>.*)$")
TO = re.compile(r"^TO:\s*@?(?P<to>[\w.*-]+)(?P<asks>\s?\?)?\s*$", re.IGNORECASE)
BLOCK_END = re.compile(r"^\s*-{3,}\s*$")


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One message; `key` identifies it within one node, `asks` means that it is a question."""

    to: str
    text: str
    asks: bool
    key: str


def unsent(text: str, sent: Collection[str], *, is_settled: bool) -> list[OutboxMessage]:
    """Return the messages in an outbox whose keys are not in `sent`, in order.

    Unless the file `is_settled` (no longer being written), its last message is postponed if it may
    be incomplete.
    """
    count: Counter[tuple[str, bool, str]] = Counter()
    found = []
    for to, asks, words in _messages(text, is_settled):
        count[to, asks, words] += 1
        parts = to, str(asks), words, str(count[to, asks, words])
        key = derived_id(*parts)
        if key not in sent:
            found.append(OutboxMessage(to, words, asks, key))
    return found


def _messages(text: str, is_settled: bool) -> Iterator[tuple[str, bool, str]]:
    """Yield recipient, whether it is a question, and text of each complete message."""
    complete = text if is_settled else text[: text.rfind("\n") + 1]
    head: tuple[str, bool] | None = None
    is_block = False
    lines: list[str] = []
    for line in complete.splitlines():
        begins = AT.match(line) or TO.match(line)
        is_over = BLOCK_END.match(line) if is_block else not line.strip()
        if head is not None and (begins or is_over):
            yield from _message(head, lines)
            head, lines = None, []
        if begins:
            head = (begins["to"], bool(begins["asks"]))
            is_block = begins.re is TO
            lines = [] if is_block else [begins["text"]]
        elif head is not None:
            lines.append(line)
    if head is not None and is_settled:
        yield from _message(head, lines)


def _message(head: tuple[str, bool], lines: list[str]) -> Iterator[tuple[str, bool, str]]:
    if text := "\n".join(lines).strip():
        yield *head, text
