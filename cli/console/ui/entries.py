"""Entries: what happened in a team as the things that its conversation shows. Pure.

Two logs feed them: the events (thoughts, tool calls, nodes, questions, processes) and the message
log of the run (every text, whole). Both name each thing by a key that is the same however often it
is read, so that a console that reads on after a restart shows nothing twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from agiraph.core.event_types import Tone
from agiraph.core.ids import HUMAN_NAME
from agiraph.core.naming import short_name
from agiraph.http.api import EventView, MessageView
from cli.console.event_text import (
    arguments_in_lines,
    line_of,
    text_of,
)
from cli.sanitize import one_line, printable

Kind = Literal["text", "question", "answer", "thought", "tool", "notice", "retry", "result"]
Outcome = Literal["running", "done", "failed", "none"]

TITLE_LIMIT: Final = 240
BODY_LIMIT: Final = 20_000

# Their effect is an entry of its own: a message, a question, an answer.
QUIET_TOOLS: Final = frozenset({"send_message", "ask_human", "check_messages"})
OF_MESSAGES: Final = frozenset({"message.sent", "message.received", "human.nudge"})
NEVER_SHOWN: Final = OF_MESSAGES | {"agent.created"}  # the head of the screen has the goal


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing to show. `at` and `rank` order entries; `about` are the names it concerns.

    `title` is one line; `body` may be long, in Markdown if `is_markdown`, and is folded for a tool
    call. `seq` is its place in its log (`log`: the events, or the messages). `also` are the keys of
    entries that were joined to it. An answer that a coordinator passes on has the key of the
    message that it becomes.
    """

    key: str
    at: float
    rank: int
    kind: Kind
    who: str
    to: tuple[str, ...] = ()
    title: str = ""
    body: str = ""
    tone: Tone = "plain"
    about: frozenset[str] = frozenset()
    is_markdown: bool = False
    outcome: Outcome = "none"
    ended_at: float | None = None
    log: Literal["events", "messages", "own"] = "events"
    seq: int = 0
    also: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[float, int]:
        """Return what entries are sorted by."""
        return self.at, self.rank

    @property
    def is_foldable(self) -> bool:
        """Whether its body is shown only when it is opened."""
        return self.kind == "tool" and bool(self.body)

    def concerns(self, names: frozenset[str]) -> bool:
        """Whether one of `names` (in small letters) has to do with it."""
        return bool(self.about & names)


def of_events(events: Iterable[EventView], run: str | None) -> list[TimelineEntry]:
    """Return the entries of events; those that need no line of their own are left out.

    Texts of `run` come from its message log; those of older runs from their events, shortened.
    """
    found = (_of_event(event, run) for event in events)
    return [entry for entry in found if entry is not None]


def of_messages(messages: Iterable[MessageView]) -> list[TimelineEntry]:
    """Return the entries of a run's message log."""
    return [
        TimelineEntry(
            key=_message_key(message.copy_of or message.id),
            at=message.ts,
            rank=message.seq,
            kind="text",
            who=_name(message.sender),
            to=(_name(message.to),),
            body=_text(message.content),
            tone="voice",
            about=_about(message.sender, message.to),
            is_markdown=True,
            log="messages",
            seq=message.seq,
        )
        for message in messages
    ]


def _of_event(event: EventView, run: str | None) -> TimelineEntry | None:
    line = line_of(event)
    match event.type:
        case "tool.called" | "tool.result":
            return _tool(event, line.who)
        case "model.answered":
            return _thought(event, line.who)
        case "human.question":
            return _asked(event, line.who)
        case "human.response":
            return _answered(event)
        case "message.sent" | "human.nudge" if event.run_id not in (None, run):
            return _older_text(event)
        case "agent.completed" | "agent.failed":
            return _base(event, line.who, "result", title=event.text, tone=event.tone,
                         body=_text(text_of(event.data, event.detail)),
                         is_markdown=event.type == "agent.completed")  # fmt: skip
        case kind if event.audience == "log" or kind in NEVER_SHOWN:
            return None
        case kind:
            title = one_line(line.text, TITLE_LIMIT)
            kind_shown: Kind = "retry" if kind == "model.retry" else "notice"
            return _base(event, line.who, kind_shown, title=title, tone=line.tone)


def _base(event: EventView, who: str, kind: Kind, **facts: Any) -> TimelineEntry:
    base: dict[str, Any] = {
        "key": f"e:{event.seq}",
        "at": event.ts,
        "rank": event.seq,
        "about": _about(who, event.entity, text_of(event.data, "worker", "name")),
        "seq": event.seq,
    }
    return TimelineEntry(kind=kind, who=who, **(base | facts))


def _tool(event: EventView, who: str) -> TimelineEntry | None:
    """Return a call as an entry, or its end as one with the same key, to be joined to it."""
    tool = one_line(text_of(event.data, "tool", "name"))
    is_over, failed = event.type == "tool.result", bool(event.data.get("is_error"))
    if tool in QUIET_TOOLS and not failed:
        return None
    parts = event.key.split(":", 2)
    call = f"t:{event.entity}:{parts[2]}" if len(parts) == 3 else f"e:{event.seq}"
    if not is_over:
        body = _text(arguments_in_lines(event.data.get("arguments")))
        return _base(event, who, "tool", key=call, title=one_line(event.text, TITLE_LIMIT),
                     body=body, tone="quiet", outcome="running")  # fmt: skip
    return _base(event, who, "tool", key=call, title=tool, body=_result(event),
                 tone="bad" if failed else "quiet", ended_at=event.ts,
                 outcome="failed" if failed else "done")  # fmt: skip


def _result(event: EventView) -> str:
    preview = text_of(event.data, "content", "result", "preview", "error")
    total = event.data.get("characters")
    more = isinstance(total, int) and total > len(preview)
    return _text(f"{preview}\n… ({total:,} characters in all)" if more else preview)


def _thought(event: EventView, who: str) -> TimelineEntry | None:
    text = _text(text_of(event.data, "text"))
    if not text.strip():
        return None
    message = text_of(event.data, "message")
    key = _message_key(message) if message else f"e:{event.seq}"
    return _base(event, who, "thought", key=key, body=text, is_markdown=True)


def _asked(event: EventView, who: str) -> TimelineEntry:
    asker = text_of(event.data, "from") or who
    return _base(event, _name(asker), "question", to=(HUMAN_NAME,), tone="ask",
                 body=_text(text_of(event.data, "question")), is_markdown=True,
                 about=_about(asker, event.entity, HUMAN_NAME))  # fmt: skip


def _answered(event: EventView) -> TimelineEntry:
    to = text_of(event.data, "to").rpartition("/")[2] or text_of(event.data, "asker")
    by = text_of(event.data, "by") or HUMAN_NAME
    return _base(event, _name(by), "answer", to=(_name(to),) if to else (), tone="voice",
                 body=_text(text_of(event.data, "answer")), is_markdown=True,
                 about=_about(by, to, HUMAN_NAME))  # fmt: skip


def _older_text(event: EventView) -> TimelineEntry:
    sender, to = text_of(event.data, "from"), text_of(event.data, "to")
    message = text_of(event.data, "copy_of", "id")
    return _base(event, _name(sender), "text", key=_message_key(message), to=(_name(to),),
                 tone="voice",
                 body=_text(text_of(event.data, "content")), is_markdown=True,
                 about=_about(sender, to))  # fmt: skip


def _message_key(id: str) -> str:
    return f"m:{id}"


def _about(*named: str) -> frozenset[str]:
    """Return the names that something concerns, each with and without its number."""
    names = {name.rpartition("/")[2].casefold() for name in named if name}
    return frozenset(names | {_name(name).casefold() for name in names})


def _name(named: str) -> str:
    return one_line(short_name(named.rpartition("/")[2]), 40)


def _text(text: str) -> str:
    clean = printable(text).expandtabs(4)
    if len(clean) <= BODY_LIMIT:
        return clean
    return f"{clean[:BODY_LIMIT]}\n… ({len(clean):,} characters in all)"
