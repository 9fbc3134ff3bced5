"""MessageHistory: all messages to and from the person, over all agents, and the read marks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from agiraph.agent.replies import key_of, quote
from agiraph.core.ids import HUMAN_NAME
from agiraph.http.api import ConversationMessageView, ConversationPageView
from agiraph.http.errors import AMBIGUOUS, ApiError
from agiraph.inbox.database import GatewayDatabase
from agiraph.storage.database import Statement

EVERYONE = "*"
FIELDS: Final = ("id", "agent", "from", "to", "content", "ts", "kind", "question_id", "in_reply_to")
COLUMNS: Final = ", ".join(["seq", *(f'"{field}"' for field in FIELDS)])
READ_AT_ONCE: Final = 500
SHOWN_TEXTS: Final = 3
LOOKED_THROUGH: Final = 200
"""Messages searched for the latest texts, which the error for a wrong id lists."""

LAST: Final = 2**63 - 1


class MessageHistory:
    """The messages in the order of arrival, numbered from 1 by their `seq`.

    An id is never written twice, so a redelivered message takes effect once. Raises Corrupt,
    OSError.
    """

    def __init__(self, database: GatewayDatabase) -> None:
        self.database = database
        self.when_changed: Callable[[str], None] = lambda _agent: None
        [(last,)] = database.rows("SELECT max(seq) FROM messages")
        self._count: int = last or 0

    def __contains__(self, id: str) -> bool:
        """Whether there is a message with this id."""
        return bool(self.database.rows("SELECT 1 FROM messages WHERE id = ? LIMIT 1", id))

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
        """Write a message to disk; return False if its id already exists."""
        if id in self:
            return False
        message = ConversationMessageView.model_validate(
            {
                "seq": self._count + 1,
                "id": id,
                "agent": agent,
                "from": sender,
                "to": to,
                "content": content,
                "ts": ts,
                "kind": kind,
                "question_id": question_id,
                "in_reply_to": in_reply_to or None,
            }
        )
        self.database.write(_statement(message))
        self._count = message.seq
        self.when_changed(agent)
        return True

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the messages with these ids; unknown ids are left out."""
        marks = ", ".join("?" * len(ids))
        return dict(self.database.rows(f"SELECT id, seq FROM messages WHERE id IN ({marks})", *ids))

    @property
    def count(self) -> int:
        """How many messages there are, over all agents."""
        return self._count

    def last(self, agent: str) -> int:
        """Return the number of an agent's last message, 0 if there is none."""
        [(last,)] = self.database.rows("SELECT max(seq) FROM messages WHERE agent = ?", agent)
        return last or 0

    def since(self, seq: int) -> Iterator[ConversationMessageView]:
        """Yield the messages of all agents after number `seq`."""
        while found := self._read("seq > ? ORDER BY seq LIMIT ?", seq, READ_AT_ONCE):
            yield from found
            seq = found[-1].seq

    def find(self, agent: str, id: str) -> ConversationMessageView:
        """Return an agent's message by its id or a beginning of its id.

        Raises ApiError 404, 409.
        """
        wanted = "id >= ? AND id < ? AND +agent = ? LIMIT 2"  # by the index of ids
        found = self._read(wanted, id, f"{id}\U0010ffff", agent)
        if len(found) == 1:
            return found[0]
        if found:
            several = f"several messages begin with '{id}': name more of the id"
            raise ApiError(409, several, AMBIGUOUS)
        latest = self._stretch(agent, None, 0, LAST, LOOKED_THROUGH, is_backwards=True)
        last = [m for m in latest if m.kind == "text" and m.sender != HUMAN_NAME][-SHOWN_TEXTS:]
        listing = "; ".join(f"{m.id[:8]} {m.sender}: {quote(m.content)}" for m in last) or "none"
        raise ApiError(404, f"unknown message '{id}' (the last to you: {listing})")

    def unanswered(self, agent: str, name: str) -> ConversationMessageView | None:
        """Return the last text from `name` to the person, None if the person has written since."""
        texts = "agent = ? AND other = ? AND kind IN ('text', 'nudge') ORDER BY seq DESC LIMIT 1"
        last = self._read(texts, agent, key_of(name))
        return last[0] if last and last[0].sender != HUMAN_NAME else None

    def said_by_human(
        self, agent: str, since: float, until: float
    ) -> list[ConversationMessageView]:
        """Return the messages and answers of the person to an agent's team between two times."""
        wanted = """agent = ? AND "from" = ? AND ts BETWEEN ? AND ? ORDER BY seq"""
        return self._read(wanted, agent, HUMAN_NAME, since, until)

    def read_to(self, agent: str) -> int:
        """Return the `seq` up to which the person has read all messages of an agent.

        0 if none is read.
        """
        found = self.database.rows("SELECT seq FROM read_cursors WHERE agent = ?", agent)
        return int(found[0][0]) if found else 0

    def read_with(self, agent: str) -> dict[str, int]:
        """Return, by entity name, the `seq` up to which single conversations are read further.

        By the name of the entity, as its messages write it.
        """
        return dict(
            self.database.rows(
                'SELECT (SELECT "from" FROM messages WHERE agent = read_with.agent'
                ' AND other = read_with.other AND "to" = ? ORDER BY seq DESC LIMIT 1) AS name, seq'
                " FROM read_with WHERE agent = ? AND name IS NOT NULL ORDER BY name",
                HUMAN_NAME,
                agent,
            )
        )

    def mark_read(self, agent: str, seq: int | None = None, entity: str | None = None) -> None:
        """Record that the person has read an agent's messages up to `seq`, by default all.

        With `entity` only the messages of that entity; a mark is never moved back.
        """
        seq = self._count if seq is None else min(seq, self._count)
        if entity is None:
            forget = "DELETE FROM read_with WHERE agent = ? AND seq <= ?"
            cursor = ("INSERT OR REPLACE INTO read_cursors VALUES (?, ?)", (agent, seq))
            self.database.write(cursor, (forget, (agent, seq)))
        elif seq > self.read_to(agent):
            further = (
                "INSERT INTO read_with VALUES (?, ?, ?)"
                " ON CONFLICT (agent, other) DO UPDATE SET seq = max(seq, excluded.seq)"
            )
            self.database.write((further, (agent, key_of(entity), seq)))
        self.when_changed(agent)

    def unread(self, agent: str) -> dict[str, int]:
        """Return the number of unread messages to the person, by sender.

        A question that is settled needs no reading.
        """
        return dict(
            self.database.rows(
                'SELECT "from", count(*) FROM messages LEFT JOIN read_with USING (agent, other)'
                " WHERE agent = ? AND messages.seq > max(?, coalesce(read_with.seq, 0))"
                " AND \"to\" = ? AND NOT (kind = 'question' AND EXISTS ("
                "SELECT 1 FROM questions WHERE id = question_id AND status != 'open'))"
                ' GROUP BY "from" ORDER BY "from"',
                agent,
                self.read_to(agent),
                HUMAN_NAME,
            )
        )

    def page(
        self,
        agent: str,
        after: int,
        limit: int,
        *,
        before: int | None = None,
        entity: str | None = None,
        search: str = "",
    ) -> ConversationPageView:
        """Return up to `limit` messages of one agent: the first ones after number `after`.

        With `before`: the last messages between `after` and that number. With `entity`: only
        messages to or from the entity of that name, or to all. With `search`: only messages that
        contain these words.
        """
        end, is_backwards = LAST if before is None else before, before is not None
        page = self._stretch(agent, entity, after, end, limit, search, is_backwards=is_backwards)
        if not page:
            return ConversationPageView(messages=(), next=after)
        first = page[0].seq
        is_first = not self._stretch(agent, entity, 0, first, 1, search)
        return ConversationPageView(
            messages=tuple(page), next=page[-1].seq, previous=None if is_first else first
        )

    def _stretch(
        self,
        agent: str,
        entity: str | None,
        after: int,
        before: int,
        limit: int,
        search: str = "",
        *,
        is_backwards: bool = False,
    ) -> list[ConversationMessageView]:
        """Return `limit` messages between the numbers `after` and `before`, in order.

        They are the first ones, or with `is_backwards` the last ones.
        """
        whom = ""
        names: set[tuple[str, ...]] = {()}
        if entity is not None and key_of(entity) != HUMAN_NAME:
            whom, names = "AND other = ?", {(key_of(entity),), (EVERYONE,)}
        words = (search.casefold(),) if search else ()
        said = "AND instr(folded(content), ?)" if search else ""
        order = "DESC" if is_backwards else "ASC"
        wanted = f"agent = ? {whom} AND seq > ? AND seq < ? {said} ORDER BY seq {order} LIMIT ?"
        found = [
            message
            for name in names
            for message in self._read(wanted, agent, *name, after, before, *words, limit)
        ]
        found.sort(key=lambda message: message.seq)
        return found[-limit:] if is_backwards else found[:limit]

    def _read(self, where: str, *values: object) -> list[ConversationMessageView]:
        rows = self.database.rows(f"SELECT {COLUMNS} FROM messages WHERE {where}", *values)
        named = (dict(zip(("seq", *FIELDS), row, strict=True)) for row in rows)
        with self.database.parsing():
            return [ConversationMessageView.model_validate(one) for one in named]


def _statement(message: ConversationMessageView) -> Statement:
    """Return the statement that stores a message."""
    other = key_of(message.to if message.sender == HUMAN_NAME else message.sender)
    shown = message.model_dump(by_alias=True)
    marks = ", ".join("?" * (len(FIELDS) + 2))
    sql = f"INSERT INTO messages ({COLUMNS}, other) VALUES ({marks})"
    return sql, (message.seq, *(shown[field] for field in FIELDS), other)
