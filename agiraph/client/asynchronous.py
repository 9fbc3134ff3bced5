"""The client for a program with an event loop: the same calls, as coroutines."""

from pathlib import Path
from types import TracebackType

import httpx

from agiraph.client.call import Answer, AsyncCaller, Call
from agiraph.client.calls import Calls
from agiraph.client.door import Door, read_door
from agiraph.client.wire import TIMEOUT_SECONDS, answer_of, away, request_of, settings


class AsyncClient(Calls, AsyncCaller):
    """A few connections to one gateway, for the tasks of one loop; use `async with`."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Talk to the gateway at `url` (`http://127.0.0.1:PORT`) with its token."""
        self.url = url.rstrip("/")
        self._door: Door = lambda: (self.url, token)
        self._http = httpx.AsyncClient(**settings(self.url, token, timeout_seconds))

    @classmethod
    def for_home(cls, home: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> "AsyncClient":
        """Return a client of the gateway that runs on `home`; raise NotReachable if none does."""
        url, token = read_door(home)
        client = cls(url, token, timeout_seconds=timeout_seconds)
        client._door = lambda: read_door(home)
        return client

    async def make(self, call: Call[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        try:
            response = await self._http.send(request_of(self._http, call))
        except httpx.TransportError as error:
            raise away(self.url, error) from error
        return answer_of(call, response)

    async def close(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        """Return the client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()
