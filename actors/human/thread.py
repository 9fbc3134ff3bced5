"""The journal of everything that was said to and by the person, over all agents."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agiraph.api import ConversationMessage, ConversationPage
from agiraph.journal import Journal

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

    def page(self, agent: str, after: int, limit: int) -> ConversationPage:
        """Return up to `limit` messages of one agent that stand after line `after`."""
        found = [message for message in self._by_agent.get(agent, ()) if message.seq > after]
        page = tuple(found[:limit])
        return ConversationPage(messages=page, next=page[-1].seq if page else after)

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _take(self, seq: int, record: JsonObject) -> None:
        message = ConversationMessage.model_validate({**record, "seq": seq})
        self._ids.add(message.id)
        self._all.append(message)
        self._by_agent[message.agent].append(message)
