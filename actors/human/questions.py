"""Questions to the human: who asked what, who answered it and when, and what is still to deliver.

The state is the fold of a journal of these records:

    asked      a new question, with the address of its asker and the id of the message
    asked_again  the same asker asks the same (it was restarted): one more message to reply to
    answered   a person's answer; the first one holds
    withdrawn  its agent is gone, nobody waits any more
    delivered  the answer to one message is in the router's hands
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agiraph.api import ApiError, QuestionView
from agiraph.clock import iso
from agiraph.errors import Corrupt
from agiraph.ids import QuestionId
from agiraph.journal import Journal
from agiraph.messages import AskQuestion
from agiraph.models import Question

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One question. `asked_as` is the id its asker gave it, `asks` the messages that asked it.

    `question.id` differs from `asked_as` only if another asker used the same id before.
    """

    question: Question
    asker: str
    asked_as: QuestionId
    asks: tuple[str, ...]
    delivered: frozenset[str] = frozenset()

    @property
    def undelivered(self) -> tuple[str, ...]:
        """The asking messages to which the answer has yet to go."""
        if self.question.status != "answered":
            return ()
        return tuple(ask for ask in self.asks if ask not in self.delivered)


class Questions:
    """The book of questions, one journal on disk."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        self._cases: dict[str, Case] = {}
        self._asks: set[str] = set()
        for number, record in enumerate(self._journal.records, start=1):
            try:
                self._apply(record)
            except (KeyError, TypeError, ValueError) as error:
                raise Corrupt(f"{path}: record {number} is none of a question ({error})") from error
        self._journal.records = []

    def ask(self, body: AskQuestion, asker: str, ask: str, ts: float) -> Question | None:
        """Write a question down; return it if it is new, None if it was known already.

        `ask` is the id of the message that asked, in hexadecimal.
        """
        if ask in self._asks:
            return None
        known = self._asked_before(asker, body.question_id)
        if known is not None:
            self._write({"type": "asked_again", "id": known.question.id, "ask": ask})
            return None
        question = Question(
            id=self._free_id(body.question_id),
            agent=body.agent,
            from_id=body.from_name,
            question=body.question,
            asked_at=ts,
            channel=body.channel,
        )
        self._write(
            {
                "type": "asked",
                "question": question.model_dump(mode="json"),
                "asker": asker,
                "asked_as": body.question_id,
                "ask": ask,
            }
        )
        return question

    def asked_by(self, ask: str) -> Question | None:
        """Return the question that a message asked, None if it asked none."""
        for case in self._cases.values():
            if ask in case.asks:
                return case.question
        return None

    def answer(self, id: str, answer: str, by: str, at: float) -> Question:
        """Write the answer down and return the question; raise ApiError 404 or 409."""
        question = self._case(id).question
        if question.status == "answered":
            when = iso(question.answered_at or 0.0)
            raise ApiError(
                409,
                f"question '{id}' was answered by {question.answered_by} at {when}:"
                f" {question.answer}",
            )
        if question.status == "withdrawn":
            raise ApiError(409, f"question '{id}' was withdrawn: nobody waits for an answer")
        self._write({"type": "answered", "id": id, "answer": answer, "by": by, "at": at})
        return self._case(id).question

    def withdraw(self, agent: str) -> None:
        """Withdraw what an agent that is gone left open."""
        for question in self.open(agent):
            self._write({"type": "withdrawn", "id": question.id})

    def delivered(self, id: str, ask: str) -> None:
        """Write down that the answer to one asking message is in the router's hands."""
        self._write({"type": "delivered", "id": id, "ask": ask})

    def undelivered(self) -> list[Case]:
        """Return the answered questions whose answers have yet to go out."""
        return [case for case in self._cases.values() if case.undelivered]

    def all(self) -> list[Question]:
        """Return every question, oldest first."""
        return [case.question for case in self._cases.values()]

    def open(self, agent: str | None = None) -> list[Question]:
        """Return the open questions, of one agent or of all."""
        return [
            question
            for question in self.all()
            if question.status == "open" and agent in (None, question.agent)
        ]

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _case(self, id: str) -> Case:
        case = self._cases.get(id)
        if case is None:
            known = ", ".join(question.id for question in self.open()) or "none"
            raise ApiError(404, f"unknown question '{id}' (open: {known})")
        return case

    def _asked_before(self, asker: str, asked_as: str) -> Case | None:
        for case in self._cases.values():
            if case.asker == asker and case.asked_as == asked_as:
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
            question = Question.model_validate(record["question"])
            asked_as = QuestionId(record["asked_as"])
            case = Case(question, record["asker"], asked_as, (record["ask"],))
            self._cases[question.id] = case
            self._asks.add(record["ask"])
            return
        case = self._cases[record["id"]]
        self._cases[record["id"]] = _after(case, record)
        if record["type"] == "asked_again":
            self._asks.add(record["ask"])


def _after(case: Case, record: JsonObject) -> Case:
    """Return the case as it is after one more record."""
    match record["type"]:
        case "asked_again":
            return replace(case, asks=(*case.asks, record["ask"]))
        case "delivered":
            return replace(case, delivered=case.delivered | {record["ask"]})
        case "withdrawn":
            return replace(case, question=_with(case.question, status="withdrawn"))
        case "answered":
            answered = _with(
                case.question,
                status="answered",
                answer=record["answer"],
                answered_by=record["by"],
                answered_at=record["at"],
            )
            return replace(case, question=answered)
        case other:
            raise ValueError(f"unknown record '{other}'")


def _with(question: Question, **changes: Any) -> Question:
    return question.model_copy(update=changes)


def question_view(question: Question, agent_name: str = "") -> QuestionView:
    """Return a question as the API shows it."""
    return QuestionView(
        id=question.id,
        agent=question.agent,
        agent_name=agent_name,
        sender=question.from_id,
        question=question.question,
        channel=question.channel,
        asked_at=question.asked_at,
        status=question.status,
        answer=question.answer,
        answered_by=question.answered_by,
        answered_at=question.answered_at,
    )
