"""QuestionRecord: one question to the human, its outcome, and the pending deliveries of that.

It is the fold of records; `agiraph.inbox.questions` lists their types. Its outcome, as shown in the
conversation and the events, is derived from it.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from agiraph.core.clock import iso
from agiraph.core.ids import HUMAN_NAME, QuestionId
from agiraph.core.models import Question
from agiraph.http.api import QuestionView
from agiraph.inbox.message_history import MessageHistory
from agiraph.tools.approvals.wording import ALLOW_ALWAYS

EVENTS = {
    "answered": "human.response",
    "expired": "human.expired",
    "withdrawn": "human.withdrawn",
}
MACHINERY = "gateway"
BY_APPROVAL = "standing approval"

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question. `asked_as` is the id its asker gave it, `asks` the messages that asked it.

    `question.id` differs from `asked_as` only if another asker used the same id before. `askers`
    has the sender of each asking message that is not from `asker`. `answered_as` is the cause of
    the call that answered it.
    """

    question: Question
    asker: str
    asked_as: QuestionId
    asks: tuple[str, ...]
    delivered: frozenset[str] = frozenset()
    is_shared: bool = False
    askers: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    is_revoked: bool = False
    answered_as: str = ""

    @property
    def undelivered(self) -> tuple[str, ...]:
        """The asking messages whose senders have not received the outcome yet."""
        if self.question.status == "open":
            return ()
        return tuple(ask for ask in self.asks if ask not in self.delivered)

    @property
    def was_given(self) -> bool:
        """Whether the question is an approval that was answered "allow always"."""
        question = self.question
        is_given = question.status == "answered" and question.answer == ALLOW_ALWAYS
        covers = question.about is not None and bool(question.about.remember)
        return question.kind == "approval" and is_given and covers

    @property
    def stands(self) -> bool:
        """Whether the question is an approval that allows later actions, and is not revoked."""
        return self.was_given and not self.is_revoked

    @property
    def is_live(self) -> bool:
        """Whether the question may still have an effect: open, in force, or not delivered."""
        return self.question.status == "open" or self.stands or bool(self.undelivered)

    def asker_of(self, ask: str) -> str:
        """Return the address of the sender of this asking message."""
        return self.askers.get(ask, self.asker)


def first_record(record: JsonObject) -> QuestionRecord:
    """Return the question that a record `asked` creates."""
    return QuestionRecord(
        question=Question.model_validate(record["question"]),
        asker=record["asker"],
        asked_as=QuestionId(record["asked_as"]),
        asks=(record["ask"],),
        is_shared=record.get("shared", False),
    )


def record_after(case: QuestionRecord, record: JsonObject) -> QuestionRecord:
    """Return a question after one more record."""
    match record["type"]:
        case "asked_again":
            asker = record.get("asker", case.asker)
            askers = case.askers | ({record["ask"]: asker} if asker != case.asker else {})
            return replace(case, asks=(*case.asks, record["ask"]), askers=askers)
        case "delivered":
            return replace(case, delivered=case.delivered | {record["ask"]})
        case "withdrawn":
            delivered = case.asks if record.get("silent", True) else ()
            withdrawn = _with(case.question, status="withdrawn", answered_at=record.get("at"))
            return replace(
                case,
                question=withdrawn,
                delivered=case.delivered | set(delivered),
                reason=record.get("reason", ""),
            )
        case "revoked":
            return replace(case, is_revoked=True)
        case "expired":
            return replace(case, question=_with(case.question, status="expired"))
        case "answered":
            answered = _with(
                case.question,
                status="answered",
                answer=record["answer"],
                answered_by=record["by"],
                answered_at=record["at"],
                answered_via=record.get("via"),
            )
            return replace(case, question=answered, answered_as=record.get("cause", ""))
        case other:
            raise ValueError(f"unknown record '{other}'")


def question_view(question: Question, agent_name: str = "") -> QuestionView:
    """Return a question as the API shows it."""
    shown = question.model_dump(exclude={"from_id"})
    about = question.about
    more = {
        "agent_name": agent_name,
        "from": question.from_id,
        "choices": [
            {"key": str(number), "answer": option}
            for number, option in enumerate(question.options, start=1)
        ],
        "command": about.subject if about and about.tool == "bash" else None,
        "diff": (about.diff or None) if about else None,
    }
    return QuestionView.model_validate(shown | more)


def _with(question: Question, **changes: Any) -> Question:
    return question.model_copy(update=changes)


def write_outcome(thread: MessageHistory, question: Question, reason: str = "") -> None:
    """Write the outcome of a question into the conversation, once.

    A question that a standing approval answered was never shown, so its answer is not shown either.
    """
    if (question.answered_by or "").startswith(BY_APPROVAL):
        return
    is_answer = question.status == "answered"
    thread.add(
        id=f"{'answer' if is_answer else question.status}:{question.id}",
        agent=question.agent,
        sender=HUMAN_NAME if is_answer else MACHINERY,
        to=question.from_id if is_answer else HUMAN_NAME,
        content=(question.answer or "") if is_answer else _notice(question, reason),
        ts=(question.deadline_at if question.status == "expired" else question.answered_at) or 0.0,
        kind="answer" if is_answer else "notice",
        question_id=question.id,
    )


def outcome_event(question: Question, reason: str = "") -> tuple[str, dict[str, Any]]:
    """Return type and data of the event that reports a question's outcome.

    `reason` is for a withdrawn question.
    """
    data = {
        "question_id": question.id,
        "question": question.question,
        "kind": question.kind,
        "to": question.from_id,
    }
    match question.status:
        case "answered":
            more = {"answer": question.answer, "by": question.answered_by}
            more |= {"via": question.answered_via}
        case "expired":
            more = {"default": question.default, "deadline_at": str(question.deadline_at)}
        case _:
            more = {"reason": reason}
    return EVENTS[question.status], data | more


def _notice(question: Question, reason: str) -> str:
    asked = f"{question.from_id}'s question ({question.question[:200]})"
    if question.status == "expired":
        holds = "" if question.default is None else f"; the default applies: {question.default}"
        when = iso(question.deadline_at or 0.0)
        return f"nobody answered {asked} by {when}{holds}"
    return f"{asked} was withdrawn" + (f": {reason}" if reason else "")
