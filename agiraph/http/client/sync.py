"""The client for a program that waits for each answer."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import httpx

from agiraph.http.client.call import Answer, ApiCall, SyncCaller, named, of_agent
from agiraph.http.client.calls import ApiCalls
from agiraph.http.client.connection import GatewayConnection
from agiraph.http.client.reconnect import PAUSE_SECONDS
from agiraph.http.client.wire import WHO, answer_of, request_of

if TYPE_CHECKING:
    from agiraph.http.event_follower import EventFollower


class Client(GatewayConnection[httpx.Client], ApiCalls, SyncCaller):
    """One connection to one gateway. Not for sharing between threads; close it, or use `with`."""

    HTTP = httpx.Client

    def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        waiting = self._patience.begin()
        while True:
            try:
                response = self._http.send(request_of(self._http, call))
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise self._away(error) from error
                time.sleep(PAUSE_SECONDS)
                self._look_for_the_door()
                continue
            if response.status_code == WHO and self._look_for_the_door():
                continue
            self._patience.has_met = True
            return answer_of(call, response)

    def check(self, within_seconds: float) -> None:
        """Raise NotReachable unless the gateway answers anything at all within so many seconds."""
        try:
            self._http.get("/health", timeout=within_seconds)
        except httpx.TransportError as error:
            raise self._away(error) from error
        self._patience.has_met = True

    def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> "EventFollower":
        """Return a EventFollower: iterate over it for Events, first the log from `after` on, then
        live.

        `types`, `entity` and `node` narrow them as those of `events` do.

        `follower.next(within_seconds)` returns None when nothing came in time. It lives through
        restarts of the gateway. Its methods raise NotReachable when the gateway stays away for
        ten seconds, ApiError (status 404) for an unknown agent.
        """
        wanted = named(type=list(types), entity=entity, node=node)
        from agiraph.http.event_follower import (
            EventFollower,  # and with it a library for WebSockets
        )

        return EventFollower(
            self._door, of_agent(agent, "events"), after, wanted=wanted, trust=self._trust
        )

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
