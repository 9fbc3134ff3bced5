"""The plain console: a person's lines go to the team, the team's messages to the person.

The team's texts are read from the agent's thread, which is followed from its end.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Final, assert_never

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import HUMAN_NAME, abbreviated
from agiraph.core.models import ENDED_AGENT
from agiraph.http.api import (
    AgentView,
    ApiError,
    BudgetView,
    NotReachable,
    QuestionView,
    ThreadEntryView,
    ThreadKind,
)
from agiraph.http.client import LATEST, Client
from cli.console.client_thread import ClientThread, ThreadFeed
from cli.console.commands import (
    HELP,
    AnswerCommand,
    BudgetCommand,
    Command,
    QuitCommand,
    SendMessageCommand,
    ShowCommand,
    SteerCommand,
    read_line,
)
from cli.console.event_text import line_of
from cli.console.line_reader import LineReader
from cli.console.plain_text import format_board, format_budget, format_path, format_tree, tree_of
from cli.sanitize import one_line, printable

REFRESH_SECONDS: Final = 2.0
RECENT: Final = 6
SAID: Final[tuple[ThreadKind, ...]] = ("message", "nudge", "question", "answer")
TOLD: Final[tuple[ThreadKind, ...]] = (*SAID, "result", "note")

Show = Callable[[str], None]


def converse(
    connect: Callable[[], Client], agent: AgentView, show: Show, linger_seconds: float
) -> None:
    """Run one console session on stdin; returns when the person leaves.

    Raises NotReachable and ApiError at the start.
    """
    asyncio.run(_converse(connect, agent, show, linger_seconds))


async def _converse(
    connect: Callable[[], Client], agent: AgentView, show: Show, linger_seconds: float
) -> None:
    client, keyboard = ClientThread(connect), LineReader(sys.stdin.fileno())
    try:
        keyboard.start()
        await PlainConsole(agent, client, keyboard, show).run(linger_seconds)
    finally:
        keyboard.close()
        client.close()


async def handle_budget(client: ClientThread, agent: str, command: BudgetCommand) -> list[str]:
    """Show or set an agent's budget; return a line for each. Raises ApiError, NotReachable."""

    def ask(api: Client) -> list[BudgetView]:
        if not command.is_change:
            return api.budgets(agent)
        limits = {"usd": command.usd, "tokens": command.tokens}
        return [api.set_budget(agent, **limits, period=command.period)]  # type: ignore[arg-type]

    found = await client.ask(ask)
    return [format_budget(one) for one in found] or ["no budget is set (/budget 5 sets one)"]


class PlainConsole:
    """One person's plain console on one agent; `show` prints one text."""

    def __init__(
        self, agent: AgentView, client: ClientThread, keyboard: LineReader, show: Show
    ) -> None:
        self._agent = agent
        self._client = client
        self._keyboard = keyboard
        self._show = show
        self._questions: dict[str, QuestionView] = {}
        self._shown: set[str] = set()
        self._is_away = False
        self._expects_reply = False
        self._replied = asyncio.Event()
        self._refreshing = asyncio.Lock()

    async def run(self, linger_seconds: float) -> None:
        """Run until the person leaves.

        If the input ends after a message was sent (a pipe), wait for the team's next message for at
        most `linger_seconds`.
        """
        after = await self._introduce()
        feed = ThreadFeed(lambda seq: self._client.follow(self._agent.id, seq, TOLD), after)
        feed.start()
        watching = asyncio.ensure_future(self._watch(feed))
        typing = asyncio.ensure_future(self._read_lines(linger_seconds))
        try:
            done, _ = await asyncio.wait({typing, watching}, return_when="FIRST_COMPLETED")
            for task in done:
                task.result()
        finally:
            for task in (typing, watching):
                task.cancel()
            await asyncio.gather(typing, watching, return_exceptions=True)
            await asyncio.to_thread(feed.close)

    # --- input of the person ---

    async def _read_lines(self, linger_seconds: float) -> None:
        while (line := await self._keyboard.line()) is not None:
            try:
                command = read_line(line, tuple(self._questions))
                if isinstance(command, QuitCommand):
                    return
                if command is not None:
                    await self._do(command)
            except (InvalidInput, ApiError, NotReachable) as error:
                self._show(f"! {printable(str(error))}")
        if self._expects_reply:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(linger_seconds):
                    await self._replied.wait()

    async def _do(self, command: Command) -> None:
        agent = self._agent.id
        match command:
            case SendMessageCommand(to, text, mode):
                sent = await self._client.ask(lambda api: api.send(agent, text, to=to, mode=mode))
                self._show(f"→ {', '.join(sent.to)}")
                self._expect_reply()
            case AnswerCommand(question, text):
                await self._answer(question, text)
            case SteerCommand(act=act, name=name):
                entity = f"{agent}/{name}" if name else agent
                steered = await self._client.ask(lambda api: api.act(entity, act))
                self._show("\n".join(f"{one.state}  {one.address}" for one in steered.entities))
            case BudgetCommand():
                lines = await handle_budget(self._client, agent, command)
                self._show(printable("\n".join(lines)))
            case ShowCommand():
                self._show(await self._shown_text(command))
            case QuitCommand():
                return
            case _:
                assert_never(command)

    async def _shown_text(self, command: ShowCommand) -> str:
        agent, ask = self._agent.id, self._client.ask
        match command.what:
            case "files":
                return format_path(await ask(lambda api: api.workspace(agent, command.path)))
            case "tree":
                rows = await ask(lambda api: api.entities())
                return format_tree(tree_of(agent, rows, await ask(lambda api: api.board(agent))))
            case "board":
                return format_board(await ask(lambda api: api.board(agent)))
            case "questions":
                await self._refresh()
                lines = map(_format_question, self._questions.values())
                return "\n".join(lines) or "no open questions"
            case "help":
                width = max(len(row.typed) for row in HELP)
                return "\n".join(f"{row.typed:<{width}}  {row.effect}" for row in HELP)

    async def _answer(self, question: str, text: str) -> None:
        answered = await self._client.ask(lambda api: api.answer(question, text, via="console"))
        self._questions.pop(answered.id, None)
        self._show(f"→ {printable(answered.sender)} gets your answer")
        self._expect_reply()

    def _expect_reply(self) -> None:
        self._expects_reply = True
        self._replied.clear()

    # --- messages of the team ---

    async def _introduce(self) -> int:
        """Show the agent and the last messages; return the cursor after them."""
        agent = self._agent
        self._show(
            f"{one_line(agent.name)} ({agent.id}, {agent.status}): {one_line(agent.goal, 300)}"
        )
        page = await self._client.ask(
            lambda api: api.thread(agent.id, before=LATEST, limit=4 * RECENT, kind=SAID)
        )
        said = [entry for entry in page.entries if HUMAN_NAME in (entry.sender, *entry.to)]
        for entry in said[-RECENT:]:
            self._show(_format_entry(entry))
        self._shown.update(entry.id for entry in said)
        await self._refresh()
        return page.next

    async def _watch(self, feed: ThreadFeed) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await feed.came.wait()
            self._show_entries(feed.take())
            try:
                await self._refresh()
                self._is_away = False
            except NotReachable as error:
                if not self._is_away:
                    self._show(f"! {printable(str(error))}; still trying")
                self._is_away = True

    def _show_entries(self, entries: Iterable[ThreadEntryView]) -> None:
        """Show the team's texts to the person, and questions that ended without an answer."""
        for entry in entries:
            is_said = entry.kind == "message" and HUMAN_NAME in entry.to
            is_notice = entry.kind == "note" and entry.number is not None
            if (is_said or is_notice) and entry.id not in self._shown:
                self._shown.add(entry.id)
                self._show(_format_entry(entry))
                self._replied.set()

    async def _refresh(self) -> None:
        """Show new questions, and the agent's status if it changed."""
        async with self._refreshing:
            await self._refresh_questions()
            agent = await self._client.ask(lambda api: api.agent(self._agent.id))
            if agent.status in ENDED_AGENT and self._agent.status not in ENDED_AGENT:
                why = agent.result or agent.reason or ""
                self._show(f"[{agent.status}] {printable(why)}".rstrip())
                self._replied.set()
            self._agent = agent

    async def _refresh_questions(self) -> None:
        found = await self._client.ask(lambda api: api.questions(status="open"))
        mine = [question for question in found if question.agent == self._agent.id]
        self._questions = {question.id: question for question in mine}
        for question in mine:
            if question.id not in self._shown:
                self._shown.add(question.id)
                self._show(_format_question(question))
                self._replied.set()


def _format_entry(entry: ThreadEntryView) -> str:
    if entry.event is not None:
        line = line_of(entry.event)
        return f"{line.who}: {printable(line.text)}"
    others = [one_line(name) for name in entry.to if name != HUMAN_NAME]
    to = f" → {', '.join(others)}" if others else ""
    return f"{one_line(entry.sender)}{to}: {printable(entry.content)}"


def _format_question(question: QuestionView) -> str:
    asked = f"? {one_line(question.sender)} asks: {printable(question.question)}"
    return f"{asked}\n  answer with: /answer {abbreviated(question.id)} text"
