"""A console session: a person's lines go to the team, what the team says comes to the person.

What is typed goes over the bus from the console's own address. What is said to the human is read
from the human's thread: when the bell rings, and every now and then without it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, assert_never

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME, Address, abbreviated
from agiraph.core.models import DeliveryMode
from agiraph.http.api import (
    AgentView,
    ApiError,
    ConversationMessageView,
    NotReachable,
    QuestionView,
)
from agiraph.http.event_follower import EventFollower
from agiraph.messages import TextMessage
from cli.console.budgets import mind_budget
from cli.console.client_thread import ClientThread
from cli.console.commands import (
    HELP,
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
from cli.console.event_alert import EventAlert
from cli.console.folders import told_path
from cli.console.line_reader import LineReader
from cli.console.recipients import recipients
from cli.console.sanitize import one_line, printable
from cli.console.tree import grown, told_tree
from transport.endpoint import Received
from transport.errors import Nacked

LOOK_EVERY_SECONDS: Final = 2.0
RECENT: Final = 6
PAGE: Final = 200
ENDED: Final = frozenset({"completed", "failed", "stopped"})

Show = Callable[[str], None]


class ConsoleBus(Protocol):
    """What a session needs of its endpoint on the bus."""

    async def send(self, to: str, body: TextMessage) -> bytes:
        """Send a durable message; returns once the router keeps it."""
        ...

    async def receive(self) -> Received:
        """Return the next message to this console."""
        ...

    def done(self, received: Received) -> None:
        """Say that a message has been shown."""
        ...


class ConsoleSession:
    """One person's console on one agent."""

    def __init__(
        self,
        agent: AgentView,
        desk: ClientThread,
        line: ConsoleBus,
        keyboard: LineReader,
        show: Show,
    ) -> None:
        """Put the parts together; `show` prints one text."""
        self._agent = agent
        self._desk = desk
        self._line = line
        self._keyboard = keyboard
        self._show = show
        self._seen = 0
        self._questions: dict[str, QuestionView] = {}
        self._shown: set[str] = set()
        self._is_away = False
        self._waits_for_word = False
        self._heard = asyncio.Event()
        self._looking = asyncio.Lock()

    async def run(self, linger_seconds: float) -> None:
        """Serve until the person leaves.

        When the input ends after something was said (a pipe), waits for the team's next word for
        at most `linger_seconds`. Raises TransportError when the bus is lost for good.
        """
        await self._introduce()
        bell = EventAlert(self._follow)
        bell.start()
        listening = [
            asyncio.ensure_future(self._keep_looking(bell)),
            asyncio.ensure_future(self._keep_receiving()),
        ]
        typing = asyncio.ensure_future(self._keep_typing(linger_seconds))
        try:
            done, _ = await asyncio.wait({typing, *listening}, return_when="FIRST_COMPLETED")
            for task in done:
                task.result()
        finally:
            for task in (typing, *listening):
                task.cancel()
            await asyncio.gather(typing, *listening, return_exceptions=True)
            await asyncio.to_thread(bell.close)

    # --- what the person types ---

    async def _keep_typing(self, linger_seconds: float) -> None:
        while (line := await self._keyboard.line()) is not None:
            try:
                act = read_line(line, tuple(self._questions))
                if isinstance(act, QuitCommand):
                    return
                if act is not None:
                    await self._do(act)
            except (InvalidInput, ApiError, NotReachable, Nacked) as error:
                self._show(f"! {printable(str(error))}")
        if self._waits_for_word:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(linger_seconds):
                    await self._heard.wait()

    async def _do(self, act: Act) -> None:
        match act:
            case SayCommand(to, text, mode):
                await self._say(to, text, mode)
            case AnswerCommand(question, text):
                await self._answer(question, text)
            case SteerCommand(act=order, name=name):
                entity = f"{self._agent.id}/{name}" if name else self._agent.id
                acted = await self._desk.ask(lambda client: client.act(entity, order))
                self._show("\n".join(f"{one.state}  {one.address}" for one in acted.entities))
            case BudgetCommand():
                about = partial(mind_budget, agent=self._agent.id, act=act)
                self._show(printable("\n".join(await self._desk.ask(about))))
            case ShowFilesCommand(path=path):
                found = await self._desk.ask(lambda client: client.workspace(self._agent.id, path))
                self._show(told_path(found))
            case ShowTreeCommand():
                rows = await self._desk.ask(lambda client: client.entities())
                board = await self._desk.ask(lambda client: client.board(self._agent.id))
                self._show(told_tree(grown(self._agent.id, rows, board)))
            case ShowBoardCommand():
                await self._show_board()
            case ShowQuestionsCommand():
                await self._look()
                told = [_told_question(question) for question in self._questions.values()]
                self._show("\n".join(told) or "no open question")
            case ShowHelpCommand():
                self._show(HELP)
            case QuitCommand():
                return
            case _:
                assert_never(act)

    async def _say(self, to: str, text: str, mode: DeliveryMode) -> None:
        for name, address in await self._recipients(to):
            body = TextMessage(content=text, from_name=HUMAN_NAME, to_name=name, mode=mode)
            await self._line.send(address, body)
            self._show(f"→ {name}")
        self._waits_for_word = True
        self._heard.clear()

    async def _recipients(self, to: str) -> list[tuple[str, Address]]:
        if to.casefold() == COORDINATOR_NAME:
            return recipients(self._agent.id, (), to)
        workers = await self._desk.ask(lambda client: client.workers(self._agent.id))
        return recipients(self._agent.id, workers, to)

    async def _answer(self, question: str, text: str) -> None:
        answered = await self._desk.ask(lambda client: client.answer(question, text, via="console"))
        self._questions.pop(answered.id, None)
        self._show(f"→ {printable(answered.sender)} gets your answer")
        self._waits_for_word = True
        self._heard.clear()

    async def _show_board(self) -> None:
        board = await self._desk.ask(lambda client: client.board(self._agent.id))
        rows = [
            f"  {node.status:<10} {one_line(node.name):<24} "
            f"{one_line(node.assigned_worker or '-'):<14} "
            f"{one_line(node.reason or node.summary or node.task, 80)}"
            for node in board.nodes
        ]
        self._show("\n".join(rows) or "no node yet")

    # --- what the team says ---

    def _follow(self, after: int) -> EventFollower:
        return self._desk.follow(self._agent.id, after)

    async def _introduce(self) -> None:
        agent = self._agent
        self._show(
            f"{one_line(agent.name)} ({agent.id}, {agent.status}): {one_line(agent.goal, 300)}"
        )
        for message in (await self._news())[-RECENT:]:
            self._show(_told_message(message))
        await self._look()

    async def _keep_looking(self, bell: EventAlert) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_SECONDS):
                    await bell.rung.wait()
            bell.rung.clear()
            try:
                await self._look()
                self._is_away = False
            except NotReachable as error:
                if not self._is_away:
                    self._show(f"! {printable(str(error))}; still trying")
                self._is_away = True

    async def _look(self) -> None:
        """Show what is new in the thread, the questions and the agent's status."""
        async with self._looking:
            await self._look_once()

    async def _look_once(self) -> None:
        for message in await self._news():
            if message.kind in ("text", "notice") and message.sender != HUMAN_NAME:
                self._show(_told_message(message))
                self._heard.set()
        await self._look_at_questions()
        agent = await self._desk.ask(lambda client: client.agent(self._agent.id))
        if agent.status in ENDED and self._agent.status not in ENDED:
            self._show(f"[{agent.status}] {printable(agent.result or '')}".rstrip())
            self._heard.set()
        self._agent = agent

    async def _news(self) -> list[ConversationMessageView]:
        news: list[ConversationMessageView] = []
        while True:
            page = await self._desk.ask(
                lambda client: client.conversation(self._agent.id, after=self._seen, limit=PAGE)
            )
            news += page.messages
            self._seen = max(self._seen, page.next)
            if len(page.messages) < PAGE:
                return news

    async def _look_at_questions(self) -> None:
        found = await self._desk.ask(lambda client: client.questions(status="open"))
        mine = [question for question in found if question.agent == self._agent.id]
        self._questions = {question.id: question for question in mine}
        for question in mine:
            if question.id not in self._shown:
                self._shown.add(question.id)
                self._show(_told_question(question))
                self._heard.set()

    async def _keep_receiving(self) -> None:
        """Show what is sent to this very console."""
        while True:
            received = await self._line.receive()
            if isinstance(received.body, TextMessage):
                self._show(
                    f"{one_line(received.body.from_name)}: {printable(received.body.content)}"
                )
                self._heard.set()
            self._line.done(received)


def _told_message(message: ConversationMessageView) -> str:
    to = "" if message.to == HUMAN_NAME else f" → {one_line(message.to)}"
    return f"{one_line(message.sender)}{to}: {printable(message.content)}"


def _told_question(question: QuestionView) -> str:
    asked = f"? {one_line(question.sender)} asks: {printable(question.question)}"
    return f"{asked}\n  answer with: /answer {abbreviated(question.id)} text"
