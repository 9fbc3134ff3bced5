"""The API's desk: its blocking client used from asyncio, by one thread, through a restart of it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agiraph.http.api import NotReachable
from agiraph.http.client import Client
from agiraph.http.event_follower import EventFollower

T = TypeVar("T")


class ClientThread:
    """One client and the one thread that uses it. `connect` makes a client, also a second time."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        """Connect; raises NotReachable."""
        self._connect = connect
        self._client = connect()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="api")

    async def ask(self, question: Callable[[Client], T]) -> T:
        """Return what `question` makes of the client; raises ApiError, NotReachable."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, question)

    def follow(self, agent: str, after: int) -> EventFollower:
        """Return a follower of an agent's events; it has a connection of its own."""
        return self._client.follow_events(agent, after=after)

    def _ask(self, question: Callable[[Client], T]) -> T:
        """Ask once; if the gateway has moved, ask again at its new address."""
        try:
            return question(self._client)
        except NotReachable:
            client = self._connect()
            self._client.close()
            self._client = client
            return question(client)

    def close(self) -> None:
        """Let the client and the thread go."""
        self._thread.shutdown(wait=True)
        self._client.close()
