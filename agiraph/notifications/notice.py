"""Notice: one notification of the person, the channels that want it, and its text. Pure."""

from agiraph.core.clock import iso
from agiraph.core.ids import abbreviated
from agiraph.core.naming import cut, with_unseen_shown
from agiraph.core.record import Record
from agiraph.settings.channels import ChannelConfig, NoticeKind

MOST_CHARACTERS = 4000
TITLES = {
    "questions": "{sender} asks",
    "approvals": "{sender} asks for your approval",
    "finished": "finished",
    "failed": "failed",
    "out_of_budget": "is out of budget",
    "messages": "{sender} writes",
}
TITLE_LIMIT = 120


class Notice(Record):
    """One notification. `id` follows from its cause: the same cause, the same notice.

    `channel`, `options`, `deadline_at` and `default` belong to its question, if it has one.
    """

    id: str
    kind: NoticeKind
    agent: str
    agent_name: str
    sender: str
    text: str
    ts: float
    is_urgent: bool = False
    question_id: str | None = None
    channel: str = ""
    options: tuple[str, ...] = ()
    deadline_at: float | None = None
    default: str | None = None


def wants(settings: ChannelConfig, notice: Notice) -> bool:
    """Whether a channel receives a notice: its settings list the kind, and the urgency suffices."""
    return notice.kind in settings.notices and (notice.is_urgent or not settings.urgent_only)


def title_of(notice: Notice) -> str:
    """Return a notice's title in one line: the agent, the sender, the kind."""
    what = TITLES[notice.kind].format(sender=notice.sender)
    urgent = "urgent: " if notice.is_urgent and notice.question_id else ""
    title = with_unseen_shown(" ".join(f"{notice.agent_name}: {urgent}{what}".split()))
    return cut(title, TITLE_LIMIT)


def body_of(notice: Notice, link: str | None, page: str = "") -> str:
    """Return a notice's text with possible answers, deadline, answer link and page."""
    lines = [cut(with_unseen_shown(notice.text), MOST_CHARACTERS)]
    if notice.options:
        lines += ["", with_unseen_shown("Answers: " + " | ".join(notice.options))]
    if notice.deadline_at is not None:
        otherwise = f", else: {notice.default}" if notice.default else ""
        lines += ["", f"Wanted by {iso(notice.deadline_at)}{otherwise}"]
    if link:
        lines += ["", f"Answer here: {link}"]
    if notice.question_id:
        lines += ["", f"Or: agiraph respond {abbreviated(notice.question_id)} 'YOUR ANSWER'"]
    if page:
        lines += ["", f"In the web UI: {page}"]
    return "\n".join(lines)
