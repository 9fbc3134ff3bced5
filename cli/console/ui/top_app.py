"""The screen of `agiraph top`: every entity in a table that refreshes, and keys to steer one."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from agiraph.core.errors import AgiraphError
from agiraph.http.api import EntityAct, EntityView
from cli.console.sanitize import one_line
from cli.console.top_rows import (
    SORTS,
    TopRow,
    next_sort,
    ordered,
    size_told,
    top_rows,
    totals,
    widths,
)
from cli.console.ui.dialogs import ConfirmScreen, PromptScreen
from cli.console.ui.members import SIGNS, age, money_told, tokens_told
from cli.console.ui.theme import BOLD, QUIET, SHEET, THEME, TONES, state_style
from cli.console.ui.top_feed import TopFeed

HEADINGS: Final = {"entity": "ENTITY", "state": "STATE", "cpu": "CPU", "memory": "MEM",
                   "mail": "MAIL", "age": "AGE", "tokens": "TOKENS", "cost": "COST",
                   "doing": "DOING"}  # fmt: skip
RIGHT: Final = frozenset({"cpu", "memory", "mail", "age", "tokens", "cost"})
SURE: Final[dict[EntityAct, str]] = {
    "stop": "Stop {}? It ends in an orderly way; resume starts it again.",
    "kill": "Kill {}'s process (-9)? It is restarted and goes on where it was.",
}
KEYS: Final = (
    ("←→", "sort"), ("v", "reverse"), ("Enter", "open"), ("p", "pause"), ("r", "resume"),
    ("i", "interrupt"), ("s", "stop"), ("k", "kill"), ("q", "quit"),
)  # fmt: skip


class TopApp(App[str]):
    """Ends with the address of the entity that is to be opened, or None."""

    CSS = SHEET
    ENABLE_COMMAND_PALETTE = False
    TITLE = "agiraph top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "sort(-1)", "sort by the column to the left", priority=True),
        Binding("right", "sort(1)", "sort by the column to the right", priority=True),
        Binding("v", "reverse", "reverse"),
        Binding("p", "order('pause')", "pause"),
        Binding("r", "order('resume')", "resume"),
        Binding("s", "order('stop')", "stop"),
        Binding("k", "order('kill')", "kill"),
        Binding("i", "interrupt", "interrupt"),
        Binding("q,ctrl+q,ctrl+c", "quit", "quit"),
    ]

    def __init__(
        self,
        feed: TopFeed,
        *,
        agent: str | None = None,
        sort: str = "cpu",
        every_seconds: float = 1.0,
        is_colourless: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Show all entities, or those of the agent with this id, sorted by one of SORTS."""
        super().__init__(ansi_color=True if is_colourless else None)
        self.sort_by = sort
        self.is_reversed = False
        self._feed = feed
        self._clock = clock
        self._agent = agent
        self._every = every_seconds
        self._listed: list[EntityView] = []
        self._shown: list[TopRow] = []
        self._is_away = False
        self._note = Text("")
        self._acts: set[asyncio.Task[None]] = set()
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Make the table and the lines round it."""
        yield Static("", id="head", markup=False)
        yield DataTable(id="rows", cursor_type="row", cell_padding=0)
        yield Static("", id="note", markup=False)
        yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin to look."""
        self.register_theme(THEME)
        self.theme = THEME.name
        keys = Text()
        for key, meaning in KEYS:
            keys.append_text(Text.assemble((key, BOLD), (f" {meaning}  ", QUIET)))
        self.query_one("#keys", Static).update(keys)
        self.query_one(DataTable).focus()
        self.run_worker(self._keep_looking(), exclusive=True)

    async def on_unmount(self) -> None:
        """Let the feed go."""
        for task in self._acts:
            task.cancel()
        await asyncio.gather(*self._acts, return_exceptions=True)
        await asyncio.to_thread(self._feed.close)

    def on_resize(self, event: events.Resize) -> None:
        """Share the width out anew."""
        self._drawn = None
        self._draw()

    async def _keep_looking(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(self._every)

    async def _look(self) -> None:
        try:
            self._listed = await self._feed.rows()
            self._is_away = False
        except AgiraphError:
            self._is_away = True
        self._draw()

    # --- drawing ---

    def _draw(self) -> None:
        if not self.query("#keys"):
            return
        now = self._clock()
        rows = top_rows(self._listed, now, self._agent)
        marked = self.marked
        self._shown = ordered(rows, self.sort_by, is_reversed=self.is_reversed)
        width = max(60, self.size.width - 1)
        room = widths(width)
        head, cells = self._head(rows), [tuple(cells_of(row, room)) for row in self._shown]
        addresses = [row.address for row in self._shown]
        what = (head, self._note, width, self.sort_by, self._is_rising, addresses, cells)
        if what == self._drawn:
            return  # most of the time nothing has changed, and a table is dear to draw
        self._drawn = what
        self.query_one("#head", Static).update(head)
        note = self.query_one("#note", Static)
        note.display = bool(self._note.plain)
        note.update(self._note)
        table = self.query_one(DataTable)
        with self.prevent(DataTable.RowHighlighted):
            table.clear(columns=True)
            for key, heading in HEADINGS.items():
                sign = ("▲" if self._is_rising else "▼") if key == self.sort_by else ""
                label = Text(f"{heading}{sign}", BOLD, justify="right" if key in RIGHT else "left")
                table.add_column(_gapped(label, room[key], is_right=key in RIGHT), width=room[key])
            for row in cells:
                table.add_row(*row)
            if marked in addresses:
                table.move_cursor(row=addresses.index(marked), animate=False)

    @property
    def _is_rising(self) -> bool:
        return (self.sort_by in ("entity", "state")) != self.is_reversed

    def _head(self, rows: list[TopRow]) -> Text:
        count, cpu, memory, tokens, cost = totals(rows)
        weight = f"{size_told(memory)}B".replace("BB", "B")
        told = f"{count} entities  cpu {cpu:.0f}%  {weight}  {tokens_told(tokens)} tokens"
        head = Text.assemble(("agiraph top  ", BOLD), (f"{told} {money_told(cost)}  ", QUIET))
        if self._is_away:
            head.append("◌ reconnecting", TONES["bad"])
        return head

    @property
    def marked(self) -> str | None:
        """The address under the cursor."""
        at = self.query_one(DataTable).cursor_row
        return self._shown[at].address if 0 <= at < len(self._shown) else None

    def _marked_row(self) -> TopRow | None:
        return next((row for row in self._shown if row.address == self.marked), None)

    # --- keys ---

    def action_sort(self, by: int) -> None:
        """Sort by the next column."""
        self.sort_by = next_sort(self.sort_by, by)
        self._draw()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.is_reversed = not self.is_reversed
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Sort by the column of a digit."""
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
            self._tell(f"{row.label} is a process of the house: nobody to talk with", is_bad=True)

    def action_order(self, act: EntityAct) -> None:
        """Steer the marked entity; what hurts is asked for twice."""
        row = self._marked_row()
        if row is None:
            return

        async def order() -> None:
            acted = await self._feed.order(row.address, act)
            self._tell(", ".join(f"{row.label}: {one.state}" for one in acted.entities))

        if act not in SURE:
            self._begin(order())
            return
        question = SURE[act].format(row.label)
        self.push_screen(
            ConfirmScreen(question), lambda is_sure: self._begin(order()) if is_sure else None
        )

    def action_interrupt(self) -> None:
        """Cancel what the marked entity is doing, with a word why."""
        row = self._marked_row()
        if row is None or not row.is_of_agent:
            self._tell("only coordinators and workers can be interrupted", is_bad=True)
            return

        async def interrupt(text: str) -> None:
            await self._feed.interrupt(row.address, text)
            self._tell(f"{row.label} is interrupted")

        self.push_screen(
            PromptScreen(f"Interrupt {row.label} and tell it:"),
            lambda text: self._begin(interrupt(text)) if text else None,
        )

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            try:
                await work
                await self._look()
            except AgiraphError as error:
                self._tell(str(error), is_bad=True)

        task = asyncio.ensure_future(run())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)

    def _tell(self, text: str, *, is_bad: bool = False) -> None:
        self._note = Text(one_line(text, 200), TONES["bad" if is_bad else "quiet"])
        self._draw()


def cells_of(row: TopRow, room: dict[str, int]) -> tuple[Text, ...]:
    """Return the cells of a row, each with its gap inside its width."""
    cells = {
        "entity": Text(row.label, BOLD),
        "state": Text(f"{SIGNS.get(row.state, '·')} {row.state_word}", state_style(row.state)),
        "cpu": Text(f"{row.cpu:.0f}%" if row.cpu >= 0.5 else ""),
        "memory": Text(size_told(row.memory)),
        "mail": Text(str(row.mail) if row.mail else ""),
        "age": Text(age(row.age) if row.age is not None else ""),
        "tokens": Text(tokens_told(row.tokens) if row.tokens else ""),
        "cost": Text(money_told(row.cost) if row.cost else ""),
        "doing": Text(row.doing, QUIET),
    }
    return tuple(_gapped(cell, room[key], is_right=key in RIGHT) for key, cell in cells.items())


def _gapped(cell: Text, width: int, *, is_right: bool) -> Text:
    """Return a cell of exactly `width` with a gap at its end."""
    cell.truncate(width - 1, overflow="ellipsis")
    blank = " " * (width - 1 - cell.cell_len)
    return Text.assemble(blank, cell, " ") if is_right else Text.assemble(cell, blank, " ")
