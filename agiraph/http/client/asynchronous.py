"""The client for a program with an event loop: the same calls, as coroutines."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType

import httpx

from agiraph.core.models import Event
from agiraph.http.client.call import Answer, ApiCall, AsyncCaller, named, of_agent
from agiraph.http.client.calls import ApiCalls
from agiraph.http.client.connection import GatewayConnection
from agiraph.http.client.reconnect import PAUSE_SECONDS
from agiraph.http.client.streaming import StreamEnd, open_stream
from agiraph.http.client.wire import WHO, answer_of, request_of


class AsyncClient(GatewayConnection[httpx.AsyncClient], ApiCalls, AsyncCaller):
    """A few connections to one gateway, for the tasks of one loop; use `async with`."""

    HTTP = httpx.AsyncClient

    async def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        waiting = self._patience.begin()
        while True:
            try:
                response = await self._http.send(request_of(self._http, call))
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise self._away(error) from error
                await asyncio.sleep(PAUSE_SECONDS)
                self._look_for_the_door()
                continue
            if response.status_code == WHO and self._look_for_the_door():
                continue
            self._patience.has_met = True
            return answer_of(call, response)

    async def check(self, within_seconds: float) -> None:
        """Raise NotReachable unless the gateway answers anything at all within so many seconds."""
        try:
            await self._http.get("/health", timeout=within_seconds)
        except httpx.TransportError as error:
            raise self._away(error) from error
        self._patience.has_met = True

    async def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> AsyncIterator[Event]:
        """Yield the events of an agent, first its log from `after` on, then each as it comes.

        Each comes once, in order, through restarts of the gateway; narrowed as by `events`. Ends
        when the agent is archived. Raises NotReachable when the gateway stays away, ApiError
        (status 404) for an unknown agent.
        """
        seq, waiting = after, self._patience.begin()
        wanted = named(type=list(types), entity=entity, node=node)
        while True:
            try:
                query = {"after": seq, **wanted}
                async with open_stream(self._http, of_agent(agent, "events"), query) as stream:
                    self._patience.has_met = True
                    async for told in stream:
                        waiting = self._patience.begin()
                        if isinstance(told, StreamEnd):
                            if told.is_final:
                                return
                            break
                        if told.seq > seq:
                            seq = told.seq
                            yield told
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise self._away(error) from error
            await asyncio.sleep(PAUSE_SECONDS)
            self._look_for_the_door()

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
