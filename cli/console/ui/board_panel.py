"""The board: its nodes with status, worker and dependencies, and the whole of the one marked."""

from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import DataTable, Static

from agiraph.http.api import BoardView, NodeView
from cli.console.sanitize import one_line, printable
from cli.console.ui.theme import BOLD, QUIET, TONES

SIGNS: Final = {
    "pending": "○",
    "assigned": "◌",
    "running": "●",
    "blocked": "…",
    "completed": "✓",
    "failed": "✗",
    "cancelled": "■",
}
TONE_OF: Final = {"running": "good", "completed": "good", "failed": "bad", "cancelled": "bad"}
DETAIL_LIMIT: Final = 1500


class BoardPanel(Vertical):
    """A table of nodes, and under it the one that the cursor is on."""

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(id=id)
        self._board: BoardView | None = None

    def compose(self) -> ComposeResult:
        """Make the table."""
        yield DataTable(id="nodes", cursor_type="row", zebra_stripes=False)
        yield Static("", id="detail", markup=False)

    def on_mount(self) -> None:
        """Name the columns."""
        table = self.query_one(DataTable)
        for name in ("STATUS", "NODE", "WORKER", "NEEDS", "WHAT CAME OF IT"):
            table.add_column(name, key=name)

    def show(self, board: BoardView | None) -> None:
        """Show a board; the cursor stays on its node."""
        if board is None or board is self._board:
            return
        self._board = board
        table = self.query_one(DataTable)
        row = table.cursor_row
        table.clear()
        for node in board.nodes:
            table.add_row(*cells_of(node), key=node.id)
        if board.nodes:
            table.move_cursor(row=min(row, len(board.nodes) - 1), animate=False)
        self._show_detail()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the node under the cursor."""
        event.stop()
        self._show_detail()

    def _show_detail(self) -> None:
        nodes = self._board.nodes if self._board else ()
        row = self.query_one(DataTable).cursor_row
        detail = self.query_one("#detail", Static)
        if not nodes:
            detail.update("no node stands on the board yet")
        elif 0 <= row < len(nodes):
            detail.update(detail_of(nodes[row]))


def cells_of(node: NodeView) -> tuple[Text, ...]:
    """Return the cells of a node's row."""
    tone = TONES[TONE_OF.get(node.status, "quiet")]  # type: ignore[index]
    result = node.reason if node.status in ("failed", "cancelled") else node.summary
    return (
        Text(f"{SIGNS.get(node.status, '·')} {node.status}", tone),
        Text(one_line(node.name, 28), BOLD),
        Text(one_line(node.assigned_worker or "–", 16)),
        Text(one_line(", ".join(node.dependencies) or "–", 24), QUIET),
        Text(one_line(result or node.task, 120), QUIET),
    )


def detail_of(node: NodeView) -> Text:
    """Return all that is known of a node."""
    text = Text.assemble((one_line(node.name), BOLD), f"  {node.status}")
    for name, value in (
        ("task", node.task),
        ("needs", ", ".join(node.dependencies)),
        ("part of", node.parent_node or ""),
        ("attempt", str(node.attempt) if node.attempt > 1 else ""),
        ("summary", node.summary or ""),
        ("reason", node.reason or ""),
        ("published", ", ".join(node.published)),
    ):
        if value:
            text.append(f"\n{name}: ", QUIET)
            text.append(printable(value)[:DETAIL_LIMIT].strip())
    return text
