"""A scrolling panel of lines that are made before they are shown: only what is visible is drawn."""

from collections.abc import Sequence

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class LinesPanel(ScrollView, can_focus=True):
    """Shows strips; stays at the end while it stands there."""

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(id=id)
        self._lines: Sequence[Strip] = ()
        self._is_moving = False
        self.follows = True
        """Whether the person stands at the end, and stays there when more comes."""

    def to_end(self) -> None:
        """Show the last lines."""
        self._move_to(len(self._lines))
        self.follows = True

    def _move_to(self, line: int) -> None:
        self._is_moving = True
        self.scroll_to(y=line, animate=False, force=True)  # also before there is a scrollbar
        self._is_moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Note whether the person has left the end, or is back there."""
        super().watch_scroll_y(old_value, new_value)
        if not self._is_moving:
            self.follows = new_value >= self.max_scroll_y - 1

    def set_lines(self, lines: Sequence[Strip], *, to_end: bool, keep_from_end: bool) -> None:
        """Show other lines: at their end, or where we stood, counted from the end if asked so."""
        from_end = self.virtual_size.height - self.scroll_offset.y
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        if to_end:
            self.to_end()
        elif keep_from_end:
            self._move_to(max(0, len(lines) - from_end))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one visible line."""
        place = y + self.scroll_offset.y
        width = self.size.width
        if not 0 <= place < len(self._lines):
            return Strip.blank(width, self.rich_style)
        return (
            self._lines[place].crop_extend(0, width, self.rich_style).apply_style(self.rich_style)
        )
