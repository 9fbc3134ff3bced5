"""A notice in plain words: a title of one line, and a body for mails and chats. Pure."""

from agiraph.core.clock import iso
from agiraph.core.ids import abbreviated
from agiraph.notifications.notice import Notice, cut

TITLES = {
    "questions": "{sender} asks",
    "approvals": "{sender} asks for your approval",
    "finished": "finished",
    "failed": "failed",
    "out_of_budget": "is out of budget",
    "messages": "{sender} writes",
}
TITLE_LIMIT = 120


def title_of(notice: Notice) -> str:
    """Return one line: which agent, who, what."""
    what = TITLES[notice.kind].format(sender=notice.sender)
    urgent = "urgent: " if notice.is_urgent and notice.question_id else ""
    return cut(" ".join(f"{notice.agent_name}: {urgent}{what}".split()), TITLE_LIMIT)


def body_of(notice: Notice, link: str | None) -> str:
    """Return the text, with what can be answered, until when, and where."""
    lines = [cut(notice.text)]
    if notice.options:
        lines += ["", "Answers: " + " | ".join(notice.options)]
    if notice.deadline_at is not None:
        otherwise = f", else: {notice.default}" if notice.default else ""
        lines += ["", f"Wanted by {iso(notice.deadline_at)}{otherwise}"]
    if link:
        lines += ["", f"Answer here: {link}"]
    if notice.question_id:
        lines += ["", f"Or: agiraph respond {abbreviated(notice.question_id)} 'YOUR ANSWER'"]
    return "\n".join(lines)
