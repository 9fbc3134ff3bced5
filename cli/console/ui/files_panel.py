"""The files of the run: folders to walk through, files to read, Markdown rendered."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import DataTable, Static

from agiraph.http.api import FileContentView, FileEntryView, FolderView
from cli.console.folders import told_file, told_name, told_size
from cli.console.sanitize import one_line
from cli.console.ui.drawing import strips_of_page
from cli.console.ui.lines_panel import LinesPanel
from cli.console.ui.theme import BOLD, QUIET


class FilesPanel(Vertical):
    """A folder's table, or a file's page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,backspace,u", "up", "up", show=False),
    ]

    class Wanted(Message):
        """The person wants to see what stands at a path."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, *, id: str) -> None:
        """Begin at the run's folder."""
        super().__init__(id=id)
        self.path = ""
        self._entries: tuple[FileEntryView, ...] = ()
        self._file: FileContentView | None = None

    def compose(self) -> ComposeResult:
        """Make the table and the page."""
        yield Static("", id="place", markup=False)
        yield DataTable(id="entries", cursor_type="row")
        yield LinesPanel(id="page")

    def on_mount(self) -> None:
        """Name the columns; no page yet."""
        table = self.query_one(DataTable)
        table.add_column("NAME", key="name")
        table.add_column("SIZE", key="size")
        self.query_one("#page").display = False

    def show(self, found: FolderView | FileContentView) -> None:
        """Show a folder or a file."""
        self.path = found.path
        place = Text.assemble((f" /{one_line(found.path)}", BOLD), ("   ← one up", QUIET))
        self.query_one("#place", Static).update(place)
        table, page = self.query_one(DataTable), self.query_one(LinesPanel)
        had_focus = table.has_focus or page.has_focus
        is_file = isinstance(found, FileContentView)
        table.display, page.display = not is_file, is_file
        if isinstance(found, FileContentView):
            self._file = found
            self.call_after_refresh(self._draw)  # its width is known when it is shown
        else:
            self._file, self._entries = None, found.entries
            table.clear()
            for entry in found.entries:
                table.add_row(Text(told_name(entry)), Text(told_size(entry), justify="right"))
        if had_focus:
            self.focus_inside()

    def focus_inside(self) -> None:
        """Give the focus to what is shown."""
        page = self.query_one(LinesPanel)
        (page if page.display else self.query_one(DataTable)).focus()

    def on_resize(self) -> None:
        """Wrap the page anew."""
        self._draw()

    def _draw(self) -> None:
        page = self.query_one(LinesPanel)
        if self._file is None:
            return
        is_markdown = self._file.path.endswith(".md") and self._file.encoding == "utf-8"
        width = max(8, page.scrollable_content_region.width)
        text = told_file(self._file)
        lines = strips_of_page(text, width, self.app.console, is_markdown=is_markdown)
        page.set_lines(lines, to_end=False, keep_from_end=False)
        page.scroll_home(animate=False)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open what was chosen."""
        event.stop()
        if event.cursor_row < len(self._entries):
            self.post_message(self.Wanted(self._entries[event.cursor_row].path))

    def action_up(self) -> None:
        """Go to the folder above."""
        if self.path:
            self.post_message(self.Wanted(self.path.rpartition("/")[0]))
