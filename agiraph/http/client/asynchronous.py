"""AsyncClient: the client for programs with an event loop; the same calls, as coroutines."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from httpx_sse import EventSource, ServerSentEvent, aconnect_sse
from pydantic import TypeAdapter

from agiraph.http.api.conversation import ThreadEntryView, ThreadKind
from agiraph.http.api.live import ChangeView, StreamedTextView
from agiraph.http.api.work import EventView
from agiraph.http.client.call import Answer, ApiCall, AsyncCaller, agent_path, given
from agiraph.http.client.connection import (
    BAD_REQUEST,
    PAUSE_SECONDS,
    UNAUTHORIZED,
    GatewayConnection,
    refusal_of,
)
from agiraph.http.errors import NotReachable
from agiraph.http.httpx_alone import httpx

STREAM_TIMEOUT = httpx.Timeout(10.0, read=45.0)
"""The gateway sends something every 15 seconds; after three times that it is considered gone."""
SERVER_ERROR = 500
ARCHIVED = 1000
"""The code of an `end` after which the feed is complete."""


class AsyncClient(GatewayConnection[httpx.AsyncClient], AsyncCaller):
    """A few connections to one gateway, for the tasks of one loop; use `async with`."""

    HTTP = httpx.AsyncClient

    async def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        retry_until: float | None = None
        while True:
            try:
                response = await self._http.send(self._request(call))
                self._refuse_strangers(response)
            except httpx.TransportError as error:
                retry_until = self._retry_until(error, retry_until)
                await asyncio.sleep(PAUSE_SECONDS)
                self._find_gateway()
                continue
            if response.status_code != UNAUTHORIZED or not self._find_gateway():
                return self._answer(call, response)

    async def check(self, within_seconds: float) -> None:
        """Raise NotReachable unless the gateway sends any answer within `within_seconds`."""
        try:
            await self._http.get("/health", timeout=within_seconds)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        self._has_answered = True

    async def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> AsyncIterator[EventView]:
        """Yield the events of an agent after `after`, then each new event.

        Each event is yielded once, in order, also if the gateway restarts; `types`, `entity` and
        `node` select events as in `events`. Ends when the agent is archived. Raises NotReachable if
        the gateway stays away, ApiError (status 404) for an unknown agent.
        """
        seq = after
        wanted = given(type=list(types), entity=entity, node=node)
        path = agent_path(agent, "events")
        async with aclosing(self._messages(path, lambda: {"after": seq, **wanted})) as messages:
            async for message in messages:
                event = EventView.model_validate_json(message.data)
                if event.seq > seq:
                    seq = event.seq
                    yield event

    async def follow_changes(self) -> AsyncGenerator[ChangeView, None]:
        """Yield the changes of the home; on each connection first a HomeView.

        Changes during a restart of the gateway are visible in the next HomeView. Raises
        NotReachable if the gateway stays away.
        """
        read = TypeAdapter[ChangeView](ChangeView).validate_json
        async with aclosing(self._messages("/changes", dict)) as messages:
            async for message in messages:
                yield read(message.data)

    async def follow_text(
        self, agent: str, entity: str | None = None
    ) -> AsyncGenerator[StreamedTextView, None]:
        """Yield the texts of an agent's models, or of one entity's, while they are written.

        Begins with the text so far of incomplete answers. Raises NotReachable if the gateway stays
        away, ApiError (status 404) for an unknown agent.
        """
        wanted = given(entity=entity)
        async with aclosing(self._frames(agent_path(agent, "stream"), lambda: wanted)) as frames:
            async for frame in frames:
                yield StreamedTextView.model_validate_json(frame)

    async def follow_thread(
        self,
        agent: str,
        *,
        after: int = 0,
        entity: str | None = None,
        kind: Sequence[ThreadKind] = (),
    ) -> AsyncGenerator[ThreadEntryView, None]:
        """Yield the thread entries of an agent changed after event `after`, then each change.

        `entity` and `kind` are as for `thread`. An entry replaces an earlier entry with the same
        `id`. Errors as in `follow_text`.
        """
        path, seq = agent_path(agent, "thread"), after
        wanted = given(entity=entity, kind=list(kind))
        async with aclosing(self._frames(path, lambda: {"after": seq, **wanted})) as frames:
            async for frame in frames:
                entry = ThreadEntryView.model_validate_json(frame)
                if entry.changed > seq:
                    seq = entry.changed
                    yield entry

    async def _frames(
        self, path: str, query: Callable[[], Mapping[str, Any]]
    ) -> AsyncGenerator[str | bytes, None]:
        """Yield the frames of a WebSocket, also through restarts of the gateway."""
        from websockets.asyncio.client import connect  # slow import, rarely needed
        from websockets.exceptions import InvalidStatus, WebSocketException

        from agiraph.http.event_follower import denied, opening

        lost_at: float | None = None
        while True:
            reason: Exception | None = None
            try:
                known = self._door()
                uri, options = opening(known, path, query(), self._trust)
                async with connect(uri, **options) as socket:
                    lost_at = None
                    async for frame in socket:
                        yield frame
            except InvalidStatus as refused:
                if (refusal := denied(refused, self._door, known)) is not None:
                    raise refusal from None
                reason = refused
            except (OSError, EOFError, NotReachable, WebSocketException) as error:
                reason = error
            now = time.monotonic()
            lost_at = now if lost_at is None else lost_at
            if now - lost_at >= self._patience_seconds:
                raise NotReachable(f"cannot follow {path}: {reason}") from reason
            await asyncio.sleep(PAUSE_SECONDS)

    async def _messages(
        self, path: str, query: Callable[[], Mapping[str, Any]]
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """Yield server-sent events, also through restarts of the gateway."""
        retry_until = None
        while True:
            try:
                async with self._stream(path, query()) as source:
                    async for message in source.aiter_sse():
                        retry_until = None
                        if not message.data:  # it only sets the time between retries
                            continue
                        if message.event == "end":
                            if message.json()["code"] == ARCHIVED:
                                return
                            break
                        yield message
            except httpx.TransportError as error:
                retry_until = self._retry_until(error, retry_until)
            await asyncio.sleep(PAUSE_SECONDS)
            self._find_gateway()

    @asynccontextmanager
    async def _stream(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[EventSource]:
        """Yield an event stream. Raises httpx.TransportError, or ApiError if it is refused."""
        async with aconnect_sse(
            self._http, "GET", path, params=dict(query), timeout=STREAM_TIMEOUT
        ) as source:
            response = source.response
            self._refuse_strangers(response)
            if response.status_code >= BAD_REQUEST:
                await response.aread()
                refusal = refusal_of(response)
                if refusal.status < SERVER_ERROR:
                    raise refusal
                raise httpx.RemoteProtocolError(refusal.detail)
            self._has_answered = True
            yield source

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        """Return the client itself."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the client."""
        await self.close()
