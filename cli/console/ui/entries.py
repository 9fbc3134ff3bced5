"""Entries: the thread with an agent as the lines of its conversation. Pure."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from agiraph.core.event_types import Tone
from agiraph.http.api import ThreadCallView, ThreadEntryView
from cli.console.event_text import arguments_in_lines, line_of, text_of
from cli.sanitize import one_line, printable

Kind = Literal["text", "question", "answer", "thought", "tool", "notice", "result"]
Outcome = Literal["running", "done", "failed", "none"]

TITLE_LIMIT: Final = 240
BODY_LIMIT: Final = 20_000

KINDS: Final[dict[str, Kind]] = {
    "message": "text", "nudge": "text", "question": "question", "answer": "answer",
    "said": "thought",
}  # fmt: skip
TONES: Final[dict[str, Tone]] = {"said": "plain", "question": "ask"}


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One entry: `seq` is its position in the thread; `about` are the concerned names.

    `title` is one line; `body` may be long, in Markdown if `is_markdown`, and is folded for a tool
    call.
    """

    key: str
    at: float
    seq: int
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

    @property
    def is_foldable(self) -> bool:
        """Whether the entry's body is shown only when the entry is opened."""
        return self.kind == "tool" and bool(self.body)

    def concerns(self, names: frozenset[str]) -> bool:
        """Whether the entry concerns one of `names` (in lower case)."""
        return bool(self.about & names)


def entry_of(entry: ThreadEntryView) -> TimelineEntry:
    """Return an entry of the thread in its displayed form."""
    if entry.call is not None:
        return _base(entry, "tool", one_line(entry.sender, 40), **_tool(entry.call))
    if (event := entry.event) is None:
        return _base(
            entry,
            KINDS[entry.kind],
            one_line(entry.sender, 40),
            to=tuple(one_line(name, 40) for name in entry.to),
            tone=TONES.get(entry.kind, "voice"),
            body=_text(entry.content),
            is_markdown=True,
        )
    line = line_of(event)
    if event.type in ("agent.completed", "agent.failed"):
        body = _text(text_of(event.data, event.detail))
        is_markdown = event.type == "agent.completed"
        return _base(entry, "result", line.who, title=event.text, tone=event.tone,
                     body=body, is_markdown=is_markdown)  # fmt: skip
    title = one_line(line.text, TITLE_LIMIT)
    return _base(entry, "notice", line.who, title=title, tone=line.tone)


def _base(entry: ThreadEntryView, kind: Kind, who: str, **facts: Any) -> TimelineEntry:
    about = frozenset(entry.about)
    return TimelineEntry(entry.id, entry.ts, entry.seq, kind, who, about=about, **facts)


def _tool(call: ThreadCallView) -> dict[str, Any]:
    total, output = call.characters or 0, call.output
    if total > len(output):
        output = f"{output}\n… ({total:,} characters in all)"
    parts = (_text(call.malformed or arguments_in_lines(call.arguments)), _text(output))
    return {
        "title": one_line(call.title, TITLE_LIMIT),
        "body": "\n\n".join(part for part in parts if part),
        "outcome": call.outcome,
        "tone": "bad" if call.outcome == "failed" else "quiet",
        "ended_at": call.ended_at,
    }


def _text(text: str) -> str:
    clean = printable(text).expandtabs(4)
    if len(clean) <= BODY_LIMIT:
        return clean
    return f"{clean[:BODY_LIMIT]}\n… ({len(clean):,} characters in all)"
