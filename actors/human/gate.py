"""The gate before every endpoint: Host, Origin, token, size of the body, headers, audit.

Pure ASGI, so that nothing of a stranger's request is read or parsed before the gate has opened.
"""

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from actors.human.access import Names, bearer, cookie, header, is_same_token
from agiraph.api import ApiError

BODY_LIMIT = 1024 * 1024

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Audit = Callable[[dict[str, Any]], None]

SAFE_METHODS = ("GET", "HEAD")

OPEN_PREFIXES = ("/answer/",)
"""Below these no token is asked for: the path itself carries what proves the right to one thing."""

# A page that names its own policy keeps it. With `no-referrer` a browser would send its own forms
# with `Origin: null`, which nothing lets in: hence `same-origin`.
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
]


class Gate:
    """Lets in who has the token and calls us by our name."""

    def __init__(self, app: App, *, token: str, names: Names, audit: Audit) -> None:
        """Stand before `app`; `audit` is told of every call that may change something."""
        self._app = app
        self._token = token
        self._names = names
        self._audit = audit

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except ApiError as refusal:
            await _refuse(scope, send, refusal)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._serve(scope, receive, send)

    def _check(self, scope: MutableMapping[str, Any]) -> None:
        headers = scope["headers"]
        host = header(headers, b"host")
        if sum(key == b"host" for key, _ in headers) != 1 or not self._names.allow(host):
            raise ApiError(403, f"host '{host}' is not this gateway's name")
        origin = header(headers, b"origin")
        if origin and not self._names.allow_origin(origin, host):
            raise ApiError(403, f"origin '{origin}' may not call this gateway")
        if _declared_length(headers) > BODY_LIMIT:
            raise _too_large()
        if scope["type"] == "http" and scope["path"].startswith(OPEN_PREFIXES):
            return
        given = bearer(headers)
        if given is None:
            given = cookie(headers)
            is_safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
            if given is not None and not origin and not is_safe:
                raise ApiError(403, "a call with a cookie needs an Origin")
        if given is None or not is_same_token(given, self._token):
            raise ApiError(401, "this needs the home's token: Authorization: Bearer TOKEN")

    async def _serve(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        taken = 0
        status = 500

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > BODY_LIMIT:
                # FastAPI takes any other error while it reads a body for malformed JSON.
                raise HTTPException(413, _too_large().detail)
            return message

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_defaults(list(message.get("headers", ())))
            await send(message)

        try:
            await self._app(scope, bounded, with_headers)
        finally:
            if scope["method"] not in SAFE_METHODS:
                self._audit(_audit_record(scope, status))


def _with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    return [*headers, *((name, value) for name, value in HEADERS if name not in given)]


def _too_large() -> ApiError:
    return ApiError(413, f"the body is larger than {BODY_LIMIT} bytes")


def _declared_length(headers: list[tuple[bytes, bytes]]) -> int:
    declared = header(headers, b"content-length")
    return int(declared) if declared.isdecimal() else 0


def _audit_record(scope: MutableMapping[str, Any], status: int) -> dict[str, Any]:
    client = scope.get("client")
    return {
        "ts": time.time(),
        "method": scope["method"],
        "path": _speakable(scope["path"]),
        "status": status,
        "client": f"{client[0]}:{client[1]}" if client else "",
    }


def _speakable(path: str) -> str:
    """Return a path for the audit; below an open prefix the rest is a secret."""
    found = next((prefix for prefix in OPEN_PREFIXES if path.startswith(prefix)), None)
    return path if found is None else f"{found}..."


async def _refuse(scope: MutableMapping[str, Any], send: Send, refusal: ApiError) -> None:
    """Answer with the refusal; a WebSocket is refused before its handshake."""
    kind = "http" if scope["type"] == "http" else "websocket.http"
    body = json.dumps({"detail": refusal.detail}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *HEADERS,
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": f"{kind}.response.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.response.body", "body": body})
