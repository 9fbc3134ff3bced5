"""The conversation: entries with tool calls folded, what is being said now, a mark to open at."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from cli.console.ui.drawing import strips_of, strips_of_stream
from cli.console.ui.entries import TimelineEntry
from cli.console.ui.lines_panel import LinesPanel
from cli.console.ui.view import ConsoleView

Drawn = tuple[TimelineEntry, bool, bool, list[Strip]]


class TalkPanel(LinesPanel):
    """Draws each entry once a width, and again only when it has changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "mark(-1)", "previous", show=False),
        Binding("down,j", "mark(1)", "next", show=False),
        Binding("enter,space", "open", "open", show=False),
        Binding("home,g", "oldest", "older", show=False),
        Binding("end,G", "newest", "newest", show=False),
    ]

    class Opened(Message):
        """The person opened or folded an entry."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class OlderWanted(Message):
        """The person has scrolled to the beginning of what is here."""

    class NewestWanted(Message):
        """The person wants to see the end."""

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(id=id)
        self._view: ConsoleView | None = None
        self._entries: list[TimelineEntry] = []
        self._starts: list[int] = []
        self._drawn: dict[str, Drawn] = {}
        self._drawn_width = 0
        self._marked: str | None = None

    @property
    def marked(self) -> str | None:
        """The key of the entry that stands marked."""
        return self._marked

    def show(self, view: ConsoleView) -> None:
        """Show the selected conversation of a view."""
        before = self._view
        self._view = view
        is_other = before is None or before.selected != view.selected
        if is_other:
            self._marked = None
        older = (
            before is not None
            and not is_other
            and bool(before.timeline.entries)
            and bool(view.timeline.entries)
            and view.timeline.entries[0].order < before.timeline.entries[0].order
        )
        self._layout(to_end=is_other or (self.follows and not older), keep_from_end=older)

    def _layout(self, *, to_end: bool, keep_from_end: bool = False) -> None:
        view = self._view
        width = self.scrollable_content_region.width
        if view is None or width < 8:
            return
        if width != self._drawn_width:
            self._drawn, self._drawn_width = {}, width
        self._entries = view.shown
        drawn: dict[str, Drawn] = {}
        lines: list[Strip] = []
        heights: list[int] = []
        for entry in self._entries:
            done = drawn[entry.key] = self._draw(entry, view, width)
            lines += done[3]
            heights.append(len(done[3]))
        self._drawn = drawn
        self._starts = [0, *accumulate(heights)][: len(heights)]
        for name, text in view.streaming:
            lines += strips_of_stream(name, text, width, self.app.console)
        self.set_lines(lines, to_end=to_end, keep_from_end=keep_from_end)

    def _draw(self, entry: TimelineEntry, view: ConsoleView, width: int) -> Drawn:
        is_open, is_marked = entry.key in view.opened, entry.key == self._marked
        known = self._drawn.get(entry.key)
        if known is not None and known[0] is entry and known[1:3] == (is_open, is_marked):
            return known
        console = self.app.console
        strips = strips_of(entry, width, console, is_open=is_open, is_marked=is_marked)
        return entry, is_open, is_marked, strips

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew; who follows stays at the end of what is higher or lower now."""
        self._layout(to_end=self.follows)
        if self.follows:
            self.call_after_refresh(self.to_end)

    # --- the mark ---

    def action_mark(self, by: int) -> None:
        """Move the mark to the next or previous entry that can be opened, else scroll."""
        places = [n for n, entry in enumerate(self._entries) if entry.is_foldable]
        if not places:
            self.scroll_relative(y=by, animate=False)
            return
        at = self._place_of(self._marked)
        if at is None:
            bottom = self.scroll_offset.y + self.size.height
            chosen = max((n for n in places if self._starts[n] < bottom), default=places[-1])
        else:
            wanted = [n for n in places if (n > at if by > 0 else n < at)]
            if not wanted:
                self.scroll_relative(y=by * 3, animate=False)
                self._want_older()
                return
            chosen = wanted[0] if by > 0 else wanted[-1]
        self._mark(chosen)

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
        """Go to the beginning of what is here, and ask for more before it."""
        self.scroll_home(animate=False)
        self.post_message(self.OlderWanted())

    def action_newest(self) -> None:
        """Go to the end."""
        self._marked = None
        self.post_message(self.NewestWanted())
        self._layout(to_end=True)

    def _place_of(self, key: str | None) -> int | None:
        return next((n for n, entry in enumerate(self._entries) if entry.key == key), None)

    def on_click(self, event: events.Click) -> None:
        """Open or fold the entry that was clicked on."""
        line = event.y + self.scroll_offset.y
        place = bisect_right(self._starts, line) - 1
        if 0 <= place < len(self._entries) and self._entries[place].is_foldable:
            self._marked = self._entries[place].key
            self.post_message(self.Opened(self._marked))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for older entries when the beginning comes in sight."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value:
            self._want_older()

    def _want_older(self) -> None:
        if self.scroll_offset.y == 0 and self._entries:
            self.post_message(self.OlderWanted())

    @property
    def entries(self) -> Sequence[TimelineEntry]:
        """The entries that are shown."""
        return self._entries
