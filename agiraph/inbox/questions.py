"""QuestionStore: questions to the human, their outcomes, and their pending deliveries.

Questions that may still have an effect (open ones, standing approvals, undelivered outcomes) are in
memory, the others are read from the database. A question is the fold of records of these types:

  asked        a new question, with the address of its asker and the id of the message
  asked_again  it is asked again (by its asker after a restart, or, if it is shared, by
               another entity): another message to reply to. The same id with another text or
               about another action is a new question
  answered     a person's answer; the first answer counts
  expired      its deadline has passed without an answer
  withdrawn    its asker no longer waits for an answer, or has left
  revoked      the permission of an "allow always" answer is withdrawn
  delivered    the router has the outcome as the answer to one message

Each question gets exactly one of answered, expired and withdrawn, only in this module.
"""

from collections.abc import Callable, Iterator
from typing import Final

from pydantic import TypeAdapter

from agiraph.core.clock import iso
from agiraph.core.errors import listed
from agiraph.core.ids import QuestionId, abbreviated, ids_meant, open_ids_meant
from agiraph.core.models import Question, QuestionStatus
from agiraph.core.naming import on_one_line
from agiraph.http.errors import AMBIGUOUS, ApiError
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.question_records import QuestionRecord, first_record, record_after
from agiraph.messages.question import AskQuestion
from agiraph.storage.database import Statement
from agiraph.storage.journal import JsonObject

CASES: Final = TypeAdapter(QuestionRecord)
MOST_MEANT: Final = 20
"""The maximum number of questions in an error about an ambiguous id."""


class QuestionStore:
    """All questions of a home. Raises Corrupt, OSError."""

    def __init__(self, database: GatewayDatabase) -> None:
        self.database = database
        self.when_changed: Callable[[QuestionId], None] = lambda _id: None
        live = self._read("is_live = 1 ORDER BY +number")  # by the index of live questions
        self._live = {case.question.id: case for case in live}

    def ask(self, body: AskQuestion, asker: str, ask: str, ts: float) -> Question | None:
        """Store a question; return it if it is new, None if it is already known.

        `ask` is the id of the message that asked, in hexadecimal, `ts` when that message was sent
        (Unix time): the deadline counts from then, however often the question is asked again.
        """
        if self.asked_by(ask) is not None:
            return None
        known = self._asked_before(asker, body)
        if known is not None:
            again = {"type": "asked_again", "id": known.question.id, "ask": ask}
            self._write(again | ({"asker": asker} if asker != known.asker else {}))
            return None
        within = body.deadline_seconds
        times = {"asked_at": ts, "deadline_at": None if within is None else ts + within}
        known_as = {"id": self._free_id(body.question_id), "from_id": body.from_name}
        question = Question.model_validate(dict(body) | times | known_as)
        self._write(
            {
                "type": "asked",
                "question": question.model_dump(mode="json"),
                "asker": asker,
                "asked_as": body.question_id,
                "ask": ask,
                "shared": body.shared,
            }
        )
        return question

    def get(self, id: str) -> Question | None:
        """Return a question, None if no question has this id."""
        case = self._find(id)
        return case.question if case else None

    def meant(self, text: str) -> str:
        """Return the full id for a text: the id itself, or the only id that begins with it.

        Open questions take precedence. Raises ApiError 404 with the open ones, 409 with the
        possible ids.
        """
        found = open_ids_meant(text, (question.id for question in self.open()))[:MOST_MEANT]
        if not found:
            beginning = "id >= ? AND id < ? ORDER BY id LIMIT ?"
            near = self._read(beginning, text, f"{text}\U0010ffff", MOST_MEANT)
            found = ids_meant(text, (case.question.id for case in near))
        if len(found) > 1:
            listed = "; ".join(
                f"{id}: {on_one_line(self._case(id).question.question)[:80]}" for id in found
            )
            raise ApiError(
                409, f"'{text}' is the beginning of several questions ({listed})", AMBIGUOUS
            )
        return found[0] if found else self._case(text).question.id

    def asked_by(self, ask: str) -> Question | None:
        """Return the question that the message with the id `ask` asked, None without one."""
        found = self._read("id = (SELECT id FROM asks WHERE ask = ?)", ask)
        return found[0].question if found else None

    def answer(
        self, id: str, answer: str, by: str, at: float, via: str = "", cause: str = ""
    ) -> Question:
        """Store the answer and return the question. Raises ApiError 404 or 409.

        The error 409 for a second or a late answer names the outcome. A repeated call with the same
        `cause` is the same answer. `by` is the answerer, `via` the channel.
        """
        if cause and self._case(id).answered_as == cause:
            return self._case(id).question
        self.expire(at)
        case = self._case(id)
        if case.question.status != "open":
            raise ApiError(409, _too_late(case))
        record = {"type": "answered", "id": id, "answer": answer, "by": by, "at": at, "via": via}
        self._write(record | ({"cause": cause} if cause else {}))
        return self._case(id).question

    def answered_as(self, cause: str) -> str | None:
        """Return the id of the question that a call has answered, None if it has answered none."""
        found = self._read("cause = ? AND cause != '' LIMIT 1", cause)
        return found[0].question.id if found else None

    def expire(self, now: float) -> list[Question]:
        """Expire the questions whose deadline has passed; return them."""
        over = [q for q in self.open() if q.deadline_at is not None and q.deadline_at <= now]
        for question in over:
            self._write({"type": "expired", "id": question.id, "at": now})
        return [self._case(question.id).question for question in over]

    def next_deadline(self) -> float | None:
        """Return the time at which the next open question expires; None if there is none."""
        times = [q.deadline_at for q in self.open() if q.deadline_at is not None]
        return min(times, default=None)

    def withdraw(self, agent: str) -> None:
        """Withdraw the open questions of an archived agent; no entity waits for their answers."""
        for question in self.open(agent):
            self._write({"type": "withdrawn", "id": question.id})

    def withdraw_own(self, asker: str, asked_as: str, reason: str, at: float) -> Question | None:
        """Withdraw and return an open question of this asker; None if it has none with that id."""
        for case in self.live():
            is_its = case.asker == asker and case.asked_as == asked_as and not case.is_shared
            if is_its and case.question.status == "open":
                return self.withdraw_one(case.question.id, reason, at)
        return None

    def withdraw_one(self, id: QuestionId, reason: str, at: float) -> Question:
        """Withdraw an open question.

        Its askers receive that outcome, because they may be waiting.
        """
        record = {"type": "withdrawn", "id": id, "silent": False}
        self._write(record | {"reason": reason, "at": at})
        return self._case(id).question

    def delivered(self, id: str, ask: str) -> None:
        """Record that the router has the answer to one asking message."""
        self._write({"type": "delivered", "id": id, "ask": ask})

    def undelivered(self) -> list[QuestionRecord]:
        """Return the questions whose outcome has not been delivered to every asker."""
        return [case for case in self.live() if case.undelivered]

    def live(self) -> list[QuestionRecord]:
        """Return the questions that are open, in force or not fully delivered, oldest first."""
        return list(self._live.values())

    def find_live(self, id: str) -> QuestionRecord | None:
        """Return a question that is open, in force or not fully delivered; None otherwise."""
        return self._live.get(QuestionId(id))

    def listed(self, most: int, status: QuestionStatus | None = None) -> list[Question]:
        """Return the newest `most` questions (in one status), and all open ones, oldest first."""
        if status == "open":
            return self.open()
        wanted, values = ("status = ?", (status,)) if status else ("true", ())
        newest = self._read(f"{wanted} ORDER BY number DESC LIMIT ?", *values, most)
        listed = {case.question.id: case.question for case in reversed(newest)}
        older = [] if status else [one for one in self.open() if one.id not in listed]
        return [*older, *listed.values()]

    def open(self, agent: str | None = None) -> list[Question]:
        """Return the open questions, of one agent or of all, oldest first."""
        waiting = [case.question for case in self.live() if case.question.status == "open"]
        return [question for question in waiting if agent in (None, question.agent)]

    def asking(self) -> set[str]:
        """Return the addresses of all askers with an open question."""
        return {record.asker for record in self.live() if record.question.status == "open"}

    def asker_of(self, id: str) -> str:
        """Return the address of a question's first asker. Raises ApiError 404."""
        return self._case(id).asker

    def given(self, id: str) -> list[QuestionRecord]:
        """Return the "allow always" approvalswhose ids begin with `id`, also revoked ones."""
        wanted = "was_given AND id >= ? AND id < ? ORDER BY id LIMIT ?"
        return self._read(wanted, id, f"{id}\U0010ffff", MOST_MEANT)

    def revoke(self, id: str, at: float) -> None:
        """Revoke the permission of an "allow always" answer."""
        self._write({"type": "revoked", "id": id, "at": at})

    def _find(self, id: str) -> QuestionRecord | None:
        live = self._live.get(QuestionId(id))
        return live or next(iter(self._read("id = ?", id)), None)

    def _case(self, id: str) -> QuestionRecord:
        case = self._find(id)
        if case is None:
            known = listed([abbreviated(question.id) for question in self.open()])
            raise ApiError(404, f"unknown question '{id}' (open: {known})")
        return case

    def _asked_before(self, asker: str, body: AskQuestion) -> QuestionRecord | None:
        for case in self._read("asked_as = ? ORDER BY number", body.question_id):
            is_shared = case.is_shared and body.shared and case.question.agent == body.agent
            is_its = case.asker == asker or is_shared
            if is_its and asks_the_same(case.question, body):
                return case
        return None

    def _free_id(self, wanted: QuestionId) -> QuestionId:
        id, number = wanted, 2
        while self._find(id):
            id, number = QuestionId(f"{wanted}-{number}"), number + 1
        return id

    def _write(self, record: JsonObject) -> None:
        case = _after(record, self._case)
        self.database.write(*_written(case))
        if case.is_live:
            self._live[case.question.id] = case
        else:
            self._live.pop(case.question.id, None)
        self.when_changed(case.question.id)

    def _read(self, where: str, *values: object) -> list[QuestionRecord]:
        rows = self.database.rows(f'SELECT "case" FROM questions WHERE {where}', *values)
        with self.database.parsing():
            return [CASES.validate_json(row[0]) for row in rows]


def _after(record: JsonObject, case_of: Callable[[str], QuestionRecord]) -> QuestionRecord:
    """Return a question after a record."""
    if record["type"] == "asked":
        return first_record(record)
    return record_after(case_of(record["id"]), record)


def _written(case: QuestionRecord) -> Iterator[Statement]:
    """Yield the statements that store a question and the messages that asked it."""
    state = (case.question.status, case.is_live, case.was_given, case.answered_as)
    yield (
        'INSERT INTO questions (id, asked_as, status, is_live, was_given, cause, "case")'
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
        " is_live = excluded.is_live, was_given = excluded.was_given, cause = excluded.cause,"
        ' "case" = excluded."case"',
        (case.question.id, case.asked_as, *state, CASES.dump_json(case).decode()),
    )
    for ask in case.asks:
        yield "INSERT OR IGNORE INTO asks VALUES (?, ?)", (ask, case.question.id)


def asks_the_same(question: Question, body: AskQuestion) -> bool:
    """Whether a repeated id asks the same question as before.

    An answer must never apply to another question. A question about an action is identified by the
    action (its text may change, for example the spent amount), any other by its text.
    """
    if question.kind != body.kind or (question.about is None) != (body.about is None):
        return False
    if question.about is not None and body.about is not None:
        return question.about.is_same(body.about)
    return (question.question, question.options) == (body.question, body.options)


def _too_late(case: QuestionRecord) -> str:
    """Return why a question cannot be answered, in one sentence."""
    question = case.question
    named = f"question '{abbreviated(question.id)}'"
    match question.status:
        case "answered":
            via = f" over {question.answered_via}" if question.answered_via else ""
            when = iso(question.answered_at or 0.0)
            who = f"{question.answered_by} at {when}{via}"
            return f"{named} was answered by {who}: {question.answer}"
        case "expired":
            holds = "" if question.default is None else f": the default applies, {question.default}"
            return f"{named} expired at {iso(question.deadline_at or 0.0)}, unanswered{holds}"
        case _:
            return f"{named} was withdrawn: {case.reason or 'nobody waits for an answer'}"
