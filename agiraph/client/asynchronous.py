"""The client for a program with an event loop: the same calls, as coroutines."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType

import httpx

from agiraph.api.errors import NotReachable
from agiraph.client.call import Answer, AsyncCaller, Call, named, of_agent
from agiraph.client.calls import Calls
from agiraph.client.door import Door, is_supervised, read_cert, read_door
from agiraph.client.patience import PATIENCE_SECONDS, PAUSE_SECONDS, Patience
from agiraph.client.streaming import End, open_stream
from agiraph.client.trust import trust_of
from agiraph.client.wire import TIMEOUT_SECONDS, WHO, answer_of, away, request_of, settings
from agiraph.models import Event


class AsyncClient(Calls, AsyncCaller):
    """A few connections to one gateway, for the tasks of one loop; use `async with`."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        cert: Path | None = None,
    ) -> None:
        """Talk to the gateway at `url` (`http://127.0.0.1:PORT`) with its token.

        A gateway that answered before and goes away is waited for, `patience_seconds` long; the
        call is then made again, under the same Idempotency-Key, so it does nothing twice. `cert` is
        the certificate that it shows, if no known authority vouches for it.
        """
        self.url = url.rstrip("/")
        trust = trust_of(self.url, cert)
        self._door: Door = lambda: (self.url, token)
        self._patience = Patience(patience_seconds, lambda: True)
        self._http = httpx.AsyncClient(**settings(self.url, token, timeout_seconds, trust))

    @classmethod
    def for_home(
        cls,
        home: Path,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> "AsyncClient":
        """Return a client of the gateway that runs on `home`; raise NotReachable if none does."""
        url, token = read_door(home)
        client = cls(
            url,
            token,
            timeout_seconds=timeout_seconds,
            patience_seconds=patience_seconds,
            cert=read_cert(home),
        )
        client._door = lambda: read_door(home)
        client._patience.is_expected = lambda: is_supervised(home)
        return client

    async def make(self, call: Call[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        waiting = self._patience.begin()
        while True:
            try:
                response = await self._http.send(request_of(self._http, call))
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise away(self.url, error) from error
                await asyncio.sleep(PAUSE_SECONDS)
                self._look_for_the_door()
                continue
            if response.status_code == WHO and self._look_for_the_door():
                continue
            self._patience.has_met = True
            return answer_of(call, response)

    def _look_for_the_door(self) -> bool:
        """Talk to where the gateway is now; return whether it has another token by now.

        It may have another port after a restart, and its token may have been rotated.
        """
        try:
            url, token = self._door()
        except NotReachable:
            return False
        self.url = url.rstrip("/")
        self._http.base_url = self.url
        before, now = self._http.headers["Authorization"], f"Bearer {token}"
        self._http.headers["Authorization"] = now
        return before != now

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
                        if isinstance(told, End):
                            if told.is_final:
                                return
                            break
                        if told.seq > seq:
                            seq = told.seq
                            yield told
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise away(self.url, error) from error
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
