"""The gate before every endpoint: who calls, under which name, from where, how often, how much.

Pure ASGI, so that nothing of a stranger's request is read or parsed before the gate has opened. The
order: Host and Origin, the size of what is announced, a token in the URL, the key, its rate, its
scope. Every call is in the audit, also one that was refused.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from actors.gateway.auth.audit_log import AuditedCall, AuditLog
from actors.gateway.auth.credential_store import NEEDED, SHORTEST_SECRET, CredentialStore
from actors.gateway.auth.headers import (
    PAIRS,
    bearer,
    cookies,
    declared_length,
    header,
    is_from_elsewhere,
    pairs_of,
    size_of,
    without,
)
from actors.gateway.auth.principals import STRANGER, Principal
from actors.gateway.auth.rate_limits import OpenCalls, RateLimiter
from actors.gateway.auth.scopes import READS, WEBSOCKET, RouteRules, is_open
from actors.gateway.auth.trusted_hosts import TrustedHosts
from actors.gateway.http.exchange import (
    App,
    HttpExchange,
    Receive,
    Scope,
    Send,
    refuse,
    with_defaults,
)
from actors.runtime.http_server import IS_EXTRA
from agiraph.core.clock import Clock
from agiraph.core.config import HttpConfig
from agiraph.http.api import ApiError

STRANGERS_BURST: Final = 3
POLICY_VIOLATION: Final = 1008

SECRET_NAMES: Final = frozenset(
    {"token", "access_token", "auth_token", "api_key", "apikey", "authorization", "auth", "bearer"}
    | {"agiraph_token", "password", "secret"}
)
"""Names of a query under which people send tokens; none of our own routes takes one of these."""


class TooManyRequests(ApiError):
    """One call too many: come back after so many seconds."""

    def __init__(self, detail: str, wait_seconds: float) -> None:
        """Keep how long to wait."""
        super().__init__(429, detail)
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class AccessChecks:
    """What the gate asks: the keys, the names, the scopes, the rates, and whom it tells."""

    keys: CredentialStore
    names: TrustedHosts
    rules: RouteRules
    ledger: AuditLog
    http: HttpConfig
    clock: Clock


class AccessMiddleware:
    """Lets in who has a key and calls us by our name."""

    def __init__(self, app: App, guards: AccessChecks) -> None:
        """Stand before `app`."""
        self._app = app
        self._keys = guards.keys
        self._names = guards.names
        self._rules = guards.rules
        self._ledger = guards.ledger
        self._http = guards.http
        self._clock = guards.clock
        self._rates = RateLimiter()
        self._open = OpenCalls()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        method = WEBSOCKET if scope["type"] == "websocket" else scope["method"]
        call = self._ledger.open(method, scope["path"], _client(scope))
        try:
            self._admit(scope, call)
            if method not in READS or _stays_open(scope):
                self._ledger.begun(call)
        except ApiError as refusal:
            self._ledger.ended(call, refusal.status, refusal.detail)
            await refuse(scope["type"], send, refusal, call.path, _headers_of(refusal))
            return
        serve = self._serve_socket if method == WEBSOCKET else self._serve
        self._open.begin(call.caller)
        try:
            await serve(scope, receive, send, call)
        finally:
            self._open.end(call.caller)

    # --- who comes in ---

    def _admit(self, scope: Scope, call: AuditedCall) -> None:
        """Let a call pass, its caller known, or raise ApiError."""
        headers = scope["headers"]
        if scope["state"].get(IS_EXTRA):
            raise ApiError(503, "too many connections are open (http.connections): come back later")
        if header(headers, b"transfer-encoding") and header(headers, b"content-length"):
            raise ApiError(400, "Content-Length and Transfer-Encoding exclude one another")
        self._check_names(headers)
        target = len(scope.get("raw_path", b"")) + len(scope["query_string"])
        if size_of(headers) + target > self._http.header_bytes:
            raise ApiError(431, f"the head is larger than {self._http.header_bytes} bytes")
        if declared_length(headers) > self._http.body_bytes:
            raise ApiError(413, f"the body is larger than {self._http.body_bytes} bytes")
        self._check_query(scope)
        if is_open(call.method, call.path):
            self._count_stranger(scope)
            scope["headers"] = without(headers, b"idempotency-key")  # theirs fill no book of ours
            return
        call.caller = self._caller(scope, call)
        self._count(call.caller)
        found = self._rules.find(call.method, call.path)
        if found is not None and not call.caller.may(found.rule.scope):
            raise ApiError(
                403,
                f"this needs the scope '{found.rule.scope}'; "
                f"the token '{call.caller.name}' has '{call.caller.scope}'",
            )
        scope.setdefault("state", {})["caller"] = call.caller

    def _check_names(self, headers: list[tuple[bytes, bytes]]) -> None:
        host = header(headers, b"host")
        if sum(key == b"host" for key, _ in headers) != 1 or not self._names.allow(host):
            raise ApiError(403, f"host '{host[:100]}' is not this gateway's name")
        origin = header(headers, b"origin")
        if origin and not self._names.allow_origin(origin, host):
            raise ApiError(403, f"origin '{origin[:100]}' may not call this gateway")

    def _check_query(self, scope: Scope) -> None:
        if not scope["query_string"]:
            return
        scope[PAIRS] = pairs_of(scope["query_string"])
        for name, value in scope[PAIRS]:
            is_long = len(value) >= SHORTEST_SECRET
            if name.lower() in SECRET_NAMES or (is_long and self._keys.is_secret(value)):
                raise ApiError(
                    400,
                    "a token in a URL is refused, since URLs end up in logs and histories: send "
                    "'Authorization: Bearer TOKEN'. If it was a real one, rotate it "
                    "(agiraph tokens rotate)",
                )

    def _caller(self, scope: Scope, call: AuditedCall) -> Principal:
        headers = scope["headers"]
        try:
            given = bearer(headers)
            if given is not None:
                return self._keys.caller(given)
            return self._browser(headers, call)
        except ApiError as refusal:
            if refusal.status == 401:
                self._count_stranger(scope)
            raise

    def _browser(self, headers: list[tuple[bytes, bytes]], call: AuditedCall) -> Principal:
        """Return who comes with a session's cookie, from our own page and no other."""
        given = cookies(headers, self._keys.cookie)
        if not given:
            raise ApiError(401, NEEDED)
        if is_from_elsewhere(headers):
            raise ApiError(403, "a page of another origin may not use this browser's session")
        if not header(headers, b"origin") and (
            call.method not in READS or call.method == WEBSOCKET
        ):
            raise ApiError(403, "a call with a cookie needs an Origin")
        refusal: ApiError | None = None
        for secret in given:
            try:
                return self._keys.caller(secret, is_cookie=True)
            except ApiError as error:
                refusal = error
        assert refusal is not None
        raise refusal

    def _count(self, caller: Principal) -> None:
        if self._open.of(caller) >= self._http.calls_at_once:
            raise TooManyRequests(
                f"more than {self._http.calls_at_once} calls are open at once", 1.0
            )
        self._take_of(caller)

    def _take_of(self, caller: Principal) -> None:
        """Take one call, or one frame of a WebSocket, from what a caller may make."""
        rate, burst = self._http.calls_per_second, float(self._http.burst)
        if caller.calls_per_second is not None and caller.calls_per_second < rate:
            rate = caller.calls_per_second
            burst = max(1.0, min(burst, 2 * rate))
        self._take(caller.key, rate, burst)

    def _count_stranger(self, scope: Scope) -> None:
        address = scope["client"][0] if scope.get("client") else ""
        rate = self._http.strangers_per_second
        self._take(f"stranger {address}", rate, max(1.0, STRANGERS_BURST * rate))

    def _take(self, key: str, rate: float, burst: float) -> None:
        wait = self._rates.wait_of(key, self._clock.monotonic(), rate, burst)
        if wait:
            raise TooManyRequests(f"more than {rate:g} calls a second", wait)

    # --- what goes on inside ---

    async def _serve(self, scope: Scope, receive: Receive, send: Send, call: AuditedCall) -> None:
        ended = partial(self._ledger.ended, call)  # the audit has it before the caller has
        exchange = HttpExchange(receive, send, scope["headers"], ended)
        exchange.bound(self._http.body_bytes, self._http.body_seconds)
        try:
            if call.method in READS and call.caller is not STRANGER:
                await self._while_valid(scope, exchange.receive, exchange.send, call)
            else:
                await self._app(scope, exchange.receive, exchange.send)
        finally:
            exchange.end()

    async def _serve_socket(
        self, scope: Scope, receive: Receive, send: Send, call: AuditedCall
    ) -> None:
        status = 500

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "websocket.accept":
                status = 101
            elif message["type"] == "websocket.http.response.start":
                status = message["status"]
                message["headers"] = with_defaults(list(message.get("headers", ())))
            await send(message)

        async def counted() -> Any:
            message = await receive()
            if message["type"] == "websocket.receive":
                try:
                    self._take_of(call.caller)
                except TooManyRequests:
                    return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}
            return message

        try:
            if not await self._while_valid(scope, counted, noting, call):
                await send(
                    {
                        "type": "websocket.close",
                        "code": POLICY_VIOLATION,
                        "reason": "the key that opened this has ended",
                    }
                )
        finally:
            self._ledger.ended(call, status)

    async def _while_valid(
        self, scope: Scope, receive: Receive, send: Send, call: AuditedCall
    ) -> bool:
        """Serve for as long as the caller's key opens; return whether it did to the end."""
        deadline = None
        try:
            async with self._keys.while_valid(call.caller) as deadline:
                await self._app(scope, receive, send)
        except TimeoutError:
            if deadline is None or not deadline.expired():
                raise
            return False
        return True


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return f"{client[0]}:{client[1]}" if client else ""


def _stays_open(scope: Scope) -> bool:
    """Whether the answer goes on for as long as the caller likes."""
    return scope["type"] == "websocket" or "text/event-stream" in header(
        scope["headers"], b"accept"
    )


def _headers_of(refusal: ApiError) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that tell a caller what to do about it."""
    if isinstance(refusal, TooManyRequests):
        return ((b"retry-after", str(max(1, math.ceil(refusal.wait_seconds))).encode()),)
    if refusal.status == 401:
        return ((b"www-authenticate", b"Bearer"),)
    return ()
