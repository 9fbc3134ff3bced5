"""The source: updates the console's state, and executes the person's actions.

    the conversation      a follower of the agent's thread, which a thread of its own reads
    questions,            asked for when an entry may have changed them, and every few seconds
    board, team           without one
    agent, entities       asked for every second
    streaming text        the broker's, over the bus, while the console is open; of a home on
                          another machine, over the API
    texts, answers, acts  over the API

The screen applies the entries when it is about to be drawn, many at once.
"""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

from agiraph.core.clock import SystemClock
from agiraph.core.ids import BROKER, COORDINATOR_NAME
from agiraph.core.models import DeliveryMode
from agiraph.core.turns import Usage
from agiraph.http.api import (
    ApiError,
    EntityAct,
    EntityView,
    FileContentView,
    FolderView,
    NotReachable,
    QuestionView,
    SteeredView,
    ThreadKind,
    ThreadPageView,
)
from agiraph.http.client import LATEST, Client
from agiraph.messages.authorization import MESSAGES, refusal
from agiraph.messages.model import StreamDelta, SubscribeToStream
from cli.console.client_thread import ClientThread, ThreadFeed
from cli.console.commands import BudgetCommand
from cli.console.session import handle_budget
from cli.console.ui.state import ConsoleState
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.errors import TransportError

REFRESH_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.25
SUBSCRIBE_SECONDS: Final = 4.0
HELLO_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 0.5
MOST_ENTRIES: Final = 400
PAGE: Final = 400

ALL_RUNS: Final = "*"

Topic = Literal["questions", "board", "team"]
TOPICS: Final[frozenset[Topic]] = frozenset({"questions", "board", "team"})
OF_TEXTS: Final = ("message", "nudge")
OF_QUESTIONS: Final = ("question", "answer", "result", "note")
OF_BOARD: Final = ("result", "note")


class ConsoleSource:
    """The source of one console on one agent; tests override the requests to the API.

    Its clients are made by `connect`, which raises NotReachable.
    """

    def __init__(
        self, connect: Callable[[], Client], state: ConsoleState, *, has_bus: bool = True
    ) -> None:
        self._state = state
        self._has_bus = has_bus
        self._agent = state.agent.id
        self._reader, self._writer = ClientThread(connect), ClientThread(connect)
        self._feed: ThreadFeed | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stale: set[Topic] = set(TOPICS)
        self._changed = asyncio.Event()
        self._run: str | None = state.agent.run
        self._clock = SystemClock()

    def start(self) -> None:
        """Begin to follow the agent; call this in the event loop."""
        works = (self._read_thread(), self._refresh_forever(), self._listen_forever())
        self._tasks = [asyncio.ensure_future(work) for work in works]

    async def close(self) -> None:
        """Stop following and close the clients; the team continues."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._feed is not None:
            await asyncio.to_thread(self._feed.close)
        await asyncio.to_thread(self._reader.close)
        await asyncio.to_thread(self._writer.close)

    def apply_entries(self) -> None:
        """Add new entries of the thread to the state, as many as can be drawn at once."""
        entries = self._feed.take(MOST_ENTRIES) if self._feed is not None else ()
        if entries:
            self._state.add_entries(entries)
            kinds = {entry.kind for entry in entries}
            self._mark_stale(*(topic for topic in TOPICS if _may_change(topic, kinds)))

    # --- actions of the person; all raise ApiError, NotReachable ---

    async def say(self, to: str, text: str, mode: DeliveryMode) -> None:
        """Send a text to one entity by name, or to all as `*`; it is shown at once.

        While the gateway is away, the text is sent again with the same key, so that it is delivered
        once.
        """
        key = uuid.uuid4().hex
        self._state.post_text(key, to, text, self._clock.now())
        while True:
            try:
                sent = await self._writer.ask(
                    lambda api: api.send(self._agent, text, to=to, mode=mode, key=key)
                )
            except NotReachable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except ApiError as error:
                self._state.reject_text(key, f"not sent to {to}: {error}")
                return
            self._state.accept_text(key, sent.id)
            return

    async def answer(self, question: str, text: str) -> QuestionView:
        """Answer a question; return it as answered."""
        answered = await self._writer.ask(lambda api: api.answer(question, text, via="console"))
        self._mark_stale("questions")
        return answered

    async def steer(self, entity: str, act: EntityAct) -> SteeredView:
        """Stop, pause or resume an entity or a whole agent; return the new states."""
        steered = await self._writer.ask(lambda api: api.act(entity, act))
        self._mark_stale("questions")
        return steered

    async def handle_budget(self, command: BudgetCommand) -> list[str]:
        """Show or set the agent's budget; return a line for each budget."""
        lines = await handle_budget(self._writer, self._agent, command)
        self._mark_stale("questions")
        return lines

    async def open_file(self, path: str) -> FolderView | FileContentView:
        """Return a folder or a file of the run."""
        return await self._writer.ask(lambda api: api.workspace(self._agent, path))

    async def read_older(self) -> None:
        """Add the page before the displayed entries."""
        before = self._state.timeline.previous
        if before is not None:
            self._state.add_page(await self._page(before))

    async def read_end(self) -> None:
        """Show the end of the thread again."""
        self._state.restart(await self._page(LATEST))

    async def _page(self, before: int) -> ThreadPageView:
        def ask(api: Client) -> ThreadPageView:
            return api.thread(self._agent, before=before, limit=PAGE)

        return await self._writer.ask(ask)

    async def _read_thread(self) -> None:
        """Show the end of the thread, then begin to follow the thread from there."""
        while True:
            try:
                page = await self._page(LATEST)
                break
            except NotReachable:
                await asyncio.sleep(RETRY_SECONDS)
        self._state.restart(page)
        self._feed = ThreadFeed(lambda seq: self._reader.follow(self._agent, seq), page.next)
        self._feed.start()

    # --- requests ---

    def _mark_stale(self, *topics: Topic) -> None:
        if topics:
            self._stale.update(topics)
            self._changed.set()

    async def _refresh_forever(self) -> None:
        """Refresh the state soon after changes, and every second without changes."""
        quiet = 0
        while True:
            stale, self._stale = self._stale, set()
            self._changed.clear()
            try:
                await self._refresh(stale if quiet % 3 else set(TOPICS))
                self._state.set_away("gateway", is_away=False)
            except NotReachable:
                self._stale |= stale
                self._state.set_away("gateway", is_away=True)
            except ApiError as error:
                self._state.notify(str(error), is_bad=True)
                await asyncio.sleep(REFRESH_SECONDS)
            if self._feed is not None and self._feed.refusal is not None:
                self._state.notify(str(self._feed.refusal), is_bad=True)
            try:
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._changed.wait()
                quiet = 1
            except TimeoutError:
                quiet += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _refresh(self, topics: set[Topic]) -> None:
        ask = self._reader.ask
        agent = await ask(lambda api: api.agent(self._agent))
        if agent.run != self._run:
            self._run = agent.run
            topics = set(TOPICS)
        self._state.set_status(agent, await ask(lambda api: api.entities()))
        if "questions" in topics:
            self._state.set_questions(await ask(lambda api: api.questions(status="open")))
        if "board" in topics and agent.run is not None:
            self._state.set_board(await ask(lambda api: api.board(self._agent)))
        if "team" in topics and agent.run is not None:
            self._state.set_workers(await ask(lambda api: api.workers(self._agent)))
            with suppress(ApiError):  # the broker may be restarting
                self._state.set_usage(await ask(lambda api: api.usage(agent=self._agent)))

    # --- streaming text ---

    async def _listen_forever(self) -> None:
        """Show the streaming text until cancelled; reconnect after each failure.

        The text comes over the bus, with a ticket of the gateway, or over the API.
        """
        while True:
            with suppress(ApiError, NotReachable, TransportError):
                await (self._listen() if self._has_bus else self._follow_text())
            self._state.set_away("bus", is_away=True)
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow_text(self) -> None:
        """Show the streaming text of the models, read from the gateway."""
        follower = await self._writer.ask(lambda api: api.follow_text(self._agent))
        try:
            while True:
                piece = await asyncio.to_thread(follower.next, REFRESH_SECONDS)
                self._state.set_away("bus", is_away=False)
                if piece is not None and (piece.text or piece.restarted):
                    key, is_whole = piece.address.partition("/")[2], piece.restarted or not piece.at
                    self._state.stream(key, piece.call, piece.text, restarted=is_whole)
        finally:
            await asyncio.to_thread(follower.close)

    async def _listen(self) -> None:
        ticket = await self._writer.ask(lambda api: api.attach_console())
        endpoint = Endpoint(
            url=ticket.router_url,
            address=ticket.address,
            incarnation=ticket.incarnation,
            ticket=bytes.fromhex(ticket.ticket),
            codec=Codec(MESSAGES),
        )
        try:
            await endpoint.start(HELLO_SECONDS)
            subscribing = asyncio.ensure_future(self._subscribe(endpoint))
            try:
                await self._receive(endpoint)
            finally:
                subscribing.cancel()
        finally:
            await endpoint.close()

    async def _subscribe(self, endpoint: Endpoint) -> None:
        """Renew the subscription to the broker's stream, and show whether the bus is reachable."""
        asked_at = float("-inf")
        while True:
            self._state.set_away("bus", is_away=not endpoint.is_up)
            if not endpoint.is_up:
                asked_at = float("-inf")
            elif self._clock.monotonic() - asked_at >= SUBSCRIBE_SECONDS:
                asked_at = self._clock.monotonic()
                endpoint.post(BROKER, SubscribeToStream(agent=self._agent))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _receive(self, endpoint: Endpoint) -> None:
        while True:
            received = await endpoint.receive()
            header, body = received.header, received.body
            is_ours = refusal(header.sender, header.to, body) is None
            if is_ours and isinstance(body, StreamDelta) and (body.text or body.restarted):
                key = body.entity.partition("/")[2]
                is_whole = body.restarted or not body.at
                self._state.stream(key, body.call.hex(), body.text, restarted=is_whole)
            endpoint.done(received)


class TopSource:
    """The requests of `top` to the API, through clients made by `connect`.

    All except `close` raise ApiError, NotReachable; creating a client raises NotReachable.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._reader, self._writer = ClientThread(connect), ClientThread(connect)

    async def rows(self) -> list[EntityView]:
        """Return all entities."""
        return await self._reader.ask(lambda api: api.entities())

    async def spent(self, agent: str | None) -> Usage:
        """Return the spending of all entities, or of one agent's, including ended ones."""
        run = ALL_RUNS if agent else None
        return (await self._reader.ask(lambda api: api.usage(agent=agent, run=run))).total

    async def steer(self, address: str, act: EntityAct) -> SteeredView:
        """Execute an act on one entity; return its new state."""
        return await self._writer.ask(lambda api: api.act(address, act))

    async def interrupt(self, address: str, text: str) -> None:
        """Send a text that cancels the step in progress."""
        agent, _, inner = address.partition("/")
        to = None if inner == COORDINATOR_NAME else inner
        await self._writer.ask(lambda api: api.send(agent, text, to=to, mode="interrupt"))

    def close(self) -> None:
        """Close both connections."""
        self._reader.close()
        self._writer.close()


def _may_change(topic: Topic, kinds: set[ThreadKind]) -> bool:
    """Whether entries of these kinds may have changed a topic."""
    match topic:
        case "questions":
            return not kinds.isdisjoint(OF_QUESTIONS)
        case "board":
            return not kinds.isdisjoint(OF_BOARD)
        case "team":
            return not kinds.issubset(OF_TEXTS)
