"""IdempotencyMiddleware: a call repeated with the same `Idempotency-Key` has its effect once.

Pure ASGI, between the access middleware and the endpoints. The key is on disk before the call is
carried out, and its answer before it is sent; a repeated call receives the stored answer. Of two
concurrent calls with the same key, the second waits for the first.
"""

import asyncio
from hashlib import sha256
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agiraph.api.auth.request_headers import header
from agiraph.api.body_limits import is_upload
from agiraph.api.call_cause import SCOPE_KEY, cause_of_key
from agiraph.api.problems import (
    INSUFFICIENT_STORAGE,
    MEDIA_TYPE,
    problem_bytes,
    problem_response,
)
from agiraph.core.clock import Clock
from agiraph.http.errors import CONFLICT, ApiError
from agiraph.inbox.idempotency_store import IdempotencyStore
from agiraph.storage.disk_space import DiskFull

NAME = b"idempotency-key"
LONGEST = 255
KEYS = f"1 to {LONGEST} printable ASCII characters"
SUCCESS = range(200, 300)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

SECRETS = ("/tokens", "/login-links", "/login", "/consoles", "/hosts/invitations")
"""Paths whose answers contain a secret that is stored nowhere: it is given only once."""
FULL_SECONDS = 5.0
PAUSE_SECONDS = 0.2
NOT_BEGUN = "the disk is full (no space left on device): nothing was done"
CUT_OFF = (
    "the disk is full (no space left on device), and this may be half done:"
    " made again with the same Idempotency-Key it is finished"
)
REPLAYED = {"idempotency-replayed": "true"}


class IdempotencyMiddleware:
    """Runs before the endpoints, and answers repeated calls with the stored answer."""

    def __init__(self, app: ASGIApp, store: IdempotencyStore, clock: Clock) -> None:
        self._app = app
        self._keys = store
        self._clock = clock
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call; only a changing call with an `Idempotency-Key` is stored."""
        is_keyed = any(name == NAME for name, _ in scope["headers"])
        if not (is_keyed and _may_change(scope)):
            await self._app(scope, receive, send)
            return
        key = header(scope["headers"], NAME)
        try:
            _check(key)
            if is_upload(scope):  # idempotent by itself, and too large for memory
                await self._app(scope, receive, send)
                return
            body = await Request(scope, receive).body()
            turn = self._turns.setdefault(key, asyncio.Lock())
            async with turn:
                is_again = key in self._keys
                stored = self._keys.begin(key, _print(scope, body), self._clock.now())
                if stored.body is not None:
                    replay = Response(stored.body, stored.status, REPLAYED, stored.media_type)
                    await replay(scope, receive, send)
                    return
                scope[SCOPE_KEY] = cause_of_key(key, stored.at, is_again=is_again)
                await self._carry_out(key, scope, body, receive, send)
        except ClientDisconnect:
            return
        except (DiskFull, ApiError, HTTPException) as error:
            await problem_response(_refusal(error), scope["path"])(scope, receive, send)

    async def _carry_out(
        self,
        key: str,
        scope: Scope,
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        """Call the endpoint; store its answer, if it succeeded, before it is sent.

        For FULL_SECONDS a call cut off by a full disk is repeated under the same cause.
        """
        give_up_at = self._clock.monotonic() + FULL_SECONDS
        while (answer := await self._answer_of(key, scope, body, receive)) is None:
            if self._clock.monotonic() >= give_up_at:
                raise ApiError(INSUFFICIENT_STORAGE, CUT_OFF)
            await asyncio.sleep(PAUSE_SECONDS)
        for part in answer:
            await send(part)

    async def _answer_of(
        self, key: str, scope: Scope, body: bytes, receive: Receive
    ) -> list[Message] | None:
        """Return the endpoint's answer, stored; None if the disk was too full to complete it."""
        given = False
        answer: list[Message] = []

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def store(message: Message) -> None:
            answer.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._store(key, scope["path"], answer)

        try:
            await self._app(scope, again, store)
        except DiskFull:
            return None
        return None if answer and answer[0]["status"] == INSUFFICIENT_STORAGE else answer

    def _store(self, key: str, path: str, answer: list[Message]) -> None:
        start = answer[0]
        status = start["status"]
        if status not in SUCCESS:
            return
        text = b"".join(part.get("body", b"") for part in answer[1:]).decode()
        media_type = header(start.get("headers", ()), b"content-type")
        if path.startswith(SECRETS):
            refusal = ApiError(CONFLICT, "this was done; its answer held a secret, shown only once")
            text, media_type, status = problem_bytes(refusal, path).decode(), MEDIA_TYPE, CONFLICT
        self._keys.answered(key, status, media_type, text)


def _check(key: str) -> None:
    if not key.strip():  # for example from a client whose variable is not set
        raise ApiError(400, f"the header Idempotency-Key is empty: give {KEYS}, or no such header")
    if len(key) > LONGEST or not (key.isascii() and key.isprintable()):
        raise ApiError(422, f"an Idempotency-Key is {KEYS}")


def _may_change(scope: Scope) -> bool:
    """Whether a call may change state; calls of a read-only token are never stored."""
    caller = scope.get("state", {}).get("caller")
    is_change = scope["type"] == "http" and scope["method"] not in SAFE_METHODS
    return is_change and (caller is None or caller.may("talk"))


def _refusal(error: DiskFull | ApiError | HTTPException) -> ApiError:
    if isinstance(error, HTTPException):
        return ApiError(error.status_code, error.detail)
    return ApiError(INSUFFICIENT_STORAGE, NOT_BEGUN) if isinstance(error, DiskFull) else error


def _print(scope: Scope, body: bytes) -> str:
    """Return the fingerprint of a call: equal for equal calls of the same caller."""
    path = scope.get("raw_path") or scope["path"].encode()
    caller = scope.get("state", {}).get("caller")
    who = caller.key.encode() if caller is not None else b""
    parts = (who, scope["method"].encode(), path, scope.get("query_string", b""), body)
    return sha256(b"\0".join(sha256(part).digest() for part in parts)).hexdigest()
