"""GatewayConnection: what both clients know: where the gateway is, how to find it
again, patience."""

import ssl
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import httpx

from agiraph.http.api.errors import NotReachable
from agiraph.http.client.discovery import Door, is_supervised, read_cert, read_door, why_unreachable
from agiraph.http.client.reconnect import PATIENCE_SECONDS, ReconnectPolicy
from agiraph.http.client.tls import trust_of
from agiraph.http.client.wire import TIMEOUT_SECONDS, away, settings

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)


class GatewayConnection(Generic[Http]):
    """The gateway of one client, which speaks to it through an HTTP client of the kind `HTTP`."""

    HTTP: ClassVar[type[Any]]

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
        self._home: Path | None = None
        self._door: Door = lambda: (self.url, token)
        self._patience = ReconnectPolicy(patience_seconds, lambda: True)
        self._trust = trust if isinstance(trust, ssl.SSLContext) else None
        self._http: Http = self.HTTP(**settings(self.url, token, timeout_seconds, trust))

    @classmethod
    def for_home(
        cls,
        home: Path,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Self:
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
        client._home = home
        return client

    def _away(self, error: httpx.TransportError) -> NotReachable:
        """Return what it means that nothing came back."""
        return away(self.url, error) if self._home is None else why_unreachable(self._home)

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
