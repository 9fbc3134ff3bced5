"""The screen of `agiraph top`: every entity in a table that refreshes, and keys to steer one."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Static

from agiraph.core.errors import AgiraphError
from agiraph.core.turns import Usage
from agiraph.http.api import ApiError, EntityAct, EntityView
from cli.console.entities import (
    RISING,
    SORTS,
    TopRow,
    next_sort,
    ordered,
    signed_label,
    top_rows,
    totals,
)
from cli.console.ui.app import TaskApp
from cli.console.ui.panels import PromptScreen, RowTable
from cli.console.ui.source import TopSource
from cli.console.ui.theme import BOLD, QUIET, TONES, state_style
from cli.output.formats import (
    format_age,
    format_short_size,
    format_short_usage,
    format_size,
    spent_cells,
)
from cli.sanitize import one_line

HEADINGS: Final = {"entity": "ENTITY", "state": "STATE", "cpu": "CPU", "memory": "MEM",
                   "mail": "MAIL", "age": "AGE", "tokens": "TOKENS", "cost": "COST",
                   "doing": "DOING"}  # fmt: skip
WIDTHS: Final = {"entity": 17, "state": 12, "cpu": 5, "memory": 6, "mail": 6, "age": 5,
                 "tokens": 8, "cost": 9}  # fmt: skip
LEFT: Final = frozenset({"entity", "state", "doing"})
QUESTIONS: Final[dict[EntityAct, str]] = {
    "stop": "Stop {}? It stops in an orderly way; resume starts it again.",
    "kill": "Kill the process of {} (SIGKILL)? It is restarted and continues where it was.",
}


class TopApp(TaskApp):
    """Shows all entities, or those of the agent with an id, sorted by a column of SORTS.

    Exits with the address of the entity to open, or None.
    """

    TITLE = "agiraph top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "sort(-1)", "sort by the column to the left", priority=True, show=False),
        Binding("right", "sort(1)", "sort", priority=True),
        Binding("v", "reverse", "reverse"),
        Binding("p", "steer('pause')", "pause"),
        Binding("r", "steer('resume')", "resume"),
        Binding("s", "steer('stop')", "stop"),
        Binding("k", "steer('kill')", "kill"),
        Binding("i", "interrupt", "interrupt"),
        Binding("q,ctrl+q,ctrl+c", "quit", "quit"),
    ]

    def __init__(
        self,
        source: TopSource,
        *,
        agent: str | None = None,
        sort: str = "entity",
        every_seconds: float = 1.0,
        is_colourless: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(is_colourless=is_colourless)
        self.sort_by = sort
        self.is_reversed = False
        self._source = source
        self._clock = clock
        self._agent = agent
        self._every = every_seconds
        self._listed: list[EntityView] = []
        self._spent = Usage()
        self._shown: list[TopRow] = []
        self._is_away = False
        self._notice = Text("")
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        table = RowTable(id="rows")
        table.cell_padding = 0
        yield table
        yield Static("", id="note", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(DataTable).focus()
        self.run_worker(self._refresh_forever(), exclusive=True)

    async def on_unmount(self) -> None:
        self.workers.cancel_all()
        await asyncio.to_thread(self._source.close)

    def on_resize(self, event: events.Resize) -> None:
        """Distribute the width among the columns again."""
        self._draw()

    async def _refresh_forever(self) -> None:
        while True:
            await self._refresh()
            await asyncio.sleep(self._every)

    async def _refresh(self) -> None:
        try:
            self._listed = await self._source.rows()
            self._is_away = False
            with suppress(ApiError):  # the broker may be restarting
                self._spent = await self._source.spent(self._agent)
        except AgiraphError:
            self._is_away = True
        self._draw()

    # --- drawing ---

    def _draw(self) -> None:
        if not self.query("#rows"):
            return
        rows = top_rows(self._listed, self._clock(), self._agent)
        marked = self.marked
        self._shown = ordered(rows, self.sort_by, is_reversed=self.is_reversed)
        widths = _widths(max(60, self.size.width - 1))
        head, cells = self._head(rows), [_cells(row, widths) for row in self._shown]
        addresses = [row.address for row in self._shown]
        drawn = (head, self._notice, widths, self.sort_by, self._is_rising, addresses, cells)
        if drawn == self._drawn:
            return  # usually nothing has changed, and drawing a table is slow
        self._drawn = drawn
        self.query_one("#head", Static).update(head)
        note = self.query_one("#note", Static)
        note.display = bool(self._notice.plain)
        note.update(self._notice)
        table = self.query_one(DataTable)
        with self.prevent(DataTable.RowHighlighted):
            table.clear(columns=True)
            for key, width in widths.items():
                table.add_column(_fitted(self._heading(key), key, width), width=width)
            table.add_rows(cells)
            if marked in addresses:
                table.move_cursor(row=addresses.index(marked), animate=False)

    def _heading(self, key: str) -> Text:
        sign = ("▲" if self._is_rising else "▼") if key == self.sort_by else ""
        return Text(f"{HEADINGS[key]}{sign}", BOLD)

    @property
    def _is_rising(self) -> bool:
        return (self.sort_by in RISING) != self.is_reversed

    def _head(self, rows: list[TopRow]) -> Text:
        count, cpu, memory = totals(rows)
        summary = f"{count} entities  cpu {cpu:.0f}%  {format_size(memory)}"
        spent = format_short_usage(self._spent.sums(), " tokens")
        head = Text.assemble(("agiraph top  ", BOLD), (f"{summary}  {spent}  ", QUIET))
        if self._is_away:
            head.append("◌ reconnecting", TONES["bad"])
        return head

    @property
    def marked(self) -> str | None:
        """The address of the entity under the cursor."""
        row = self._marked_row()
        return row.address if row is not None else None

    def _marked_row(self) -> TopRow | None:
        at = self.query_one(DataTable).cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    # --- keys ---

    def action_sort(self, by: int) -> None:
        """Sort by the next column to the right (1) or left (-1)."""
        self.sort_by = next_sort(self.sort_by, by)
        self._draw()

    def action_reverse(self) -> None:
        self.is_reversed = not self.is_reversed
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Sort by the column whose number is typed."""
        digit = event.character or ""
        if digit.isdigit() and 1 <= int(digit) <= len(SORTS):
            self.sort_by = SORTS[int(digit) - 1]
            self._draw()

    @on(DataTable.RowSelected)
    def _chosen(self) -> None:
        row = self._marked_row()
        if row is not None and row.is_of_agent:
            self.exit(row.address)
        elif row is not None:
            self.show_notice(f"{row.label} is a service: it has no conversation", is_bad=True)

    def action_steer(self, act: EntityAct) -> None:
        """Steer the marked entity; acts that stop it are confirmed first."""
        row = self._marked_row()
        if row is None:
            return

        async def steer() -> None:
            steered = await self._source.steer(row.address, act)
            self.show_notice(", ".join(f"{row.label}: {one.state}" for one in steered.entities))
            await self._refresh()

        if act in QUESTIONS:
            self.confirm(QUESTIONS[act].format(row.label), steer)
        else:
            self.begin(steer())

    def action_interrupt(self) -> None:
        """Cancel the step of the marked entity, with a text that the person types."""
        row = self._marked_row()
        if row is None or not row.is_of_agent:
            self.show_notice("only coordinators and workers can be interrupted", is_bad=True)
            return

        async def interrupt(text: str) -> None:
            await self._source.interrupt(row.address, text)
            self.show_notice(f"{row.label} is interrupted")
            await self._refresh()

        self.push_screen(
            PromptScreen(f"Interrupt {row.label} with this message:"),
            lambda text: self.begin(interrupt(text)) if text else None,
        )

    def show_notice(self, text: str, *, is_bad: bool = False) -> None:
        """Show a text in the status line."""
        self._notice = Text(one_line(text, 200), TONES["bad" if is_bad else "quiet"])
        self._draw()


def _widths(columns: int) -> dict[str, int]:
    """Return the width of each column, including its gap, on a screen of `columns` cells."""
    entity = 30 if columns >= 110 else WIDTHS["entity"]
    widths = {**WIDTHS, "entity": entity}
    return {**widths, "doing": max(8, columns - sum(widths.values()))}


def _cells(row: TopRow, widths: dict[str, int]) -> tuple[Text, ...]:
    tokens, cost = spent_cells(row.tokens, row.cost, is_estimate=row.is_estimate)
    cells = {
        "entity": Text(row.label, BOLD),
        "state": Text(signed_label(row.state), state_style(row.state)),
        "cpu": Text(f"{row.cpu:.0f}%" if row.cpu >= 0.5 else ""),
        "memory": Text(format_short_size(row.memory)),
        "mail": Text(str(row.mail) if row.mail else ""),
        "age": Text(format_age(row.age)),
        "tokens": Text(tokens),
        "cost": Text(cost),
        "doing": Text(row.doing, QUIET),
    }
    return tuple(_fitted(cells[key], key, width) for key, width in widths.items())


def _fitted(cell: Text, key: str, width: int) -> Text:
    """Return a cell of exactly `width`, the last character of which is a gap."""
    cell.truncate(width - 1, overflow="ellipsis")
    blank = " " * (width - 1 - cell.cell_len)
    return Text.assemble(cell, blank, " ") if key in LEFT else Text.assemble(blank, cell, " ")
