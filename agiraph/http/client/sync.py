"""Client: the client for programs without an event loop; each call waits for its answer."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from agiraph.http.api.conversation import ThreadEntryView, ThreadKind
from agiraph.http.api.live import ChangeView, StreamedTextView
from agiraph.http.client.call import Answer, ApiCall, SyncCaller, agent_path, given
from agiraph.http.client.connection import PAUSE_SECONDS, UNAUTHORIZED, GatewayConnection
from agiraph.http.httpx_alone import httpx

if TYPE_CHECKING:
    from agiraph.http.event_follower import EventFollower, Follower, LogFollower


class Client(GatewayConnection[httpx.Client], SyncCaller):
    """One connection to one gateway. Not for sharing between threads; close it, or use `with`."""

    HTTP = httpx.Client

    def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        retry_until: float | None = None
        while True:
            try:
                response = self._http.send(self._request(call))
                self._refuse_strangers(response)
            except httpx.TransportError as error:
                retry_until = self._retry_until(error, retry_until)
                time.sleep(PAUSE_SECONDS)
                self._find_gateway()
                continue
            if response.status_code != UNAUTHORIZED or not self._find_gateway():
                return self._answer(call, response)

    def check(self, within_seconds: float) -> None:
        """Raise NotReachable unless the gateway sends any answer within `within_seconds`."""
        try:
            self._http.get("/health", timeout=within_seconds)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        self._has_answered = True

    def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> "EventFollower":
        """Return an EventFollower: iterate over it for the events after `after`, then live events.

        `types`, `entity` and `node` select events as in `events`. `follower.next(within_seconds)`
        returns None if no event came in time. The follower reconnects while the gateway restarts.
        Its methods raise NotReachable if the gateway stays away, ApiError (status 404) for an
        unknown agent.
        """
        from agiraph.http.event_follower import EventFollower  # imports a WebSocket library

        wanted = given(type=list(types), entity=entity, node=node)
        path = agent_path(agent, "events")
        return EventFollower(self._door, path, after, wanted=wanted, trust=self._trust)

    def follow_thread(
        self,
        agent: str,
        *,
        after: int = 0,
        entity: str | None = None,
        kind: Sequence[ThreadKind] = (),
    ) -> "LogFollower[ThreadEntryView]":
        """Return a follower of the thread entries changed after event `after`, then of each change.

        `entity` and `kind` are as for `thread`. An entry replaces an earlier entry with the same
        `id`. Errors as in `follow_events`.
        """
        from agiraph.http.event_follower import LogFollower

        read, wanted = ThreadEntryView.model_validate_json, given(entity=entity, kind=list(kind))
        return LogFollower(
            self._door, agent_path(agent, "thread"), read, lambda entry: entry.changed, after,
            wanted=wanted, trust=self._trust,
        )  # fmt: skip

    def follow_changes(self) -> "Follower[ChangeView]":
        """Return a Follower of the changes of the home; on each connection first a HomeView.

        It reconnects while the gateway restarts; changes meanwhile are visible in the HomeView.
        """
        from agiraph.http.event_follower import Follower

        read = TypeAdapter[ChangeView](ChangeView).validate_json
        return Follower(self._door, "/changes", read, trust=self._trust)

    def follow_text(self, agent: str, entity: str | None = None) -> "Follower[StreamedTextView]":
        """Return a Follower of the texts of an agent's models, or of one entity's, as written.

        Begins with the text so far of incomplete answers. ApiError (status 404) for an unknown
        agent.
        """
        from agiraph.http.event_follower import Follower

        path, read = agent_path(agent, "stream"), StreamedTextView.model_validate_json
        return Follower(self._door, path, read, wanted=given(entity=entity), trust=self._trust)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> "Client":
        """Return the client itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the client."""
        self.close()
