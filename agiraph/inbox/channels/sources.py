"""Sources of notices: messages, questions and failures, and events that end a run. Pure."""

from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import Agent, Event, Question
from agiraph.http.api import ConversationMessageView
from agiraph.logs.event_filter import EventFilter
from agiraph.logs.event_text import detail_of, sentence_of
from agiraph.notifications.notice import Notice

ENDS = EventFilter(frozenset({"agent.completed", "agent.failed", "model.failed"}))
OUT_OF_BUDGET = "out_of_budget"
EVENT_KINDS = frozenset({"finished", "failed", OUT_OF_BUDGET})


def notice_of_message(
    message: ConversationMessageView, agent_name: str, question: Question | None
) -> Notice | None:
    """Return the notice of a message, None if it is not for the person."""
    if message.to != HUMAN_NAME:
        return None
    if message.kind == "question":
        return None if question is None else _of_question(question, agent_name)
    if message.kind not in ("text", "notice") or message.question_id is not None:
        return None
    is_failure = message.kind == "notice"
    return Notice(
        id=f"message:{message.id}",
        kind="failed" if is_failure else "messages",
        agent=message.agent,
        agent_name=agent_name,
        sender=message.sender,
        text=message.content,
        ts=message.ts,
        is_urgent=is_failure,
    )


def _of_question(question: Question, agent_name: str) -> Notice:
    shown = {
        "id": f"question:{question.agent}:{question.id}",
        "kind": "approvals" if question.kind == "approval" else "questions",
        "agent_name": agent_name,
        "sender": question.from_id,
        "text": question.question,
        "ts": question.asked_at,
        "is_urgent": question.urgency == "urgent",
        "question_id": question.id,
    }
    return Notice.model_validate(dict(question) | shown)


def notice_of_event(event: Event, agent: Agent) -> Notice | None:
    """Return the notice of an event, None if the person is not notified of it.

    A coordinator that was given up already has a message; its `agent.failed` has the address. Of
    the calls that were refused because the budget is spent, only the first of a run has a notice.
    """
    match event.type:
        case "agent.completed":
            kind = "finished"
        case "agent.failed" if not event.data.get("address"):
            kind = "failed"
        case "model.failed" if event.data.get("kind") == OUT_OF_BUDGET:
            kind = OUT_OF_BUDGET
        case _:
            return None
    detail = detail_of(event)
    once = event.run_id if kind == OUT_OF_BUDGET else event.seq
    return Notice.model_validate(
        {
            "id": f"{kind}:{agent.id}:{once}",
            "kind": kind,
            "agent": agent.id,
            "agent_name": agent.name,
            "sender": "coordinator",
            "text": event.data[detail] if detail else sentence_of(event),
            "ts": event.ts,
            "is_urgent": kind != "finished",
        }
    )
