"""The blocking client of the API, used from asyncio through threads."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from agiraph.core.errors import AgiraphError
from agiraph.http.api import ThreadEntryView, ThreadKind
from agiraph.http.client import Client
from agiraph.http.errors import ApiError, NotReachable
from agiraph.http.event_follower import LogFollower

MOST: Final = 2000
POLL_SECONDS: Final = 0.25

T = TypeVar("T")


class ClientThread:
    """One client that is used in its own thread; `connect` makes a client, also repeatedly.

    Creating a ClientThread raises NotReachable.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._client = connect()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="api")

    async def ask(self, question: Callable[[Client], T]) -> T:
        """Return the result of `question` on the client. Raises ApiError, NotReachable."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, question)

    def follow(
        self, agent: str, after: int, kinds: Sequence[ThreadKind] = ()
    ) -> LogFollower[ThreadEntryView]:
        """Return a follower of the thread with an agent, which uses its own connection."""
        return self._client.follow_thread(agent, after=after, kind=kinds)

    def _ask(self, question: Callable[[Client], T]) -> T:
        """Return the result of `question`; if the gateway has moved, ask at its new address."""
        try:
            return question(self._client)
        except NotReachable:
            client = self._connect()
            self._client.close()
            self._client = client
            return question(client)

    def close(self) -> None:
        """Close the client and end the thread."""
        self._thread.shutdown(wait=True)
        self._client.close()


class ThreadFeed:
    """Changes in the thread with an agent after event `after`; `follow(after)` follows it.

    Create it in the event loop. It holds at most MOST entries: when the reader is behind, further
    changes wait in the log. The follower continues from its cursor through every restart, so that
    no change is missed or repeated. `came` is set when there are entries to `take`.
    """

    def __init__(self, follow: Callable[[int], LogFollower[ThreadEntryView]], after: int) -> None:
        self.came = asyncio.Event()
        self.refusal: ApiError | None = None
        self._follow = follow
        self._seq = after
        self._entries: deque[ThreadEntryView] = deque()
        self._changed = threading.Condition()
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="thread", daemon=True)

    def start(self) -> None:
        """Begin to follow the thread with the agent."""
        self._thread.start()

    def take(self, most: int = MOST) -> tuple[ThreadEntryView, ...]:
        """Return up to `most` entries that have arrived since the last call; does not wait."""
        self.came.clear()
        with self._changed:
            taken = tuple(self._entries.popleft() for _ in range(min(most, len(self._entries))))
            self._changed.notify_all()
        return taken

    def close(self) -> None:
        """Stop following; returns within a second."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=4 * POLL_SECONDS)

    def _run(self) -> None:
        while not self._is_over:
            try:
                with self._follow(self._seq) as follower:
                    self._read(follower)
            except ApiError as error:
                self.refusal = error
                return
            except AgiraphError:
                with self._changed:  # the gateway is away; the reader's next question reports it
                    self._changed.wait(POLL_SECONDS)

    def _read(self, follower: LogFollower[ThreadEntryView]) -> None:
        while not self._is_over:
            entry = follower.next(POLL_SECONDS)
            if entry is None:
                continue
            with self._changed:
                while len(self._entries) >= MOST and not self._is_over:
                    self._changed.wait(POLL_SECONDS)
                self._entries.append(entry)
                self._seq = entry.changed
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.came.set)
