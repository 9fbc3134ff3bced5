"""The client for a program that waits for each answer."""

import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import httpx

from agiraph.api.errors import NotReachable
from agiraph.client.call import Answer, Call, Caller, named, of_agent
from agiraph.client.calls import Calls
from agiraph.client.door import Door, is_supervised, read_cert, read_door
from agiraph.client.patience import PATIENCE_SECONDS, PAUSE_SECONDS, Patience
from agiraph.client.trust import trust_of
from agiraph.client.wire import TIMEOUT_SECONDS, WHO, answer_of, away, request_of, settings

if TYPE_CHECKING:
    from agiraph.following import Follower


class Client(Calls, Caller):
    """One connection to one gateway. Not for sharing between threads; close it, or use `with`."""

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
        self._trust = trust if isinstance(trust, ssl.SSLContext) else None
        self._http = httpx.Client(**settings(self.url, token, timeout_seconds, trust))

    @classmethod
    def for_home(
        cls,
        home: Path,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> "Client":
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

    def make(self, call: Call[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        waiting = self._patience.begin()
        while True:
            try:
                response = self._http.send(request_of(self._http, call))
            except httpx.TransportError as error:
                if waiting.is_over(error):
                    raise away(self.url, error) from error
                time.sleep(PAUSE_SECONDS)
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

    def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> "Follower":
        """Return a Follower: iterate over it for Events, first the log from `after` on, then live.

        `types`, `entity` and `node` narrow them as those of `events` do.

        `follower.next(within_seconds)` returns None when nothing came in time. It lives through
        restarts of the gateway. Its methods raise NotReachable when the gateway stays away for
        ten seconds, ApiError (status 404) for an unknown agent.
        """
        wanted = named(type=list(types), entity=entity, node=node)
        from agiraph.following import Follower  # and with it a library for WebSockets

        return Follower(
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
