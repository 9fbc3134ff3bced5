"""Questions to the human: who asked what, what became of it, and what is still to deliver.

The state is the fold of a journal of these records:

    asked      a new question, with the address of its asker and the id of the message
    asked_again  it is asked once more (by its asker after a restart, or, if it is shared, by
               another entity): one more message to reply to. Under the same id, but with other
               words or about another deed, it is a new question
    answered   a person's answer; the first one holds
    expired    its deadline has passed without one
    withdrawn  nobody waits any more: its asker said so, or is gone
    revoked    what an approval allowed for always is allowed no more
    delivered  the outcome is in the router's hands as the answer to one message

Each question gets exactly one of answered, expired and withdrawn, here and nowhere else.
"""

from pathlib import Path
from typing import Any

from actors.human.cases import Case, case_after, first_case
from agiraph.api import ApiError
from agiraph.clock import iso
from agiraph.errors import Corrupt
from agiraph.ids import QuestionId, abbreviated, ids_meant
from agiraph.messages import AskQuestion
from agiraph.models import Question
from agiraph.storage.journal import Journal

JsonObject = dict[str, Any]


class Questions:
    """The book of questions, one journal on disk."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        self._cases: dict[str, Case] = {}
        self._asks: set[str] = set()
        self._open: dict[str, None] = {}
        for number, record in enumerate(self._journal.records, start=1):
            try:
                self._apply(record)
            except (KeyError, TypeError, ValueError) as error:
                raise Corrupt(f"{path}: record {number} is none of a question ({error})") from error
        self._journal.records = []

    def ask(self, body: AskQuestion, asker: str, ask: str, ts: float) -> Question | None:
        """Write a question down; return it if it is new, None if it was known already.

        `ask` is the id of the message that asked, in hexadecimal, `ts` when it was sent: its
        deadline counts from there, however often it is asked again.
        """
        if ask in self._asks:
            return None
        known = self._asked_before(asker, body)
        if known is not None:
            again = {"type": "asked_again", "id": known.question.id, "ask": ask}
            self._write(again | ({"asker": asker} if asker != known.asker else {}))
            return None
        question = Question(
            id=self._free_id(body.question_id),
            agent=body.agent,
            from_id=body.from_name,
            question=body.question,
            asked_at=ts,
            channel=body.channel,
            options=body.options,
            deadline_at=None if body.deadline_seconds is None else ts + body.deadline_seconds,
            default=body.default,
            urgency=body.urgency,
            kind=body.kind,
            about=body.about,
        )
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
        """Return a question, None if there is none of this id."""
        case = self._cases.get(id)
        return case.question if case else None

    def meant(self, text: str) -> str:
        """Return the id that a person means: it, or the only one that begins so.

        Raises ApiError 404 with the open ones, 409 with those that it may be.
        """
        found = ids_meant(text, self._cases)
        if len(found) > 1:
            listed = "; ".join(f"{id}: {self._case(id).question.question[:80]}" for id in found)
            raise ApiError(409, f"'{text}' is the beginning of several questions ({listed})")
        return found[0] if found else self._case(text).question.id

    def asked_by(self, ask: str) -> Question | None:
        """Return the question that a message asked, None if it asked none."""
        for case in self._cases.values():
            if ask in case.asks:
                return case.question
        return None

    def answer(
        self, id: str, answer: str, by: str, at: float, via: str = "", cause: str = ""
    ) -> Question:
        """Write the answer down and return the question; raise ApiError 404 or 409.

        Whoever comes second, or too late, is told what holds instead. The same `cause` again is
        the same answer.
        """
        if cause and self._case(id).answered_as == cause:
            return self._case(id).question
        self.expire(at)
        question = self._case(id).question
        if question.status != "open":
            raise ApiError(409, _too_late(question))
        record = {"type": "answered", "id": id, "answer": answer, "by": by, "at": at, "via": via}
        self._write(record | ({"cause": cause} if cause else {}))
        return self._case(id).question

    def answered_as(self, cause: str) -> str | None:
        """Return the id of the question that a call has answered, None if it has answered none."""
        return next((id for id, case in self._cases.items() if case.answered_as == cause), None)

    def expire(self, now: float) -> list[Question]:
        """Write down which questions have not been answered in time; return them."""
        over = [q for q in self.open() if q.deadline_at is not None and q.deadline_at <= now]
        for question in over:
            self._write({"type": "expired", "id": question.id, "at": now})
        return [self._case(question.id).question for question in over]

    def next_deadline(self) -> float | None:
        """Return when the next open question expires; None if none ever does."""
        times = [q.deadline_at for q in self.open() if q.deadline_at is not None]
        return min(times, default=None)

    def withdraw(self, agent: str) -> None:
        """Withdraw what an agent that is gone left open; there is nobody to be told."""
        for question in self.open(agent):
            self._write({"type": "withdrawn", "id": question.id})

    def withdraw_one(self, asker: str, asked_as: str, reason: str, at: float) -> Question | None:
        """Withdraw an open question; None if this asker has none of that id.

        Who asked is told, so that one who waits for it all the same does not wait for ever.
        """
        for case in self._cases.values():
            named = asked_as in (case.asked_as, case.question.id)
            is_its = case.asker == asker and named and not case.is_shared
            if is_its and case.question.status == "open":
                record = {"type": "withdrawn", "id": case.question.id, "silent": False}
                self._write(record | {"reason": reason, "at": at})
                return self._case(case.question.id).question
        return None

    def delivered(self, id: str, ask: str) -> None:
        """Write down that the answer to one asking message is in the router's hands."""
        self._write({"type": "delivered", "id": id, "ask": ask})

    def undelivered(self) -> list[Case]:
        """Return the questions of whose outcome somebody has yet to be told."""
        return [case for case in self._cases.values() if case.undelivered]

    def all(self) -> list[Question]:
        """Return every question, oldest first."""
        return [case.question for case in self._cases.values()]

    def open(self, agent: str | None = None) -> list[Question]:
        """Return the open questions, of one agent or of all, oldest first."""
        waiting = [self._cases[id].question for id in self._open]
        return [question for question in waiting if agent in (None, question.agent)]

    def asker_of(self, id: str) -> str:
        """Return the address of the one who asked a question first; ApiError 404."""
        return self._case(id).asker

    def cases(self) -> list[Case]:
        """Return every question with all that is known of it, oldest first."""
        return list(self._cases.values())

    def revoke(self, id: str, at: float) -> None:
        """Take back what the answer to an approval has allowed from then on."""
        self._write({"type": "revoked", "id": id, "at": at})

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _case(self, id: str) -> Case:
        case = self._cases.get(id)
        if case is None:
            known = ", ".join(abbreviated(question.id) for question in self.open()) or "none"
            raise ApiError(404, f"unknown question '{id}' (open: {known})")
        return case

    def _asked_before(self, asker: str, body: AskQuestion) -> Case | None:
        for case in self._cases.values():
            is_shared = case.is_shared and body.shared and case.question.agent == body.agent
            is_its = case.asked_as == body.question_id and (case.asker == asker or is_shared)
            if is_its and asks_the_same(case.question, body):
                return case
        return None

    def _free_id(self, wanted: QuestionId) -> QuestionId:
        id, number = wanted, 2
        while id in self._cases:
            id, number = QuestionId(f"{wanted}-{number}"), number + 1
        return id

    def _write(self, record: JsonObject) -> None:
        self._journal.append(record)
        self._apply(record)

    def _apply(self, record: JsonObject) -> None:
        if record["type"] == "asked":
            case = first_case(record)
            self._asks.add(record["ask"])
        else:
            case = case_after(self._cases[record["id"]], record)
            if record["type"] == "asked_again":
                self._asks.add(record["ask"])
        id = case.question.id
        self._cases[id] = case
        if case.question.status == "open":
            self._open[id] = None
        else:
            self._open.pop(id, None)


def asks_the_same(question: Question, body: AskQuestion) -> bool:
    """Whether what is asked under an id is what was asked under it before.

    An answer must never be given to anything else. Of a deed its words may be others (how much is
    spent by now), of a question without one they are all there is.
    """
    if question.kind != body.kind or (question.about is None) != (body.about is None):
        return False
    if question.about is not None and body.about is not None:
        return question.about.is_same(body.about)
    return (question.question, question.options) == (body.question, body.options)


def _too_late(question: Question) -> str:
    """Say to one who answers what came before, in one sentence."""
    named = f"question '{abbreviated(question.id)}'"
    match question.status:
        case "answered":
            via = f" over {question.answered_via}" if question.answered_via else ""
            when = iso(question.answered_at or 0.0)
            who = f"{question.answered_by} at {when}{via}"
            return f"{named} was answered by {who}: {question.answer}"
        case "expired":
            holds = "" if question.default is None else f": the default holds, {question.default}"
            return f"{named} expired at {iso(question.deadline_at or 0.0)}, unanswered{holds}"
        case _:
            return f"{named} was withdrawn: nobody waits for an answer"
