"""The panels beside the conversation: team, board, files, tree of entities; and two dialogs."""

from collections.abc import Mapping
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, OptionList, Static
from textual.widgets.option_list import Option

from agiraph.http.api import BoardView, FileContentView, FolderView, NodeView
from cli.console.commands import EVERYONE
from cli.console.entities import MemberRow, entity_name, look_of, signed_label
from cli.console.plain_text import TreeRow, entry_name, entry_size, format_file, tree_of
from cli.console.ui.drawing import markdown, sided
from cli.console.ui.state import ConsoleState
from cli.console.ui.theme import BOLD, QUIET, TONES, state_style, voice
from cli.output.formats import format_age, format_short_usage, spent_cells
from cli.sanitize import one_line, printable

ROOM: Final = 2
FINISHED_ROW: Final = "~finished"
"""The key of the row that folds the finished members."""

DETAIL_LIMIT: Final = 1500


class RowTable(DataTable[Text]):
    """A table of rows whose cursor stays in its row number when the rows are replaced.

    The key of a row is the key of its content: a path, a member's key, an address.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "open")]

    def __init__(self, *headings: str, id: str) -> None:
        super().__init__(id=id, cursor_type="row")
        self._headings = headings

    def on_mount(self) -> None:
        self.add_columns(*self._headings)

    def show_rows(self, rows: Mapping[str, tuple[Text, ...]]) -> None:
        """Replace the rows by `rows`: cells by key."""
        at = self.cursor_row
        self.clear()
        for key, row in rows.items():
            self.add_row(*row, key=key)
        if rows:
            self.move_cursor(row=min(at, len(rows) - 1), animate=False)


# --- the team ------------------------------------------------------------------------------------


class TeamPanel(OptionList):
    """A list of members, one per row, with the activity, its duration and the cost of each."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._prompts: dict[str, Text] = {}

    def show(self, state: ConsoleState, now: float) -> None:
        """Show the members; only rows that changed are drawn again."""
        width = max(16, self.scrollable_content_region.width - ROOM)
        prompts = {EVERYONE: _team_row(state, width)}
        finished = [one for one in state.members if one.is_finished]
        for one in state.listed:
            if finished and one is finished[0]:
                prompts[FINISHED_ROW] = _fold_row(len(finished), "▾", width)
            prompts[one.key] = _member_row(one, state, width, now)
        if finished and not state.are_finished_shown:
            prompts[FINISHED_ROW] = _fold_row(len(finished), "▸", width)
        if prompts.keys() != self._prompts.keys():
            at = FINISHED_ROW if self._is_at(FINISHED_ROW) else state.selected
            self.clear_options()
            self.add_options([Option(prompt, id=key) for key, prompt in prompts.items()])
            if at in prompts:
                self.highlighted = list(prompts).index(at)
        else:
            for key, prompt in prompts.items():
                if prompt != self._prompts[key] or prompt.spans != self._prompts[key].spans:
                    self.replace_option_prompt(key, prompt)
        self._prompts = prompts

    def _is_at(self, key: str) -> bool:
        option = self.highlighted_option
        return option is not None and option.id == key


def _team_row(state: ConsoleState, width: int) -> Text:
    mark = "▶ " if state.selected == EVERYONE else "  "
    whole = Text.assemble((f"{mark}≡ whole team", BOLD))
    return sided(whole, format_short_usage(state.spent), width)


def _fold_row(count: int, sign: str, width: int) -> Text:
    return sided(Text(f"  {sign} {count} finished", QUIET), "", width)


def _member_row(member: MemberRow, state: ConsoleState, width: int, now: float) -> Text:
    mark = "▶ " if state.selected == member.key else "  "
    asks = any(question.sender == member.name for question in state.questions)
    row = member.row
    sign, tone = look_of("waiting_for_human" if asks else row.state)
    name = (member.name, QUIET if member.is_finished else voice(member.name))
    head = Text.assemble((mark, BOLD), (f"{sign} ", TONES[tone]), name)
    since = format_age(now - row.doing_since) if row.doing_since else ""
    spent = format_short_usage(dict(row)) if row.tokens else ""
    right = " ".join(filter(None, (spent, since)))
    if head.cell_len + 1 + len(right) > width:  # the whole name is more important than the cost
        right = since
    if member.is_finished:
        return sided(head, right, width)
    doing = Text(f"    {member.activity}", QUIET)
    return Text.assemble(sided(head, right, width), "\n", sided(doing, "", width))


# --- the board -----------------------------------------------------------------------------------


class BoardPanel(Vertical):
    """A table of nodes, and below it the details of the node under the cursor."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._board: BoardView | None = None

    def compose(self) -> ComposeResult:
        yield RowTable("STATUS", "NODE", "WORKER", "NEEDS", "RESULT", id="nodes")
        yield Static("", id="detail", markup=False)

    def show(self, board: BoardView | None) -> None:
        """Show a board."""
        if board is None or board is self._board:
            return
        self._board = board
        self.query_one(RowTable).show_rows({node.id: _node_cells(node) for node in board.nodes})
        self._show_detail()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the details of the node under the cursor."""
        event.stop()
        self._show_detail()

    def _show_detail(self) -> None:
        nodes = self._board.nodes if self._board else ()
        row = self.query_one(RowTable).cursor_row
        detail = self.query_one("#detail", Static)
        if not nodes:
            detail.update("no nodes on the board yet")
        elif 0 <= row < len(nodes):
            detail.update(_node_detail(nodes[row]))


def _node_cells(node: NodeView) -> tuple[Text, ...]:
    sign, tone = look_of(node.status)
    result = node.reason if node.status in ("failed", "cancelled", "skipped") else node.summary
    return (
        Text(f"{sign} {node.status}", TONES[tone]),
        Text(one_line(node.name, 28), BOLD),
        Text(one_line(node.assigned_worker or "–", 16)),
        Text(one_line(", ".join(node.dependencies) or "–", 24), QUIET),
        Text(one_line(result or node.task, 120), QUIET),
    )


def _node_detail(node: NodeView) -> Text:
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


# --- files ---------------------------------------------------------------------------------------


class FilesPanel(Vertical):
    """A folder of the run as a table, or a file as a page, Markdown rendered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,backspace,u", "app.open_parent", "up", priority=True),
    ]
    path = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="place", markup=False)
        yield RowTable("NAME", "SIZE", id="entries")
        with VerticalScroll(id="page"):
            yield Static("", markup=False)

    def on_mount(self) -> None:
        self.query_one("#page").display = False

    def show(self, found: FolderView | FileContentView) -> None:
        """Show a folder or a file."""
        self.path = found.path
        place = Text.assemble((f" /{one_line(found.path)}", BOLD), ("   ← one up", QUIET))
        self.query_one("#place", Static).update(place)
        table, page = self.query_one(RowTable), self.query_one("#page", VerticalScroll)
        had_focus = table.has_focus or page.has_focus
        is_file = isinstance(found, FileContentView)
        table.display, page.display = not is_file, is_file
        if isinstance(found, FileContentView):
            is_markdown = found.path.endswith(".md") and found.encoding == "utf-8"
            text = format_file(found)
            page.query_one(Static).update(markdown(text) if is_markdown else Text(text))
            page.scroll_home(animate=False)
        else:
            table.show_rows(
                {
                    one.path: (Text(entry_name(one)), Text(entry_size(one), justify="right"))
                    for one in found.entries
                }
            )
        if had_focus:
            self.focus_inside()

    def focus_inside(self) -> None:
        """Focus the table of the folder, or the page of the file."""
        page = self.query_one("#page")
        (page if page.display else self.query_one(RowTable)).focus()


# --- the tree of entities ------------------------------------------------------------------------


class TreePanel(RowTable):
    """A table whose first column is a tree; Enter opens that entity's conversation."""

    def __init__(self, *, id: str) -> None:
        super().__init__("ENTITY", "STATE", "SINCE", "TOKENS", "COST", "DOING", id=id)
        self._cells: dict[str, tuple[Text, ...]] = {}

    def show(self, state: ConsoleState, now: float) -> None:
        """Show the entities of the agent."""
        rows = tree_of(state.agent.id, state.rows, state.board)
        cells = {one.row.address.partition("/")[2]: _tree_cells(one, now) for one in rows}
        if cells != self._cells:
            self._cells = cells
            self.show_rows(cells)


def _tree_cells(entry: TreeRow, now: float) -> tuple[Text, ...]:
    row = entry.row
    tokens, cost = spent_cells(row.tokens, row.cost_usd, is_estimate=row.is_estimate)
    return (
        Text.assemble((entry.lead, QUIET), (entity_name(row), BOLD)),
        Text(signed_label(row.state), state_style(row.state)),
        Text(format_age(now - row.doing_since) if row.doing_since else "", justify="right"),
        Text(tokens, justify="right"),
        Text(cost, justify="right"),
        Text(one_line(row.doing or row.step, 100), QUIET),
    )


# --- dialogs -------------------------------------------------------------------------------------


class ConfirmScreen(ModalScreen[bool]):
    """Asks for confirmation of an irreversible action."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "close(True)", "yes"),
        Binding("n,escape,q", "close(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(f"{self._question}\n\ny  yes     n  no", markup=False)

    def action_close(self, answer: bool) -> None:
        self.dismiss(answer)


class PromptScreen(ModalScreen[str]):
    """Asks for one line of text; '' if the person cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(self._question, markup=False)
            yield Input(compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        self.dismiss("")
