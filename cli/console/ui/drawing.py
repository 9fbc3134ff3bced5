"""Drawing: entries as lines of the terminal, wrapped to a width. Pure, but for Rich's console."""

import time
from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from agiraph.core.ids import HUMAN_NAME
from cli.console.ui.entries import TimelineEntry
from cli.console.ui.members import age
from cli.console.ui.theme import BOLD, QUIET, TONES, voice

MARK: Final = "▌"
OUTCOMES: Final = {"running": "…", "done": "✓", "failed": "✗", "none": ""}
OPENED_LIMIT: Final = 400
NAME_LIMIT: Final = 5


def strips_of(
    entry: TimelineEntry, width: int, console: Console, *, is_open: bool, is_marked: bool
) -> list[Strip]:
    """Return the lines of an entry, each `width` cells wide."""
    lead = Strip([Segment(MARK if is_marked else " ", TONES["ask"])])
    drawn = _strips(drawing_of(entry, width - 1, is_open=is_open), width - 1, console)
    return [Strip.join([lead, strip]) for strip in drawn]


def strips_of_stream(name: str, text: str, width: int, console: Console) -> list[Strip]:
    """Return the lines of what is being said right now."""
    head = Text.assemble((name, voice(name)), ("  is writing…", QUIET))
    body = Padding(Text(text.rstrip() or "…"), (0, 0, 0, 2))
    lead = Strip([Segment(" ", QUIET)])
    drawn = _strips(Group(head, body), width - 1, console)
    return [Strip.join([lead, strip]) for strip in drawn]


def strips_of_page(text: str, width: int, console: Console, *, is_markdown: bool) -> list[Strip]:
    """Return the lines of a file."""
    drawing = _markdown(text) if is_markdown else Text(text)
    return _strips(drawing, width, console)


def drawing_of(entry: TimelineEntry, width: int, *, is_open: bool) -> RenderableType:
    """Return what Rich draws for an entry."""
    match entry.kind:
        case "tool":
            return _tool(entry, width, is_open=is_open)
        case "notice":
            return Text.assemble(
                ("· ", QUIET), (f"{entry.who} ", voice(entry.who)), (entry.title, TONES[entry.tone])
            )
        case _:
            body = _markdown(entry.body) if entry.is_markdown else Text(entry.body)
            parts: list[RenderableType] = [_head(entry, width)]
            if entry.body.strip():
                parts.append(Padding(body, (0, 0, 0, 2)))
            return Group(*parts, Text(""))


def _head(entry: TimelineEntry, width: int) -> Text:
    to = ", ".join(entry.to[:NAME_LIMIT])
    if len(entry.to) > NAME_LIMIT:
        to += f" and {len(entry.to) - NAME_LIMIT} more"
    who = "you" if entry.who == HUMAN_NAME else entry.who
    told = {"question": f"? {who} asks you", "result": f"✓ {who}: {entry.title}"}.get(entry.kind)
    style = TONES["ask"] if entry.kind == "question" else voice(entry.who)
    head = Text.assemble((told or who, style))
    if to and entry.kind in ("text", "answer"):
        head.append(" → ", QUIET)
        head.append("you" if to == HUMAN_NAME else to, voice(entry.to[0]))
    if entry.kind == "answer":
        head.append("  (answer)", QUIET)
    when = entry.title if entry.kind == "text" and entry.title else _clock(entry.at)
    return _with_right(head, when, width)


def _tool(entry: TimelineEntry, width: int, *, is_open: bool) -> RenderableType:
    sign = ("▾ " if is_open else "▸ ") if entry.is_foldable else "  "
    head = Text.assemble((sign, QUIET), (f"{entry.who} ", voice(entry.who)))
    name, _, about = entry.title.partition(" ")
    head.append(name, BOLD)
    head.append(f" {about}", TONES[entry.tone])
    took = age(entry.ended_at - entry.at) if entry.ended_at and entry.ended_at > entry.at else ""
    right = f"{took} {OUTCOMES[entry.outcome]}".strip()
    line = _with_right(head, right, width, TONES["bad" if entry.outcome == "failed" else "quiet"])
    if not is_open:
        return line
    lines = entry.body.split("\n")
    shown = "\n".join(lines[:OPENED_LIMIT])
    more = f"\n… ({len(lines) - OPENED_LIMIT} lines more)" if len(lines) > OPENED_LIMIT else ""
    return Group(line, Padding(Text(shown + more, style=QUIET), (0, 0, 0, 4)))


def _with_right(left: Text, right: str, width: int, style: Style = QUIET) -> Text:
    """Return one line: `left`, cut if need be, and `right` at the right border."""
    room = max(1, width - len(right) - 1)
    left.no_wrap = True
    left.truncate(room, overflow="ellipsis", pad=True)
    left.append(f" {right}", style)
    left.truncate(width, overflow="crop")
    return left


def _markdown(text: str) -> Markdown:
    # No hyperlinks: where a link leads must be readable, and the terminal is told nothing else.
    return Markdown(text, code_theme="ansi_dark", hyperlinks=False)


def _clock(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


def _strips(drawing: RenderableType, width: int, console: Console) -> list[Strip]:
    options: ConsoleOptions = console.options.update(width=max(4, width), height=None)
    lines = console.render_lines(drawing, options, pad=True)
    return [Strip(line, max(4, width)) for line in lines]


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, side by side."""
    return "  ".join(part for part in parts if part)
