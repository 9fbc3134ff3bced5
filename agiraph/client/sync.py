"""The client for a program that waits for each answer."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import httpx

from agiraph.client.call import Answer, Call, Caller, named, of_agent
from agiraph.client.calls import Calls
from agiraph.client.door import Door, read_door
from agiraph.client.wire import TIMEOUT_SECONDS, answer_of, away, request_of, settings
from agiraph.following import Follower


class Client(Calls, Caller):
    """One connection to one gateway. Not for sharing between threads; close it, or use `with`."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Talk to the gateway at `url` (`http://127.0.0.1:PORT`) with its token."""
        self.url = url.rstrip("/")
        self._door: Door = lambda: (self.url, token)
        self._http = httpx.Client(**settings(self.url, token, timeout_seconds))

    @classmethod
    def for_home(cls, home: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> "Client":
        """Return a client of the gateway that runs on `home`; raise NotReachable if none does."""
        url, token = read_door(home)
        client = cls(url, token, timeout_seconds=timeout_seconds)
        client._door = lambda: read_door(home)
        return client

    def make(self, call: Call[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        try:
            response = self._http.send(request_of(self._http, call))
        except httpx.TransportError as error:
            raise away(self.url, error) from error
        return answer_of(call, response)

    def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> Follower:
        """Return a Follower: iterate over it for Events, first the log from `after` on, then live.

        `types`, `entity` and `node` narrow them as those of `events` do.

        `follower.next(within_seconds)` returns None when nothing came in time. It lives through
        restarts of the gateway. Its methods raise NotReachable when the gateway stays away for
        ten seconds, ApiError (status 404) for an unknown agent.
        """
        wanted = named(type=list(types), entity=entity, node=node)
        return Follower(self._door, of_agent(agent, "events"), after, wanted=wanted)

    def close(self) -> None:
        """Let the connection go."""
        self._http.close()

    def __enter__(self) -> "Client":
        """Return the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
