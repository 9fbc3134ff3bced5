"""Notice: one thing that the person is told, and which channels it is for. Pure."""

from agiraph.core.channel_settings import ChannelConfig, NoticeKind
from agiraph.core.record import Record

MOST_CHARACTERS = 4000


class Notice(Record):
    """Something to tell. `id` follows from its cause: the same cause, the same notice.

    `options`, `deadline_at` and `default` are those of the question it is about, if it is.
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
    options: tuple[str, ...] = ()
    deadline_at: float | None = None
    default: str | None = None


def wants(settings: ChannelConfig, notice: Notice) -> bool:
    """Whether a channel takes a notice: of a kind that it names, and urgent if it says so."""
    return notice.kind in settings.notices and (notice.is_urgent or not settings.urgent_only)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return text of at most so many characters; what is left out is told."""
    if len(text) <= most:
        return text
    tail = f"... ({len(text)} characters in all)"
    return text[: most - len(tail)] + tail
