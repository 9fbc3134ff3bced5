"""The journal of everything that was said to and by the person, over all agents."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.human.latest import Latest
from agiraph.agent.replies import key_of, quote
from agiraph.api import ApiError, ConversationMessage, ConversationPage
from agiraph.ids import HUMAN_NAME
from agiraph.storage.journal import Journal

EVERYONE = "*"

JsonObject = dict[str, Any]


class Thread:
    """One line a message, in the order of arrival; the line's number is its `seq`.

    An id that stands in it is never written again, so a redelivered message has its effect once.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the journal. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        self._ids: set[str] = set()
        self._all: list[ConversationMessage] = []
        self.when_added: Callable[[], None] = lambda: None
        self._by_agent: dict[str, list[ConversationMessage]] = defaultdict(list)
        self._pages: Latest[ConversationPage] = Latest()
        for seq, record in enumerate(self._journal.records, start=1):
            self._take(seq, record)
        self._journal.records = []

    def __contains__(self, id: str) -> bool:
        """Whether a message with this id has been written down."""
        return id in self._ids

    def add(
        self,
        *,
        id: str,
        agent: str,
        sender: str,
        to: str,
        content: str,
        ts: float,
        kind: str = "text",
        question_id: str | None = None,
        in_reply_to: str | None = None,
    ) -> bool:
        """Write a message down and wait until it is on disk; return False if it stood there."""
        if id in self._ids:
            return False
        record: JsonObject = {
            "agent": agent,
            "from": sender,
            "to": to,
            "content": content,
            "ts": ts,
            "id": id,
            "kind": kind,
        }
        if question_id is not None:
            record["question_id"] = question_id
        if in_reply_to:
            record["in_reply_to"] = in_reply_to
        self._take(self._journal.append(record), record)
        self.when_added()
        return True

    @property
    def count(self) -> int:
        """How many messages there are, over all agents."""
        return len(self._all)

    def since(self, seq: int) -> list[ConversationMessage]:
        """Return the messages of all agents that stand after line `seq`."""
        return self._all[seq:]

    def find(self, agent: str, id: str) -> ConversationMessage:
        """Return an agent's message by its id or the beginning of it; ApiError 404, or 409."""
        known = self._by_agent.get(agent, [])
        found = [message for message in known if message.id.startswith(id)]
        if len(found) == 1:
            return found[0]
        if found:
            raise ApiError(409, f"several messages begin with '{id}': name more of the id")
        last = [m for m in known if m.kind == "text" and m.sender != HUMAN_NAME][-3:]
        listing = "; ".join(f"{m.id[:8]} {m.sender}: {quote(m.content)}" for m in last) or "none"
        raise ApiError(404, f"unknown message '{id}' (the last to you: {listing})")

    def unanswered(self, agent: str, name: str) -> ConversationMessage | None:
        """Return the last text of somebody that the person has not written to them since."""
        for message in reversed(self._by_agent.get(agent, [])):
            if message.kind not in ("text", "nudge"):
                continue
            if message.sender == HUMAN_NAME and key_of(message.to) == key_of(name):
                return None
            if message.sender != HUMAN_NAME and key_of(message.sender) == key_of(name):
                return message
        return None

    def page(
        self,
        agent: str,
        after: int,
        limit: int,
        *,
        before: int | None = None,
        entity: str | None = None,
    ) -> ConversationPage:
        """Return up to `limit` messages of one agent: the first ones after line `after`.

        With `before`: the last ones that stand after `after` and before that line. With `entity`:
        only what was said to or by the one of that name, or to all.
        """
        mine = self._by_agent.get(agent, [])
        key = (agent, after, limit, before, entity)
        return self._pages.get(key, len(mine), lambda: _page(mine, after, limit, before, entity))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _take(self, seq: int, record: JsonObject) -> None:
        message = ConversationMessage.model_validate({**record, "seq": seq})
        self._ids.add(message.id)
        self._all.append(message)
        self._by_agent[message.agent].append(message)


def _seq(message: ConversationMessage) -> int:
    return message.seq


def _page(
    mine: list[ConversationMessage], after: int, limit: int, before: int | None, entity: str | None
) -> ConversationPage:
    start = bisect_right(mine, after, key=_seq)
    end = len(mine) if before is None else bisect_left(mine, before, key=_seq)
    found = [m for m in mine[start:end] if entity is None or _is_with(m, entity)]
    page = tuple(found[:limit] if before is None else found[-limit:])
    if not page:
        return ConversationPage(messages=(), next=after)
    first = page[0].seq
    is_first = not any(m.seq < first for m in mine if entity is None or _is_with(m, entity))
    return ConversationPage(messages=page, next=page[-1].seq, previous=None if is_first else first)


def _is_with(message: ConversationMessage, entity: str) -> bool:
    wanted = entity.casefold()
    return wanted in (message.sender.casefold(), message.to.casefold()) or message.to == EVERYONE
