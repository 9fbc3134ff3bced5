"""The conversation: entries with folded tool calls, the streaming text, a mark to open at."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cli.console.ui.drawing import strips_of, strips_of_stream
from cli.console.ui.entries import TimelineEntry
from cli.console.ui.state import ConsoleState

Drawn = tuple[TimelineEntry, bool, bool, list[Strip]]


class TalkPanel(ScrollView, can_focus=True):
    """Draws each entry once for a width, and again only when it has changed.

    `follows` says whether the view is at the end, and stays there when more arrives.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "mark(-1)", "previous", show=False),
        Binding("down,j", "mark(1)", "next", show=False),
        Binding("enter,space", "open", "open"),
        Binding("home,g", "oldest", "older", show=False),
        Binding("end,G", "newest", "newest", show=False),
    ]

    @dataclass
    class Opened(Message):
        """The person opened or folded an entry."""

        key: str

    class OlderWanted(Message):
        """The person has scrolled to the beginning of the loaded entries."""

    class NewestWanted(Message):
        """The person requested the end of the conversation."""

    def __init__(self, state: ConsoleState, *, id: str) -> None:
        super().__init__(id=id)
        self._state = state
        self._selected: str | None = None
        self._first: int | None = None
        self._entries: list[TimelineEntry] = []
        self._lines: Sequence[Strip] = ()
        self._starts: list[int] = []
        self._drawn: dict[str, Drawn] = {}
        self._drawn_width = 0
        self._marked: str | None = None
        self._is_moving = False
        self.follows = True

    def show(self) -> None:
        """Show the selected conversation of the state."""
        is_other = self._selected != self._state.selected
        self._selected = self._state.selected
        if is_other:
            self._marked = None
        entries = self._state.timeline.entries
        first = entries[0].seq if entries else None
        has_older = first is not None and self._first is not None and first < self._first
        self._first = first
        is_older = has_older and not is_other
        self._layout(to_end=is_other or (self.follows and not is_older), keep_from_end=is_older)

    def _layout(self, *, to_end: bool, keep_from_end: bool = False) -> None:
        width = self.scrollable_content_region.width
        if self._selected is None or width < 8:
            return
        if width != self._drawn_width:
            self._drawn, self._drawn_width = {}, width
        self._entries = self._state.shown
        self._drawn = {entry.key: self._draw(entry, width) for entry in self._entries}
        drawn = [self._drawn[entry.key][3] for entry in self._entries]
        self._starts = [0, *accumulate(map(len, drawn))][: len(drawn)]
        lines = [strip for strips in drawn for strip in strips]
        for name, text in self._state.streaming:
            lines += strips_of_stream(name, text, width, self.app.console)
        self._set_lines(lines, to_end=to_end, keep_from_end=keep_from_end)

    def _draw(self, entry: TimelineEntry, width: int) -> Drawn:
        is_open, is_marked = entry.key in self._state.opened, entry.key == self._marked
        known = self._drawn.get(entry.key)
        if known is not None and known[0] is entry and known[1:3] == (is_open, is_marked):
            return known
        console = self.app.console
        strips = strips_of(entry, width, console, is_open=is_open, is_marked=is_marked)
        return entry, is_open, is_marked, strips

    def on_resize(self, event: events.Resize) -> None:
        """Wrap lines to the new width; a view that follows stays at the end."""
        self._layout(to_end=self.follows)
        if self.follows:
            self.call_after_refresh(self._to_end)

    # --- lines and scrolling ---

    def _set_lines(self, lines: Sequence[Strip], *, to_end: bool, keep_from_end: bool) -> None:
        """Replace the lines; show their end, or keep the position (or its distance to the end)."""
        from_end = self.virtual_size.height - self.scroll_offset.y
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        if to_end:
            self._to_end()
        elif keep_from_end:
            self._move_to(max(0, len(lines) - from_end))
        self.refresh()

    def _to_end(self) -> None:
        self._move_to(len(self._lines))
        self.follows = True

    def _move_to(self, line: int) -> None:
        self._is_moving = True
        self.scroll_to(y=line, animate=False, force=True)  # also before there is a scrollbar
        self._is_moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Record whether the view is at the end; request older entries at the beginning."""
        super().watch_scroll_y(old_value, new_value)
        if not self._is_moving:
            self.follows = new_value >= self.max_scroll_y - 1
        if new_value < old_value:
            self._want_older()

    def render_line(self, y: int) -> Strip:
        """Return one visible line."""
        place, width = y + self.scroll_offset.y, self.size.width
        if not 0 <= place < len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[place].crop_extend(0, width, self.rich_style)
        return line.apply_style(self.rich_style)

    # --- the mark ---

    def action_mark(self, by: int) -> None:
        """Move the mark to the next or previous entry that can be opened, else scroll."""
        places = [n for n, entry in enumerate(self._entries) if entry.is_foldable]
        if not places:
            self.scroll_relative(y=by, animate=False)
            return
        at = next((n for n in places if self._entries[n].key == self._marked), None)
        if at is None:
            bottom = self.scroll_offset.y + self.size.height
            self._mark(max((n for n in places if self._starts[n] < bottom), default=places[-1]))
            return
        wanted = [n for n in places if (n > at if by > 0 else n < at)]
        if wanted:
            self._mark(wanted[0] if by > 0 else wanted[-1])
        else:
            self.scroll_relative(y=by * 3, animate=False)
            self._want_older()

    def _mark(self, place: int) -> None:
        self._marked = self._entries[place].key
        self._layout(to_end=False)
        start = self._starts[place]
        top, height = self.scroll_offset.y, self.size.height
        if not top <= start < top + height - 1:
            self.scroll_to(y=max(0, start - height // 2), animate=False)

    def action_open(self) -> None:
        """Open or fold the marked entry."""
        if self._marked is not None:
            self.post_message(self.Opened(self._marked))
        else:
            self.action_mark(-1)

    def action_oldest(self) -> None:
        """Go to the beginning of the loaded entries, and request older ones."""
        self.scroll_home(animate=False)
        self.post_message(self.OlderWanted())

    def action_newest(self) -> None:
        """Go to the end of the conversation."""
        self._marked = None
        self.post_message(self.NewestWanted())
        self._layout(to_end=True)

    def on_click(self, event: events.Click) -> None:
        """Open or fold the entry that was clicked on."""
        place = bisect_right(self._starts, event.y + self.scroll_offset.y) - 1
        if 0 <= place < len(self._entries) and self._entries[place].is_foldable:
            self._marked = self._entries[place].key
            self.post_message(self.Opened(self._marked))

    def _want_older(self) -> None:
        if self.scroll_offset.y == 0 and self._entries:
            self.post_message(self.OlderWanted())
