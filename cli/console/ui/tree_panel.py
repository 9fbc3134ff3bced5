"""The tree of entities: who was started by whom, with what each does and has cost."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.coordinate import Coordinate
from textual.message import Message
from textual.widgets import DataTable

from cli.console.sanitize import one_line
from cli.console.top_rows import STATE_WORDS
from cli.console.tree import TreeRow, grown
from cli.console.ui.members import SIGNS, age, money_told, tokens_told
from cli.console.ui.theme import BOLD, QUIET, state_style
from cli.console.ui.view import ConsoleView


class TreePanel(Vertical):
    """A table whose first column is a tree; Enter opens that entity's conversation."""

    class Chosen(Message):
        """An entity of the agent was chosen."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(id=id)
        self._twigs: list[TreeRow] = []

    def compose(self) -> ComposeResult:
        """Make the table."""
        yield DataTable(id="twigs", cursor_type="row")

    def on_mount(self) -> None:
        """Name the columns."""
        table = self.query_one(DataTable)
        for name in ("ENTITY", "STATE", "SINCE", "TOKENS", "COST", "DOING"):
            table.add_column(name, key=name)

    def show(self, view: ConsoleView, now: float) -> None:
        """Show the entities of a view's agent."""
        entries = grown(view.agent.id, view.rows, view.board)
        table = self.query_one(DataTable)
        if [entry.row.address for entry in entries] != [entry.row.address for entry in self._twigs]:
            row = table.cursor_row
            table.clear()
            for entry in entries:
                table.add_row(*cells_of(entry, now), key=entry.row.address)
            if entries:
                table.move_cursor(row=min(row, len(entries) - 1), animate=False)
        else:
            for number, entry in enumerate(entries):
                for column, cell in enumerate(cells_of(entry, now)):
                    _put(table, number, column, cell)
        self._twigs = entries

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Choose an entity."""
        event.stop()
        if event.cursor_row < len(self._twigs):
            address = self._twigs[event.cursor_row].row.address
            self.post_message(self.Chosen(address.partition("/")[2]))


def _put(table: DataTable[Text], row: int, column: int, cell: Text) -> None:
    at = Coordinate(row, column)
    if table.get_cell_at(at) != cell:
        table.update_cell_at(at, cell, update_width=True)


def cells_of(entry: TreeRow, now: float) -> tuple[Text, ...]:
    """Return the cells of an entity's row."""
    row = entry.row
    return (
        Text.assemble((entry.lead, QUIET), (entry.name, BOLD)),
        Text(
            f"{SIGNS.get(row.state, '·')} {STATE_WORDS.get(row.state, row.state)}",
            state_style(row.state),
        ),
        Text(age(now - row.doing_since) if row.doing_since else "", justify="right"),
        Text(tokens_told(row.tokens) if row.tokens else "", justify="right"),
        Text(money_told(row.cost_usd) if row.cost_usd else "", justify="right"),
        Text(one_line(row.doing or row.step, 100), QUIET),
    )
