"""Drawing: entries as lines of the terminal, wrapped to a width. Pure, except for Rich's
console.
"""

import time
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from agiraph.core.ids import HUMAN_NAME
from cli.console.ui.entries import TimelineEntry
from cli.console.ui.theme import BOLD, QUIET, TONES, voice
from cli.output.formats import format_age

MARK: Final = "▌"
OUTCOMES: Final = {"running": "…", "done": "✓", "failed": "✗", "none": ""}
OPENED_LIMIT: Final = 400
NAME_LIMIT: Final = 5


def strips_of(
    entry: TimelineEntry, width: int, console: Console, *, is_open: bool, is_marked: bool
) -> list[Strip]:
    """Return the lines of an entry, each `width` cells wide."""
    drawing = _drawing_of(entry, width - 1, is_open=is_open)
    return _with_lead(drawing, MARK if is_marked else " ", width, console)


def strips_of_stream(name: str, text: str, width: int, console: Console) -> list[Strip]:
    """Return the lines for a text that the entity `name` is writing."""
    head = Text.assemble((name, voice(name)), ("  is writing…", QUIET))
    body = Padding(Text(text.rstrip() or "…"), (0, 0, 0, 2))
    return _with_lead(Group(head, body), " ", width, console)


def markdown(text: str) -> Markdown:
    """Return rendered Markdown without hyperlinks, so that a link's target is readable."""
    return Markdown(text, code_theme="ansi_dark", hyperlinks=False)


def sided(left: Text, right: str, width: int, style: Style = QUIET) -> Text:
    """Return one line of exactly `width` cells: `left`, cut if necessary, then `right`."""
    room = width - len(right) - (1 if right else 0)
    left.no_wrap = True
    left.truncate(max(1, room), overflow="ellipsis", pad=True)
    if right:
        left.append(f" {right}", style)
    left.truncate(width, overflow="crop")
    return left


def _with_lead(drawing: RenderableType, lead: str, width: int, console: Console) -> list[Strip]:
    room = max(4, width - 1)
    options = console.options.update(width=room, height=None)
    before = Strip([Segment(lead, TONES["ask"])])
    lines = console.render_lines(drawing, options, pad=True)
    return [Strip.join([before, Strip(line, room)]) for line in lines]


def _drawing_of(entry: TimelineEntry, width: int, *, is_open: bool) -> RenderableType:
    if entry.kind == "tool":
        return _tool(entry, width, is_open=is_open)
    if entry.kind == "notice":
        who = (f"{entry.who} ", voice(entry.who))
        return Text.assemble(("· ", QUIET), who, (entry.title, TONES[entry.tone]))
    body = markdown(entry.body) if entry.is_markdown else Text(entry.body)
    parts: list[RenderableType] = [_head(entry, width)]
    if entry.body.strip():
        parts.append(Padding(body, (0, 0, 0, 2)))
    return Group(*parts, Text(""))


def _head(entry: TimelineEntry, width: int) -> Text:
    sign = "✗" if entry.tone == "bad" else "✓"
    who = "you" if entry.who == HUMAN_NAME else entry.who
    labels = {"question": f"? {who} asks you", "result": f"{sign} {who}: {entry.title}"}
    label = labels.get(entry.kind)
    style = TONES[entry.tone] if entry.kind in ("question", "result") else voice(entry.who)
    head = Text.assemble((label or who, style))
    if entry.to and entry.kind in ("text", "answer"):
        to = ", ".join("you" if name == HUMAN_NAME else name for name in entry.to[:NAME_LIMIT])
        more = len(entry.to) - NAME_LIMIT
        head.append(" → ", QUIET)
        head.append(to + (f" and {more} more" if more > 0 else ""), voice(entry.to[0]))
    if entry.kind == "answer":
        head.append("  (answer)", QUIET)
    when = time.strftime("%H:%M", time.localtime(entry.at))
    return sided(head, entry.title if entry.kind == "text" and entry.title else when, width)


def _tool(entry: TimelineEntry, width: int, *, is_open: bool) -> RenderableType:
    sign = ("▾ " if is_open else "▸ ") if entry.is_foldable else "  "
    head = Text.assemble((sign, QUIET), (f"{entry.who} ", voice(entry.who)))
    name, _, about = entry.title.partition(" ")
    head.append(name, BOLD)
    head.append(f" {about}", TONES[entry.tone])
    took = ""
    if entry.ended_at and entry.ended_at > entry.at:
        took = format_age(entry.ended_at - entry.at)
    right = f"{took} {OUTCOMES[entry.outcome]}".strip()
    line = sided(head, right, width, TONES["bad" if entry.outcome == "failed" else "quiet"])
    if not is_open:
        return line
    lines = entry.body.split("\n")
    shown = "\n".join(lines[:OPENED_LIMIT])
    more = f"\n… ({len(lines) - OPENED_LIMIT} lines more)" if len(lines) > OPENED_LIMIT else ""
    return Group(line, Padding(Text(shown + more, style=QUIET), (0, 0, 0, 4)))
