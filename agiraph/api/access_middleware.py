"""Admission of each HTTP call: caller, host name, origin, address, rate and size.

Pure ASGI, so that no part of an unknown caller's request is read or parsed before it is admitted.
Order of the checks: Host and Origin, the size of the head and of the announced body, a token in the
URL, the token, its rate. The scope is checked at the route. Every call is in the audit log, refused
calls included; of the web UI's own files, which contain no data of a home, only refused calls are.
"""

import math
from collections import Counter
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agiraph.api.auth.audit import AuditedCall, AuditLog
from agiraph.api.auth.credential_store import (
    NEEDED,
    SHORTEST_SECRET,
    CredentialsEnded,
    CredentialStore,
)
from agiraph.api.auth.credentials import STRANGER, Principal
from agiraph.api.auth.rate_limits import RateLimiter
from agiraph.api.auth.request_headers import (
    RawHeaders,
    TrustedHosts,
    bearer,
    cookies,
    declared_length,
    header,
    is_from_elsewhere,
    query_pairs,
    size_of,
)
from agiraph.api.auth.scopes import READS, WEBSOCKET, is_open
from agiraph.api.body_limits import most_bytes, with_default_headers
from agiraph.api.problems import problem_response
from agiraph.api.ui_bundle import UiBundle, is_of_ui
from agiraph.core.clock import Clock
from agiraph.http.errors import IS_EXTRA, ApiError
from agiraph.settings.config import HttpConfig

STRANGERS_BURST: Final = 3
POLICY_VIOLATION: Final = 1008
FAULT: Final = 500

SECRET_NAMES: Final = frozenset(
    {"token", "access_token", "auth_token", "api_key", "apikey", "authorization", "auth", "bearer"}
    | {"agiraph_token", "password", "secret"}
)
"""Query names under which people send tokens; none of our own routes uses such a name."""


class TooManyRequests(ApiError):
    """The refusal (429) of a call above the rate limit; retry after `wait_seconds`."""

    def __init__(self, detail: str, wait_seconds: float) -> None:
        super().__init__(429, detail)
        self.wait_seconds = wait_seconds


class AccessMiddleware:
    """Admits calls that have a valid credential and use the gateway's own host name."""

    def __init__(
        self,
        app: ASGIApp,
        keys: CredentialStore,
        hosts: TrustedHosts,
        audit: AuditLog,
        http: HttpConfig,
        clock: Clock,
        ui: UiBundle,
    ) -> None:
        self._app = app
        self._ui = ui
        self._keys = keys
        self._hosts = hosts
        self._audit = audit
        self._http = http
        self._clock = clock
        self._rates = RateLimiter()
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request or WebSocket."""
        method = WEBSOCKET if scope["type"] == "websocket" else scope["method"]
        client = ":".join(map(str, scope.get("client") or ()))
        call = self._audit.open(method, scope["path"], client)
        try:
            self._admit(scope, call)
            if method not in READS or _stays_open(scope):
                self._audit.begun(call)
        except ApiError as refusal:
            self._audit.ended(call, refusal.status, refusal.detail)
            response = problem_response(refusal, call.path, _headers_of(refusal))
            await response(scope, receive, with_default_headers(send))
            return
        if is_of_ui(scope):
            await self._ui(scope, receive, send)
            return
        self._open[call.caller.key] += 1
        try:
            await self._serve(scope, receive, send, call)
        finally:
            self._open -= Counter([call.caller.key])  # removes callers without open calls

    # --- admission ---

    def _admit(self, scope: Scope, call: AuditedCall) -> None:
        """Check a call, and store its caller in the scope; raise ApiError if it is refused."""
        self._check_head(scope)
        self._check_query(scope)
        if is_of_ui(scope):
            self._count_page(scope)
            return
        if is_open(call.method, call.path):
            self._count_stranger(scope)
            # An unauthenticated caller's key would fill the store of keys.
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"idempotency-key"]
            return
        call.caller = self._caller(scope, call)
        self._count(call.caller)
        scope.setdefault("state", {})["caller"] = call.caller

    def _check_head(self, scope: Scope) -> None:
        headers = scope["headers"]
        if scope.get("state", {}).get(IS_EXTRA):
            raise ApiError(503, "too many connections are open (http.connections): come back later")
        if header(headers, b"transfer-encoding") and header(headers, b"content-length"):
            raise ApiError(400, "Content-Length and Transfer-Encoding exclude one another")
        host = header(headers, b"host")
        if sum(key == b"host" for key, _ in headers) != 1 or not self._hosts.allow(host):
            raise ApiError(403, f"host '{host[:100]}' is not this gateway's name")
        origin = header(headers, b"origin")
        if origin and not self._hosts.allow_origin(origin, host):
            raise ApiError(403, f"origin '{origin[:100]}' may not call this gateway")
        target = len(scope.get("raw_path", b"")) + len(scope["query_string"])
        if size_of(headers) + target > self._http.header_bytes:
            raise ApiError(431, f"the head is larger than {self._http.header_bytes} bytes")
        most = most_bytes(scope, self._http)
        if declared_length(headers) > most:
            raise ApiError(413, f"the body is larger than {most} bytes")

    def _check_query(self, scope: Scope) -> None:
        for name, value in query_pairs(scope["query_string"]):
            is_long = len(value) >= SHORTEST_SECRET
            if name.lower() in SECRET_NAMES or (is_long and self._keys.is_secret(value)):
                raise ApiError(
                    400,
                    "a token in a URL is refused, since URLs end up in logs and histories: send "
                    "'Authorization: Bearer TOKEN'. If it was a real one, rotate it "
                    "(agiraph tokens rotate)",
                )

    def _caller(self, scope: Scope, call: AuditedCall) -> Principal:
        try:
            given = bearer(scope["headers"])
            if given is not None:
                return self._keys.caller(given)
            return self._browser(scope["headers"], call)
        except ApiError as refusal:
            if refusal.status == 401:
                self._count_stranger(scope)
            raise

    def _browser(self, headers: RawHeaders, call: AuditedCall) -> Principal:
        """Return the caller of a login cookie.

        Raises ApiError unless one of our own pages sent the call.
        """
        given = cookies(headers, self._keys.cookie)
        if not given:
            raise ApiError(401, NEEDED)
        if is_from_elsewhere(headers):
            raise ApiError(403, "a page of another origin may not use this browser's login")
        is_change = call.method not in READS or call.method == WEBSOCKET
        if is_change and not header(headers, b"origin"):
            raise ApiError(403, "a call with a cookie needs an Origin")
        refusal = ApiError(401, NEEDED)
        for secret in given:
            try:
                return self._keys.caller(secret, is_cookie=True)
            except ApiError as error:
                refusal = error
        raise refusal

    # --- rates ---

    def _count(self, caller: Principal) -> None:
        if self._open[caller.key] >= self._http.calls_at_once:
            raise TooManyRequests(
                f"more than {self._http.calls_at_once} calls are open at once", 1.0
            )
        self._count_call(caller)

    def _count_call(self, caller: Principal) -> None:
        """Count one call, or one frame of a WebSocket, against the caller's rate limit."""
        rate, burst = self._http.calls_per_second, float(self._http.burst)
        if caller.calls_per_second is not None and caller.calls_per_second < rate:
            rate = caller.calls_per_second
            burst = max(1.0, min(burst, 2 * rate))
        self._take(caller.key, rate, burst)

    def _count_stranger(self, scope: Scope) -> None:
        rate = self._http.strangers_per_second
        self._take(f"stranger {_address_of(scope)}", rate, max(1.0, STRANGERS_BURST * rate))

    def _count_page(self, scope: Scope) -> None:
        """Count a request for a web UI file; a browser loads many at once."""
        http = self._http
        self._take(f"page {_address_of(scope)}", http.calls_per_second, float(http.burst))

    def _take(self, key: str, rate: float, burst: float) -> None:
        wait = self._rates.wait_of(key, self._clock.monotonic(), rate, burst)
        if wait:
            raise TooManyRequests(f"more than {rate:g} calls a second", wait)

    # --- the call itself ---

    async def _serve(self, scope: Scope, receive: Receive, send: Send, call: AuditedCall) -> None:
        """Serve an admitted call; a reading call ends when the caller's credential ends.

        The end of a call is in the audit log before the caller receives it.
        """
        status: int | None = FAULT

        async def observed_send(message: Message) -> None:
            nonlocal status
            kind = message["type"]
            if kind == "websocket.accept":
                status = 101
            elif kind.endswith("http.response.start"):
                status = message["status"]
            elif kind == "http.response.body" and not message.get("more_body") and status:
                self._audit.ended(call, status)
                status = None
            await send(message)

        async def counted_receive() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                try:
                    self._count_call(call.caller)
                except TooManyRequests:
                    return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}
            return message

        outgoing = with_default_headers(observed_send)
        try:
            if call.method in READS and call.caller is not STRANGER:
                async with self._keys.while_valid(call.caller):
                    await self._app(scope, counted_receive, outgoing)
            else:
                await self._app(scope, receive, outgoing)
        except CredentialsEnded as end:
            if call.method == WEBSOCKET:
                close = {"type": "websocket.close", "code": POLICY_VIOLATION, "reason": str(end)}
                await send(close)
        finally:
            if status is not None:
                self._audit.ended(call, status)


def _address_of(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


def _stays_open(scope: Scope) -> bool:
    """Whether the response stays open until the caller leaves."""
    return scope["type"] == "websocket" or "text/event-stream" in header(
        scope["headers"], b"accept"
    )


def _headers_of(refusal: ApiError) -> dict[str, str]:
    """Return the headers of a refusal that tell the client how to react.

    One of the headers closes the connection.
    """
    headers: dict[str, Any] = {"connection": "close"}
    if isinstance(refusal, TooManyRequests):
        headers["retry-after"] = str(max(1, math.ceil(refusal.wait_seconds)))
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return headers
