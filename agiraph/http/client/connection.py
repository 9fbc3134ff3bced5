"""GatewayConnection: the base of both clients: requests, responses, retries during restarts."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from agiraph.http.client.agents import AgentCalls
from agiraph.http.client.call import Answer, ApiCall
from agiraph.http.client.conversation import ConversationCalls
from agiraph.http.client.knowledge import KnowledgeCalls
from agiraph.http.client.system import SystemCalls
from agiraph.http.client.work import WorkCalls
from agiraph.http.discovery import (
    GatewayLookup,
    has_moved,
    is_supervised,
    read_cert,
    read_gateway_address,
    why_unreachable,
)
from agiraph.http.errors import BLANK, ApiError, NotReachable, UrlUnreachable
from agiraph.http.httpx_alone import httpx

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

TIMEOUT_SECONDS = 30.0
PATIENCE_SECONDS = 10.0
"""How long to wait for a gateway that went away: a restart takes a second or two."""
PAUSE_SECONDS = 0.1
BAD_REQUEST = 400
UNAUTHORIZED = 401

RETRIED = (httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""The errors of a dying gateway. A call that timed out is not repeated."""

PEM_END = "-----END CERTIFICATE-----"


class ApiCalls(AgentCalls, KnowledgeCalls, ConversationCalls, WorkCalls, SystemCalls):
    """All calls of the HTTP API."""


class GatewayConnection(ApiCalls, Generic[Http]):
    """The gateway at `url` (`http://127.0.0.1:PORT`), reached by an HTTP client of class `HTTP`.

    If a gateway that has answered before goes away, a call waits for it up to `patience_seconds`;
    it is then repeated with the same Idempotency-Key, so it takes effect once. `cert` is the
    gateway's certificate, if no known authority has signed it, `ca` a file with the trusted
    authorities instead of this machine's. `transport` replaces the network, and is of the HTTP
    client's kind.
    """

    HTTP: ClassVar[type[Any]]

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        cert: Path | None = None,
        ca: str | None = None,
        transport: Any = None,
    ) -> None:
        self.url = url.rstrip("/")
        trust = trust_of(self.url, cert, ca)
        self._trust = trust if isinstance(trust, ssl.SSLContext) else None
        self._home: Path | None = None
        self._door: GatewayLookup = lambda: (self.url, token)
        self._patience_seconds = patience_seconds
        self._is_expected: Callable[[], bool] = lambda: True
        self._has_answered = False
        self._http: Http = self.HTTP(
            verify=trust,
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            trust_env=False,
            transport=transport,
        )

    @classmethod
    def for_home(
        cls,
        home: Path,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Self:
        """Return a client of the gateway of `home`.

        Raises NotReachable if no gateway runs there.
        """
        url, token = read_gateway_address(home)
        client = cls(
            url,
            token,
            timeout_seconds=timeout_seconds,
            patience_seconds=patience_seconds,
            cert=read_cert(home),
        )
        client._door = lambda: read_gateway_address(home)
        client._is_expected = lambda: is_supervised(home)
        client._home = home
        return client

    @property
    def is_elsewhere(self) -> bool:
        """Whether only the URL of the gateway is known: its home may be on another machine."""
        return self._home is None

    def _request(self, call: ApiCall[Any]) -> httpx.Request:
        headers = dict(call.headers)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.query) or None,
            content=call.body.model_dump_json(exclude_none=True) if call.body else call.content,
            headers=headers,
            timeout=call.timeout_seconds or httpx.USE_CLIENT_DEFAULT,
        )

    def _answer(self, call: ApiCall[Answer], response: httpx.Response) -> Answer:
        """Return the answer in a response; raise ApiError if it is a refusal."""
        self._has_answered = True
        if response.status_code >= BAD_REQUEST:
            raise refusal_of(response)
        return call.read(response)

    def _retry_until(self, error: httpx.TransportError, until: float | None) -> float:
        """Return the deadline of retries after a failure; raise NotReachable if they are pointless.

        `until` is the deadline returned at the previous failure, None at the first failure.
        """
        now = time.monotonic()
        until = now + self._patience_seconds if until is None else until
        is_transient = self._has_answered and isinstance(error, RETRIED)
        if not is_transient or now >= until or not self._is_expected():
            raise self._unreachable(error) from error
        return until

    def _unreachable(self, error: httpx.TransportError) -> NotReachable:
        if self._home is not None:
            return why_unreachable(self._home)
        return UrlUnreachable(f"no gateway answers at {self.url} ({error})")

    def _refuse_strangers(self, response: httpx.Response) -> None:
        """Raise httpx.ConnectError if another program answers at the port of our gateway.

        The gateway of another home may listen there while ours restarts; it refuses our call,
        because it does not know our token or is overloaded.
        """
        is_refused = response.status_code >= BAD_REQUEST and self._home is not None
        if is_refused and has_moved(self._door, self.url):  # its token may have been rotated
            raise httpx.ConnectError("another program has the port of the gateway")

    def _find_gateway(self) -> bool:
        """Read the gateway's current address; return whether its URL or token has changed.

        It may have another port after a restart, and its token may have been rotated.
        """
        try:
            url, token = self._door()
        except NotReachable:
            return False
        before = self.url, self._http.headers["Authorization"]
        self.url = url.rstrip("/")
        self._http.base_url = self.url
        self._http.headers["Authorization"] = f"Bearer {token}"
        return before != (self.url, self._http.headers["Authorization"])


def refusal_of(response: httpx.Response) -> ApiError:
    """Return the ApiError of a response with an error status, from its problem details."""
    status = response.status_code
    try:
        problem = response.json()
        return ApiError(status, str(problem["detail"]), str(problem.get("type", BLANK)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(status, f"the gateway answered {status}")


def trust_of(url: str, cert: Path | None, ca: str | None = None) -> ssl.SSLContext | bool:
    """Return httpx's `verify`: an SSL context with `cert` or authorities; False without TLS.

    Authorities are in the PEM file `ca`, or else those of this machine. With `cert` (a PEM file)
    exactly its first certificate is trusted, for any host name: on its own machine a gateway is
    reached as 127.0.0.1, which its certificate need not name. Raises OSError if a file is
    unreadable or contains no certificate.
    """
    if not url.startswith("https:"):
        return False
    if cert is None:
        return ssl.create_default_context(cafile=ca)
    text = cert.read_text(encoding="ascii", errors="replace")  # plain: named by the person
    own, mark, _ = text.partition(PEM_END)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=own[own.find("-----BEGIN") :] + mark + "\n")
    return context
