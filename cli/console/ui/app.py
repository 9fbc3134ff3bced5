"""The screen of the console: panels round one view, which news changes and keys ask to change.

News is taken and drawn a few times a second, however much there is; keys are served in between.
The person's acts run as tasks of their own, so nothing that is slow or away holds up typing.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final, assert_never

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import ContentSwitcher, Input, OptionList, Static

from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.http.api import AgentView, ApiError, NotReachable
from cli.console.commands import (
    Act,
    AnswerCommand,
    BudgetCommand,
    QuitCommand,
    SayCommand,
    ShowBoardCommand,
    ShowFilesCommand,
    ShowHelpCommand,
    ShowQuestionsCommand,
    ShowTreeCommand,
    SteerCommand,
    read_line,
)
from cli.console.sanitize import one_line
from cli.console.ui.board_panel import BoardPanel
from cli.console.ui.conversation_panel import TalkPanel
from cli.console.ui.dialogs import ConfirmScreen
from cli.console.ui.drawing import strips_of_page
from cli.console.ui.files_panel import FilesPanel
from cli.console.ui.header import Place, head_of, keys_of, note_of, target_of
from cli.console.ui.help import HELP_PAGE
from cli.console.ui.input_line import InputLine
from cli.console.ui.lines_panel import LinesPanel
from cli.console.ui.members import EVERYONE
from cli.console.ui.question_bar import QuestionBar
from cli.console.ui.source import ConsoleFeed
from cli.console.ui.team_panel import TeamPanel
from cli.console.ui.theme import MARKDOWN, SHEET, THEME
from cli.console.ui.tree_panel import TreePanel
from cli.console.ui.view import (
    AnswerPosted,
    AnswerRejected,
    ConsoleView,
    EntitySelected,
    EntryToggled,
    News,
    NoticeShown,
    Panel,
    PanelSelected,
    QuestionsReceived,
    reduce,
    talk_changed,
)
from transport.errors import TransportError

FRAME_SECONDS: Final = 0.1
NARROW: Final = 100
TWICE_SECONDS: Final = 2.0


class ConsoleApp(App[None]):
    """One console on one agent; `feed` brings the news and takes the acts."""

    CSS = SHEET
    ENABLE_COMMAND_PALETTE = False
    TITLE = "agiraph"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark", "turn('help')", "help"),
        Binding("f2,s", "fold_team", "team"),
        Binding("f3,b", "turn('board')", "board"),
        Binding("f4,f", "turn('files')", "files"),
        Binding("f5,t", "turn('tree')", "tree"),
        Binding("c", "turn('talk')", "conversation"),
        Binding("i", "write('')", "write"),
        Binding("slash", "write('/')", "command"),
        Binding("at", "write('@')", "to someone"),
        Binding("a,f6", "questions", "answer"),
        Binding("ctrl+n", "select(1)", "next entity", priority=True),
        Binding("ctrl+p", "select(-1)", "previous entity", priority=True),
        Binding("escape", "go_back", "back"),
        Binding("ctrl+q", "quit", "quit", priority=True),
        Binding("ctrl+c", "leave", "quit", priority=True),
    ]

    def __init__(
        self,
        feed: ConsoleFeed,
        agent: AgentView,
        selected: str = COORDINATOR_NAME,
        *,
        is_colourless: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Show `agent`, the conversation with `selected` first; `clock` tells the epoch time."""
        # Only with the terminal's own colours does Textual leave them out; else it makes greys.
        super().__init__(ansi_color=True if is_colourless else None)
        self.view = ConsoleView(agent, selected=selected)
        self._feed = feed
        self._clock = clock
        self._drawn: ConsoleView | None = None
        self._answering: str | None = None
        self._acts: set[asyncio.Task[None]] = set()
        self._team_is_wanted: bool | None = None
        self._reads_back = False
        self._second = 0
        self._ctrl_c_at = self._key_at = float("-inf")

    # --- the screen ---

    def compose(self) -> ComposeResult:
        """Make the panels."""
        yield Static("", id="head", markup=False)
        yield QuestionBar(id="questions")
        with Horizontal(id="middle"):
            yield TeamPanel(id="team")
            with ContentSwitcher(id="panels", initial="talk"):
                yield TalkPanel(id="talk")
                yield BoardPanel(id="board")
                yield FilesPanel(id="files")
                yield TreePanel(id="tree")
                yield LinesPanel(id="help")
        yield Static("", id="note", markup=False)
        with Horizontal(id="line"):
            yield Static("", id="target", markup=False)
            yield InputLine(self._names, id="input")
        yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin to draw the news."""
        self.register_theme(THEME)
        self.theme = THEME.name
        self.console.push_theme(MARKDOWN)
        self._feed.start()
        self._fold()
        self.query_one(InputLine).focus()
        self.set_interval(FRAME_SECONDS, self._frame)
        self._draw()

    async def on_unmount(self) -> None:
        """Let the feed go; the team goes on."""
        for task in self._acts:
            task.cancel()
        await asyncio.gather(*self._acts, return_exceptions=True)
        await self._feed.close()

    def on_resize(self, event: events.Resize) -> None:
        """Fold the side panel away where there is no room for it."""
        self._fold(event.size.width)

    def _frame(self) -> None:
        for news in self._feed.take():
            self._take(news)
        self._draw()

    def _take(self, news: News) -> None:
        before = self.view
        self.view = reduce(self.view, news)
        if isinstance(news, QuestionsReceived):
            known = {question.id for question in before.questions}
            if any(question.id not in known for question in self.view.waiting):
                self._call_for_answer()

    def _draw(self) -> None:
        if not self.query("#keys"):
            return  # the screen is not there yet, or not any more
        view, last, now = self.view, self._drawn, self._clock()
        is_second = int(now) != self._second
        if view is last and not is_second:
            return
        self._second, self._drawn = int(now), view
        self.query_one("#head", Static).update(head_of(view, self.size.width))
        self.query_one(QuestionBar).show(view.waiting, now)
        team = self.query_one(TeamPanel)
        if team.display:
            team.show(view, now)
        if last is None or talk_changed(last, view):
            self.query_one(TalkPanel).show(view)
        if view.panel == "board":
            self.query_one(BoardPanel).show(view.board)
        if view.panel == "tree":
            self.query_one(TreePanel).show(view, now)
        self.query_one(ContentSwitcher).current = view.panel
        note = self.query_one("#note", Static)
        note.display = view.note is not None
        note.update(note_of(view.note))
        self.query_one("#target", Static).update(target_of(view, self._answering))
        self.query_one("#keys", Static).update(keys_of(view, self._place, self.size.width))

    def _do_now(self, news: News) -> None:
        self._take(news)
        self._draw()

    # --- what the person types ---

    @on(InputLine.Entered)
    def _entered(self, event: InputLine.Entered) -> None:
        line = self.query_one(InputLine)
        text, asked = event.text, self._answering
        try:
            if asked is not None and text.strip() and not text.startswith(("/", "@")):
                act: Act | None = AnswerCommand(asked, text.strip())
            else:
                act = read_line(text, (), self.view.recipient)
        except InvalidInput as error:
            self._do_now(NoticeShown(str(error), is_bad=True))
            if not line.value:
                line.put(text)
            return
        line.remember(text)
        self._answering = None
        if self.view.note is not None:
            self._do_now(NoticeShown(""))
        if act is not None:
            self._act(act)

    def _act(self, act: Act) -> None:
        match act:
            case SayCommand(to, text, mode):
                self._begin(self._feed.say(to, text, mode))
            case AnswerCommand(question, text):
                self._answer(question, text)
            case SteerCommand(act=order, name=name):
                self._steer(order, name)
            case BudgetCommand():
                self._begin(self._mind_budget(act))
            case ShowBoardCommand():
                self.action_turn("board")
            case ShowTreeCommand():
                self.action_turn("tree")
            case ShowFilesCommand(path=path):
                self.action_turn("files")
                if path:
                    self._begin(self._open(path))
            case ShowQuestionsCommand():
                self.action_questions()
            case ShowHelpCommand():
                self.action_turn("help")
            case QuitCommand():
                self.exit()
            case _:
                assert_never(act)

    async def _mind_budget(self, act: BudgetCommand) -> None:
        self._do_now(
            NoticeShown("; ".join(one_line(line) for line in await self._feed.budget(act)))
        )

    def _steer(self, order: Any, name: str) -> None:
        agent = self.view.agent.id
        entity = f"{agent}/{name}" if name else agent

        async def steer() -> None:
            acted = await self._feed.order(entity, order)
            told = ", ".join(f"{_short(one.address)} {one.state}" for one in acted.entities)
            self._do_now(NoticeShown(f"{order}: {told}"))

        if order == "stop" and not name:
            question = f"Stop the whole team of {self.view.agent.name}? `agiraph resume` starts it."
            self.push_screen(
                ConfirmScreen(question), lambda is_sure: self._begin(steer()) if is_sure else None
            )
        else:
            self._begin(steer())

    def _answer(self, question: str, text: str) -> None:
        async def answer() -> None:
            try:
                answered = await self._feed.answer(question, text)
            except (AgiraphError, TransportError):
                self._do_now(AnswerRejected(question))
                raise
            self._do_now(NoticeShown(f"{one_line(answered.sender)} gets your answer"))

        self._do_now(AnswerPosted(question))
        self.query_one(InputLine).focus()
        self._begin(answer())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside typing; what goes wrong is told in the status line."""

        async def run() -> None:
            try:
                await work
            except (AgiraphError, ApiError, NotReachable, TransportError) as error:
                self._do_now(NoticeShown(one_line(str(error), 300), is_bad=True))

        task = asyncio.ensure_future(run())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)

    # --- questions ---

    def _call_for_answer(self) -> None:
        """Draw the person to a new question, unless he is in the middle of a line."""
        self.bell()
        line = self.query_one(InputLine)
        if len(self.screen_stack) == 1 and not line.value and line.has_focus:
            self.query_one(QuestionBar).show(self.view.waiting, self._clock())
            self.query_one(QuestionBar).arm(self._key_at)

    @on(QuestionBar.Answered)
    def _option_chosen(self, event: QuestionBar.Answered) -> None:
        self._answer(event.question, event.answer)

    @on(QuestionBar.WordsWanted)
    def _words_wanted(self, event: QuestionBar.WordsWanted) -> None:
        if event.first in ("/", "@"):
            self.action_write(event.first)
            return
        self._answering = event.question
        line = self.query_one(InputLine)
        line.put(line.value + event.first)
        line.focus()
        self._drawn = None
        self._draw()

    def action_questions(self) -> None:
        """Go to the questions."""
        if self.view.waiting:
            self.query_one(QuestionBar).focus()
        else:
            self._do_now(NoticeShown("no question is open"))

    # --- the panels ---

    def action_turn(self, panel: Panel) -> None:
        """Show a panel; asked for the one that is shown, go back to the conversation."""
        self._do_now(PanelSelected("talk" if panel == self.view.panel else panel))
        self._focus_panel()
        if self.view.panel == "files":
            self._begin(self._open(self.query_one(FilesPanel).path))

    def _focus_panel(self) -> None:
        match self.view.panel:
            case "talk":
                self.query_one(TalkPanel).focus()
            case "board":
                self.query_one("#nodes").focus()
            case "files":
                self.query_one(FilesPanel).focus_inside()
            case "tree":
                self.query_one("#twigs").focus()
            case "help":
                page = self.query_one("#help", LinesPanel)
                width = max(20, self.query_one("#panels").size.width - 2)
                lines = strips_of_page(HELP_PAGE, width, self.console, is_markdown=True)
                page.set_lines(lines, to_end=False, keep_from_end=False)
                page.focus()

    async def _open(self, path: str) -> None:
        self.query_one(FilesPanel).show(await self._feed.open_file(path))

    @on(FilesPanel.Wanted)
    def _file_wanted(self, event: FilesPanel.Wanted) -> None:
        self._begin(self._open(event.path))

    @on(TreePanel.Chosen)
    def _twig_chosen(self, event: TreePanel.Chosen) -> None:
        self._select(event.key)

    @on(OptionList.OptionSelected, "#team")
    def _member_chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option.id is not None:
            self._select(event.option.id)

    def _select(self, key: str) -> None:
        self._do_now(EntitySelected(key))
        self.query_one(InputLine).focus()

    def action_select(self, by: int) -> None:
        """Look at the next or previous entity."""
        keys = [EVERYONE, *(one.key for one in self.view.members)]
        at = keys.index(self.view.selected) if self.view.selected in keys else 0
        self._do_now(EntitySelected(keys[(at + by) % len(keys)]))

    @on(TalkPanel.Opened)
    def _entry_opened(self, event: TalkPanel.Opened) -> None:
        self._do_now(EntryToggled(event.key))

    @on(TalkPanel.OlderWanted)
    def _older_wanted(self) -> None:
        if not self._reads_back:
            self._reads_back = True
            self._begin(self._read_back())

    async def _read_back(self) -> None:
        try:
            for news in await self._feed.older(self.view):
                self._take(news)
            self._draw()
        finally:
            self._reads_back = False

    @on(TalkPanel.NewestWanted)
    def _newest_wanted(self) -> None:
        if not self.view.timeline.is_live:
            self._begin(self._return())

    async def _return(self) -> None:
        self._do_now(await self._feed.latest())

    def action_scroll_talk(self, by: int) -> None:
        """Scroll the conversation by a page from where one types."""
        messenger = self.query_one(TalkPanel)
        if by < 0:
            messenger.scroll_page_up(animate=False)
        else:
            messenger.scroll_page_down(animate=False)

    # --- moving about ---

    @property
    def _is_writing(self) -> bool:
        return isinstance(self.focused, InputLine)

    @property
    def _place(self) -> Place:
        if self._is_writing:
            return "line"
        return "question" if isinstance(self.focused, QuestionBar) else "panel"

    def on_descendant_focus(self) -> None:
        """Show the keys that count now."""
        self._drawn = None

    def action_write(self, text: str) -> None:
        """Go to the line and begin with `text`."""
        line = self.query_one(InputLine)
        line.focus()
        if text and not line.value:
            line.put(text)

    @on(InputLine.Left)
    def _line_left(self) -> None:
        if self._answering is not None:
            self._answering = None
            self._drawn = None
            self._draw()
        else:
            self._focus_panel()

    def action_go_back(self) -> None:
        """Go back to the conversation, and from there to the line."""
        if self.view.panel != "talk":
            self._do_now(PanelSelected("talk"))
        self.query_one(InputLine).focus()

    def action_fold_team(self) -> None:
        """Show or hide the side panel."""
        team = self.query_one(TeamPanel)
        self._team_is_wanted = not team.display
        self._fold()
        if team.display:
            team.focus()

    def _fold(self, width: int | None = None) -> None:
        is_wide = (width or self.size.width) >= NARROW
        team = self.query_one(TeamPanel)
        team.display = is_wide if self._team_is_wanted is None else self._team_is_wanted
        self.screen.set_class(not is_wide, "is-narrow")
        self._drawn = None

    def action_leave(self) -> None:
        """Leave at the second press: the first may be a habit."""
        now = time.monotonic()
        if now - self._ctrl_c_at <= TWICE_SECONDS:
            self.exit()
        self._ctrl_c_at = now
        self._do_now(NoticeShown("press Ctrl+C again to leave; the team goes on"))

    def on_key(self, event: events.Key) -> None:
        """Answer with a digit from everywhere but the line."""
        digit = event.character or ""
        is_choice = digit.isdigit() and not self._is_writing and bool(self.view.waiting)
        if is_choice and self.query_one(QuestionBar).choose(int(digit)):
            event.stop()

    @on(Input.Changed, "#input")
    def _typed(self) -> None:
        self._key_at = time.monotonic()

    def _names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.view.members)


def _short(address: str) -> str:
    return address.partition("/")[2] or address
