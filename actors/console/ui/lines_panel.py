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

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is in sight."""
        return self.scroll_offset.y >= self.max_scroll_y - 1

    def set_lines(self, lines: Sequence[Strip], *, to_end: bool, keep_from_end: bool) -> None:
        """Show other lines: at their end, or where we stood, counted from the end if asked so."""
        from_end = self.virtual_size.height - self.scroll_offset.y
        self._lines = lines
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        if to_end:
            self.scroll_to(y=len(lines), animate=False)
        elif keep_from_end:
            self.scroll_to(y=max(0, len(lines) - from_end), animate=False)
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
