"""Outbox: what an outside agent wrote for others into `_outbox.md`; pure.

Two ways of writing are read:

    @ada: text to ada                 TO: ada
    @human: a note to the human       text, over as
    @human?: a question to them       many lines as you like
    @*: to everybody                  ---

A message goes on over the lines that follow until a blank line or the next message. The file may
be appended to, or written anew: a message counts by its words, and by how often they stand there,
so what was sent once is not sent again however the file is read.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agiraph.core.ids import derived_id, short_derived_id

AT = re.compile(r"^\s{0,3}@(?P<to>[\w.*-]+)(?P<asks>\s?\?)?\s*:\s?(?P<text>.*)$")
TO = re.compile(r"^TO:\s*@?(?P<to>[\w.*-]+)(?P<asks>\s?\?)?\s*$", re.IGNORECASE)
END = re.compile(r"^\s*-{3,}\s*$")


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One message; `key` names it for ever within one node, `asks` if it is a question."""

    to: str
    text: str
    asks: bool
    key: str


def unsent(text: str, sent: Collection[str], *, is_settled: bool) -> list[OutboxMessage]:
    """Return the messages in an outbox whose keys are not in `sent`, in order.

    Unless the file `is_settled` (nobody writes to it just now) a last message that may still be
    being written is left for later.
    """
    count: Counter[tuple[str, bool, str]] = Counter()
    found = []
    for to, asks, words in _messages(text, is_settled):
        count[to, asks, words] += 1
        told = to, str(asks), words, str(count[to, asks, words])
        key = derived_id(*told)
        if key not in sent and short_derived_id(*told) not in sent:  # short: of older versions
            found.append(OutboxMessage(to, words, asks, key))
    return found


def _messages(text: str, is_settled: bool) -> Iterator[tuple[str, bool, str]]:
    """Yield to whom, whether it asks, and the words of each message that is whole."""
    whole = text if is_settled else text[: text.rfind("\n") + 1]
    head: tuple[str, bool] | None = None
    is_block = False
    words: list[str] = []
    for line in whole.splitlines():
        begins = AT.match(line) or TO.match(line)
        is_over = END.match(line) if is_block else not line.strip()
        if head is not None and (begins or is_over):
            yield from _whole(head, words)
            head, words = None, []
        if begins:
            head = (begins["to"], bool(begins["asks"]))
            is_block = begins.re is TO
            words = [] if is_block else [begins["text"]]
        elif head is not None:
            words.append(line)
    if head is not None and is_settled:
        yield from _whole(head, words)


def _whole(head: tuple[str, bool], words: list[str]) -> Iterator[tuple[str, bool, str]]:
    said = "\n".join(words).strip()
    if said:
        yield *head, said
