"""The screen of the console: panels around one state, changed by news and the person's keys.

The state is drawn a few times a second, independent of the number of changes; keys are handled in
between. The person's actions run as separate tasks, so no slow or unreachable service blocks
typing.
"""

import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final, assert_never

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import ContentSwitcher, DataTable, Footer, Input, OptionList, Static

from agiraph.core.errors import AgiraphError, InvalidInput
from cli.console.commands import (
    EVERYONE,
    AnswerCommand,
    BudgetCommand,
    Command,
    QuitCommand,
    SendMessageCommand,
    ShowCommand,
    SteerAct,
    SteerCommand,
    read_line,
)
from cli.console.ui.conversation_panel import TalkPanel
from cli.console.ui.drawing import markdown
from cli.console.ui.header import HELP_PAGE, head_of, notice_of, target_of
from cli.console.ui.input_line import InputLine
from cli.console.ui.panels import (
    FINISHED_ROW,
    BoardPanel,
    ConfirmScreen,
    FilesPanel,
    TeamPanel,
    TreePanel,
)
from cli.console.ui.question_bar import QuestionBar
from cli.console.ui.source import ConsoleSource
from cli.console.ui.state import ConsoleState, Panel
from cli.console.ui.theme import MARKDOWN, SHEET, THEME
from cli.sanitize import one_line

FRAME_SECONDS: Final = 0.1
NARROW: Final = 100
TWICE_SECONDS: Final = 2.0


class TaskApp(App[Any]):
    """An app in Agiraph's colours that runs tasks in the background."""

    CSS = SHEET
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *, is_colourless: bool) -> None:
        # Textual omits colours only with the terminal's own colours; else it makes greys.
        super().__init__(ansi_color=True if is_colourless else None)

    def on_mount(self) -> None:
        self.register_theme(THEME)
        self.theme = THEME.name

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task in the background; its error is shown in the status line."""

        async def run() -> None:
            try:
                await work
            except AgiraphError as error:
                self.show_notice(str(error), is_bad=True)

        self.run_worker(run())

    def confirm(self, question: str, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task after the person has confirmed it."""
        self.push_screen(ConfirmScreen(question), lambda yes: self.begin(act()) if yes else None)

    def show_notice(self, text: str, *, is_bad: bool = False) -> None:
        """Show a text in the status line."""
        raise NotImplementedError


class ConsoleApp(TaskApp):
    """The console of the agent in `state`; `source` updates `state` and acts for the person.

    `clock` returns the Unix time.
    """

    TITLE = "agiraph"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f6,a", "questions", "questions"),
        Binding("f1,question_mark", "turn('help')", "help"),
        Binding("f2,s", "fold_team", "team"),
        Binding("f3,b", "turn('board')", "board"),
        Binding("f4,f", "turn('files')", "files"),
        Binding("f5,t", "turn('tree')", "tree"),
        Binding("ctrl+q", "quit", "quit", priority=True),
        Binding("ctrl+n", "select(1)", "entity", priority=True),
        Binding("ctrl+p", "select(-1)", "previous entity", priority=True, show=False),
        Binding("c", "turn('talk')", "conversation", show=False),
        # With priority, so that the keys typed after them also go to the line.
        Binding("i", "write('')", "write", priority=True),
        Binding("slash", "write('/')", "command", show=False, priority=True),
        Binding("at", "write('@')", "to someone", show=False, priority=True),
        Binding("escape", "go_back", "back"),
        Binding("ctrl+c", "leave", "quit", priority=True, show=False),
    ]

    def __init__(
        self,
        source: ConsoleSource,
        state: ConsoleState,
        *,
        is_colourless: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(is_colourless=is_colourless)
        self.state = state
        self._source = source
        self._clock = clock
        self._drawn: tuple[int, int] | None = None
        self._drawn_talk = -1
        self._known_questions: frozenset[str] = frozenset()
        self._answering: str | None = None
        self._is_team_wanted: bool | None = None
        self._is_asked = self._is_reading_back = False
        self._ctrl_c_at = self._key_at = float("-inf")

    # --- the screen ---

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        yield QuestionBar(id="questions")
        with Horizontal(id="middle"):
            yield TeamPanel(id="team")
            with ContentSwitcher(id="panels", initial="talk"):
                yield TalkPanel(self.state, id="talk")
                yield BoardPanel(id="board")
                yield FilesPanel(id="files")
                yield TreePanel(id="tree")
                with VerticalScroll(id="help"):
                    yield Static(markdown(HELP_PAGE))
        yield Static("", id="note", markup=False)
        with Horizontal(id="line"):
            yield Static("", id="target", markup=False)
            yield InputLine(self._names, id="input")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        super().on_mount()
        self.console.push_theme(MARKDOWN)
        self._source.start()
        self._fold()
        self.query_one(InputLine).focus()
        self.set_interval(FRAME_SECONDS, self._frame)
        self._draw()

    async def on_unmount(self) -> None:
        """Close the source; the team continues."""
        self.workers.cancel_all()
        await self._source.close()

    def on_resize(self, event: events.Resize) -> None:
        """Hide the side panel if there is no room for it."""
        self._fold(event.size.width)

    def _frame(self) -> None:
        self._source.apply_entries()
        waiting = frozenset(question.id for question in self.state.waiting)
        if waiting - self._known_questions:
            self._call_for_answer()
        if bool(waiting) != self._is_asked:
            self._is_asked = bool(waiting)
            self.refresh_bindings()
        self._known_questions |= waiting
        self._draw()

    def _draw(self) -> None:
        if not self.query("#target"):
            return  # the screen does not exist yet, or no longer
        state, now = self.state, self._clock()
        if self._drawn == (state.revision, int(now)):
            return
        self._drawn = (state.revision, int(now))
        self.query_one("#head", Static).update(head_of(state, self.size.width))
        bar = self.query_one(QuestionBar)
        if bar.has_focus and not state.waiting:
            self._focus_line()
        bar.show(state.waiting, now)
        team = self.query_one(TeamPanel)
        if team.display:
            team.show(state, now)
        if state.talk_revision != self._drawn_talk:
            self._drawn_talk = state.talk_revision
            self.query_one(TalkPanel).show()
        if state.panel == "board":
            self.query_one(BoardPanel).show(state.board)
        if state.panel == "tree":
            self.query_one(TreePanel).show(state, now)
        self.query_one(ContentSwitcher).current = state.panel
        note = self.query_one("#note", Static)
        note.display = state.notice is not None
        note.update(notice_of(state.notice))
        self.query_one("#target", Static).update(target_of(state, self._answering))

    def _redraw(self) -> None:
        self._drawn = None
        self._draw()

    def show_notice(self, text: str, *, is_bad: bool = False) -> None:
        """Show a text in the status line; '' clears it."""
        self.state.notify(one_line(text, 300), is_bad=is_bad)
        self._draw()

    # --- input of the person ---

    @on(InputLine.Entered)
    def _entered(self, event: InputLine.Entered) -> None:
        line = self.query_one(InputLine)
        text, asked = event.text, self._answering
        try:
            if asked is not None and text.strip() and not text.startswith(("/", "@")):
                command: Command | None = AnswerCommand(asked, text.strip())
            else:
                command = read_line(text, (), self.state.recipient)
        except InvalidInput as error:
            self.show_notice(str(error), is_bad=True)
            if not line.value:
                line.put(text)
            return
        line.remember(text)
        self._answering = None
        self.show_notice("")
        if command is not None:
            self._do(command)

    def _do(self, command: Command) -> None:
        match command:
            case SendMessageCommand(to, text, mode):
                self.begin(self._source.say(to, text, mode))
            case AnswerCommand(question, text):
                self._answer(question, text)
            case SteerCommand(act=act, name=name):
                self._steer(act, name)
            case BudgetCommand():
                self.begin(self._handle_budget(command))
            case ShowCommand(what=what, path=path):
                if what == "questions":
                    self.action_questions()
                    return
                self.action_turn(what)
                if path:
                    self.begin(self._open(path))
            case QuitCommand():
                self.exit()
            case _:
                assert_never(command)

    async def _handle_budget(self, command: BudgetCommand) -> None:
        self.show_notice("; ".join(await self._source.handle_budget(command)))

    def _steer(self, act: SteerAct, name: str) -> None:
        agent = self.state.agent.id
        entity = f"{agent}/{name}" if name else agent

        async def steer() -> None:
            steered = await self._source.steer(entity, act)
            states = [
                f"{one.address.partition('/')[2] or one.address} {one.state}"
                for one in steered.entities
            ]
            self.show_notice(f"{act}: {', '.join(states)}")

        if act == "stop" and not name:
            whole = f"the whole team of {self.state.agent.name}"
            self.confirm(f"Stop {whole}? `agiraph resume` starts it again.", steer)
        else:
            self.begin(steer())

    def _answer(self, question: str, text: str) -> None:
        async def answer() -> None:
            try:
                answered = await self._source.answer(question, text)
            except AgiraphError:
                self.state.set_answered(question, is_answered=False)
                raise
            self.show_notice(f"{answered.sender} gets your answer")

        self.state.set_answered(question, is_answered=True)
        self._focus_line()
        self._draw()
        self.begin(answer())

    # --- questions ---

    def _call_for_answer(self) -> None:
        """Move the focus to a new question, unless the person is typing a line."""
        self.bell()
        line = self.query_one(InputLine)
        if len(self.screen_stack) == 1 and not line.value and line.has_focus:
            self.query_one(QuestionBar).show(self.state.waiting, self._clock())
            self.query_one(QuestionBar).arm(self._key_at)

    @on(QuestionBar.Answered)
    def _option_chosen(self, event: QuestionBar.Answered) -> None:
        self._answer(event.question, event.answer)

    @on(QuestionBar.FreeTextRequested)
    def _words_wanted(self, event: QuestionBar.FreeTextRequested) -> None:
        if event.first in ("/", "@"):
            self.action_write(event.first)
            return
        self._answering = event.question
        line = self._focus_line()
        line.put(line.value + event.first)
        self._redraw()

    def action_questions(self) -> None:
        """Go to the questions."""
        if self.state.waiting:
            self.query_one(QuestionBar).focus()
        else:
            self.show_notice("no open questions")

    # --- the panels ---

    def action_turn(self, panel: Panel) -> None:
        """Show a panel; if that panel is shown already, go back to the conversation."""
        self.state.show_panel("talk" if panel == self.state.panel else panel)
        self._draw()
        self._focus_panel()
        if self.state.panel == "files":
            self.begin(self._open(self.query_one(FilesPanel).path))

    def _focus_panel(self) -> None:
        match self.state.panel:
            case "board":
                self.query_one("#nodes").focus()
            case "files":
                self.query_one(FilesPanel).focus_inside()
            case panel:
                self.query_one(f"#{panel}").focus()

    async def _open(self, path: str) -> None:
        self.query_one(FilesPanel).show(await self._source.open_file(path))

    @on(DataTable.RowSelected, "#entries")
    def _file_chosen(self, event: DataTable.RowSelected) -> None:
        self.begin(self._open(str(event.row_key.value)))

    def action_open_parent(self) -> None:
        """Show the folder above."""
        path = self.query_one(FilesPanel).path
        if path:
            self.begin(self._open(path.rpartition("/")[0]))

    @on(DataTable.RowSelected, "#tree")
    def _tree_row_chosen(self, event: DataTable.RowSelected) -> None:
        self._select(str(event.row_key.value))

    @on(OptionList.OptionSelected, "#team")
    def _member_chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option.id == FINISHED_ROW:
            self.state.fold_finished()
            self._draw()
        elif event.option.id is not None:
            self._select(event.option.id)

    def _select(self, key: str) -> None:
        self.state.select(key)
        self._draw()
        self._focus_line()

    def action_select(self, by: int) -> None:
        """Select the next or previous entity."""
        keys = [EVERYONE, *(one.key for one in self.state.listed)]
        at = keys.index(self.state.selected) if self.state.selected in keys else 0
        self.state.select(keys[(at + by) % len(keys)])
        self._draw()

    @on(TalkPanel.Opened)
    def _entry_opened(self, event: TalkPanel.Opened) -> None:
        self.state.toggle(event.key)
        self._draw()

    @on(TalkPanel.OlderWanted)
    def _older_wanted(self) -> None:
        if not self._is_reading_back:
            self._is_reading_back = True
            self.begin(self._read_back())

    async def _read_back(self) -> None:
        try:
            await self._source.read_older()
            self._draw()
        finally:
            self._is_reading_back = False

    @on(TalkPanel.NewestWanted)
    def _newest_wanted(self) -> None:
        if not self.state.timeline.is_live:
            self.begin(self._source.read_end())

    def action_scroll_talk(self, by: int) -> None:
        """Scroll the conversation by a page while typing."""
        talk = self.query_one(TalkPanel)
        if by < 0:
            talk.scroll_page_up(animate=False)
        else:
            talk.scroll_page_down(animate=False)

    # --- navigation ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is enabled: for the questions if there are some, for the unfocused line."""
        if action == "questions":
            return bool(self.state.waiting)
        if action != "write":
            return True
        is_text = isinstance(self.focused, InputLine) or len(self.screen_stack) > 1
        is_answer = parameters == ("",) and isinstance(self.focused, QuestionBar)
        return not (is_text or is_answer)

    def action_write(self, text: str) -> None:
        """Go to the input line; put `text` into an empty one."""
        line = self._focus_line()
        if text and not line.value:
            line.put(text)

    def _focus_line(self) -> InputLine:
        """Focus the input line and return it, at once: Textual's way handles other keys first."""
        line = self.query_one(InputLine)
        line.screen.set_focus(line)
        return line

    def action_leave_line(self) -> None:
        """Discard a begun answer, else go to the panel."""
        if self._answering is not None:
            self._answering = None
            self._redraw()
        else:
            self._focus_panel()

    def action_go_back(self) -> None:
        """Show the conversation and focus the input line."""
        self.state.show_panel("talk")
        self._draw()
        self._focus_line()

    def action_fold_team(self) -> None:
        """Show or hide the side panel."""
        team = self.query_one(TeamPanel)
        self._is_team_wanted = not team.display
        self._fold()
        if team.display:
            team.focus()

    def _fold(self, width: int | None = None) -> None:
        is_wide = (width or self.size.width) >= NARROW
        team = self.query_one(TeamPanel)
        team.display = is_wide if self._is_team_wanted is None else self._is_team_wanted
        self.screen.set_class(not is_wide, "is-narrow")
        self._drawn = None

    def action_leave(self) -> None:
        """Leave at the second press: the first may be accidental."""
        now = time.monotonic()
        if now - self._ctrl_c_at <= TWICE_SECONDS:
            self.exit()
        self._ctrl_c_at = now
        self.show_notice("press Ctrl+C again to leave; the team goes on")

    def on_key(self, event: events.Key) -> None:
        """Answer a question by a digit, unless the person is typing in the input line."""
        digit = event.character or ""
        is_choice = digit.isdigit() and not isinstance(self.focused, InputLine)
        if is_choice and self.state.waiting and self.query_one(QuestionBar).choose(int(digit)):
            event.stop()

    @on(Input.Changed, "#input")
    def _typed(self) -> None:
        self._key_at = time.monotonic()

    def _names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.state.members)
