"""The source: where the view's news comes from, and where the person's acts go to.

    events                a follower of the agent's log (`inlet`)
    messages, questions   asked for when an event rings, and every now and then without one
    entities, board       the same
    streaming text        the broker's, over the bus (`seat`), while we ask for it
    what the person says  over the bus, from the console's own address
    answers and orders    over the API

The screen takes the news when it is about to be drawn, many at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, Protocol

from agiraph.core.clock import SystemClock
from agiraph.core.ids import BROKER, COORDINATOR_NAME, HUMAN_NAME, message_id
from agiraph.core.models import DeliveryMode
from agiraph.http.api import (
    AgentView,
    ApiError,
    EntityAct,
    FileContentView,
    FolderView,
    NotReachable,
    QuestionView,
    SteeredView,
)
from agiraph.http.client import Client
from agiraph.messages import StreamDelta, SubscribeToStream, TextMessage
from cli.console.budgets import mind_budget
from cli.console.client_thread import ClientThread
from cli.console.commands import BudgetCommand
from cli.console.console_endpoint import ConsoleEndpoint
from cli.console.recipients import recipients
from cli.console.ui.event_feed import EventFeed
from cli.console.ui.logs import PAGE, older_pages, recent_messages
from cli.console.ui.view import (
    BoardReceived,
    Channel,
    ChannelLost,
    ChannelRestored,
    ConsoleView,
    EventsReceived,
    MessagesReceived,
    News,
    NoticeShown,
    QuestionsReceived,
    ReturnedToEnd,
    StatusReceived,
    TextAccepted,
    TextPosted,
    TextReceived,
    TextRejected,
    rings_for_board,
    rings_for_messages,
    rings_for_questions,
)
from transport.endpoint import Received
from transport.errors import Nacked

LOOK_SECONDS: Final = 1.0
CALM_SECONDS: Final = 0.25
LISTEN_SECONDS: Final = 4.0
MOST_EVENTS: Final = 400
VIA: Final = "console"

Matter = Literal["messages", "questions", "board"]


class ConsoleFeed(Protocol):
    """What the screen needs of a source; tests bring their own."""

    def start(self) -> None:
        """Begin; call it in the event loop."""
        ...

    async def close(self) -> None:
        """End; the team goes on."""
        ...

    def take(self) -> list[News]:
        """Return the news since the last time."""
        ...

    async def say(self, to: str, text: str, mode: DeliveryMode) -> None:
        """Send a text to one entity by name, or to all as `*`. Raises InvalidInput."""
        ...

    async def answer(self, question: str, text: str) -> QuestionView:
        """Answer a question. Raises ApiError, NotReachable."""
        ...

    async def order(self, entity: str, act: EntityAct) -> SteeredView:
        """Stop, pause, resume... an entity or a whole agent. Raises ApiError, NotReachable."""
        ...

    async def budget(self, act: BudgetCommand) -> list[str]:
        """Show what the agent may spend, or set it. Raises ApiError, NotReachable."""
        ...

    async def older(self, view: ConsoleView) -> list[News]:
        """Return the page of the conversation before what stands in the view."""
        ...

    async def latest(self) -> News:
        """Return the end of the conversation, read anew."""
        ...

    async def open_file(self, path: str) -> FolderView | FileContentView:
        """Return a folder or a file of the run. Raises ApiError, NotReachable."""
        ...


class ConsoleSource:
    """The source of one console on one agent."""

    def __init__(self, connect: Callable[[], Client], agent: AgentView) -> None:
        """Prepare to ask through clients that `connect` makes. Raises NotReachable."""
        self.agent = agent
        self._eyes, self._hands = ClientThread(connect), ClientThread(connect)
        self._endpoint = ConsoleEndpoint(self._ticket, self._overhear)
        after = max(0, agent.last_event - PAGE)
        self._event_feed = EventFeed(lambda seq: self._eyes.follow(agent.id, seq), after)
        self._news: deque[News] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._wanted: set[Matter] = {"messages", "questions", "board"}
        self._rung = asyncio.Event()
        self._seen_message = 0
        self._seen_event = after
        self._run: str | None = agent.run
        self._away: set[Channel] = set()
        self._clock = SystemClock()

    def start(self) -> None:
        """Begin to follow, to look and to sit on the bus."""
        self._event_feed.start()
        works = (self._keep_looking(), self._endpoint.run(), self._keep_listening())
        self._tasks = [asyncio.ensure_future(work) for work in works]

    async def close(self) -> None:
        """Leave the bus with a goodbye and let connections go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._event_feed.close)
        await asyncio.to_thread(self._eyes.close)
        await asyncio.to_thread(self._hands.close)

    def take(self) -> list[News]:
        """Return the news since the last time; events come in pieces that can be drawn at once."""
        events = self._event_feed.take(MOST_EVENTS)
        if events:
            self._seen_event = events[-1].seq
            self._news.append(EventsReceived(events))
            self._ring(
                *(("messages",) if any(map(rings_for_messages, events)) else ()),
                *(("questions",) if any(map(rings_for_questions, events)) else ()),
                *(("board",) if any(map(rings_for_board, events)) else ()),
            )
        news, self._news = list(self._news), deque()
        return news

    # --- the person acts ---

    async def say(self, to: str, text: str, mode: DeliveryMode) -> None:
        """Send a text over the bus; it is shown at once, and as sent when the router keeps it."""
        workers = []
        if to.casefold() != COORDINATOR_NAME:
            workers = await self._hands.ask(lambda client: client.workers(self.agent.id))
        known = recipients(self.agent.id, workers, to)
        sent = [(name, address, message_id()) for name, address in known]
        first = sent[0][2].hex()
        shown = to if len(sent) > 1 else sent[0][0]
        self._news.append(TextPosted(first, shown, text, self._clock.now()))
        try:
            for name, address, id in sent:
                body = TextMessage(content=text, from_name=HUMAN_NAME, to_name=name, mode=mode)
                await self._endpoint.send(address, body, id)
        except Nacked as error:
            self._news.append(TextRejected(first, f"not sent to {name}: {error}"))
            return
        self._news.append(TextAccepted(first))
        self._ring("messages")

    async def answer(self, question: str, text: str) -> QuestionView:
        """Answer a question over the API."""
        answered = await self._hands.ask(lambda client: client.answer(question, text, via=VIA))
        self._ring("questions")
        return answered

    async def order(self, entity: str, act: EntityAct) -> SteeredView:
        """Steer an entity over the API."""
        acted = await self._hands.ask(lambda client: client.act(entity, act))
        self._ring("questions")
        return acted

    async def budget(self, act: BudgetCommand) -> list[str]:
        """Ask the API what the agent may spend, or set it; return a line for each budget."""
        told = await self._hands.ask(partial(mind_budget, agent=self.agent.id, act=act))
        self._ring("questions")
        return told

    async def older(self, view: ConsoleView) -> list[News]:
        """Return the events and messages before those that stand in the view."""
        timeline = view.timeline
        return await self._hands.ask(
            lambda client: older_pages(
                client, self.agent.id, timeline.first_event, timeline.first_message
            )
        )

    async def latest(self) -> News:
        """Return the end of both logs, up to where the follower stands."""
        after = max(0, self._seen_event - PAGE)

        def ask(client: Client) -> ReturnedToEnd:
            page = client.events(self.agent.id, after=after, limit=self._seen_event - after or 1)
            since = page.events[0].ts if page.events else 0.0
            return ReturnedToEnd(page.events, tuple(recent_messages(client, self.agent.id, since)))

        return await self._hands.ask(ask)

    async def open_file(self, path: str) -> FolderView | FileContentView:
        """Return what stands at a path of the run."""
        return await self._hands.ask(lambda client: client.workspace(self.agent.id, path))

    # --- looking ---

    def _ring(self, *matters: Matter) -> None:
        if matters:
            self._wanted.update(matters)
            self._rung.set()

    async def _keep_looking(self) -> None:
        """Look when something rang, but calmly, and every second without a ring."""
        quiet = 0
        while True:
            rang = self._wanted
            self._wanted = set()
            self._rung.clear()
            try:
                await self._look(rang if quiet % 3 else rang | {"messages", "questions", "board"})
                self._found("gateway")
            except NotReachable:
                self._wanted |= rang
                self._lost("gateway")
            except ApiError as error:
                self._news.append(NoticeShown(str(error), is_bad=True))
                await asyncio.sleep(LOOK_SECONDS)
            if self._event_feed.refusal is not None:
                self._news.append(NoticeShown(str(self._event_feed.refusal), is_bad=True))
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._rung.wait()
                quiet = 1
            except TimeoutError:
                quiet += 1
            await asyncio.sleep(CALM_SECONDS)

    async def _look(self, matters: set[Matter]) -> None:
        agent = await self._eyes.ask(lambda client: client.agent(self.agent.id))
        if agent.run != self._run:
            self._run, self._seen_message = agent.run, 0
            matters = {"messages", "questions", "board"}
        rows = await self._eyes.ask(lambda client: client.entities())
        self._news.append(StatusReceived(agent, tuple(rows)))
        if "questions" in matters:
            questions = await self._eyes.ask(lambda client: client.questions(status="open"))
            self._news.append(QuestionsReceived(tuple(questions)))
        if "messages" in matters:
            await self._look_at_messages()
        if "board" in matters and agent.run is not None:
            board = await self._eyes.ask(lambda client: client.board(self.agent.id))
            self._news.append(BoardReceived(board))

    async def _look_at_messages(self) -> None:
        """Read on in the message log; at first only what is recent."""
        after = self._seen_message
        found = await self._eyes.ask(
            lambda client: recent_messages(client, self.agent.id, 0.0, after)
        )
        if found:
            self._seen_message = found[-1].seq
            self._news.append(MessagesReceived(tuple(found)))

    async def _keep_listening(self) -> None:
        """Say whether the bus is there, and ask the broker again and again for what streams."""
        asked_at = float("-inf")
        while True:
            if self._endpoint.is_seated:
                self._found("bus")
                if self._clock.monotonic() - asked_at >= LISTEN_SECONDS:
                    asked_at = self._clock.monotonic()
                    self._endpoint.post(BROKER, SubscribeToStream(agent=self.agent.id))
            else:
                self._lost("bus")
                asked_at = float("-inf")
            await asyncio.sleep(CALM_SECONDS)

    async def _ticket(self):  # type: ignore[no-untyped-def]
        return await self._hands.ask(lambda client: client.attach_console())

    def _overhear(self, received: Received) -> None:
        match received.body:
            case StreamDelta() as heard:
                key = heard.entity.partition("/")[2]
                self._news.append(TextReceived(key, heard.call, heard.text, heard.restarted))
            case TextMessage() as text:
                self._news.append(NoticeShown(f"{text.from_name}: {text.content}"))

    def _lost(self, channel: Channel) -> None:
        if channel not in self._away:
            self._away.add(channel)
            self._news.append(ChannelLost(channel))

    def _found(self, channel: Channel) -> None:
        if channel in self._away:
            self._away.discard(channel)
            self._news.append(ChannelRestored(channel))
