"""The outcome of a question, as the conversation and the events show it."""

from typing import Any

from actors.gateway.state.message_history import MessageHistory
from agiraph.core.clock import iso
from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import Question

EVENTS = {
    "answered": "human.response",
    "expired": "human.expired",
    "withdrawn": "human.withdrawn",
}
MACHINERY = "gateway"
BY_APPROVAL = "standing approval"


def write_outcome(thread: MessageHistory, question: Question, reason: str = "") -> None:
    """Write the outcome of a question into the conversation, once.

    A question that a standing approval answered was never shown, and its answer is not either.
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
    """Return the type and the data of the event that reports it."""
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
        holds = "" if question.default is None else f"; the default holds: {question.default}"
        when = iso(question.deadline_at or 0.0)
        return f"nobody answered {asked} by {when}{holds}"
    return f"{asked} was withdrawn" + (f": {reason}" if reason else "")
