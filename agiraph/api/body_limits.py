"""Limits for request bodies, and the headers of every answer."""

import asyncio
import re
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agiraph.api.auth.request_headers import header
from agiraph.http.api.inputs import INPUT_PART_BYTES
from agiraph.settings.config import HttpConfig

# A page with its own policy keeps it. With `no-referrer` a browser would send its own forms with
# `Origin: null`, which is always refused: hence `same-origin`.
DEFAULT_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


UPLOAD: Final = re.compile(r"/agents/[^/]+/attachments/[^/]+|/inputs/[^/]+")
DECLARED: Final = ("PUT", "/inputs")
DECLARED_BYTES: Final = 32 * 1024 * 1024


def most_bytes(scope: Scope, http: HttpConfig) -> int:
    """Return the largest body of a call, in bytes."""
    if (scope.get("method"), scope["path"]) == DECLARED:
        return max(http.body_bytes, DECLARED_BYTES)
    if not is_upload(scope):
        return http.body_bytes
    return INPUT_PART_BYTES if scope["path"].startswith("/inputs/") else http.attachment_bytes


def is_upload(scope: Scope) -> bool:
    """Whether a call's body is a file: possibly large, and stored while it arrives."""
    return scope.get("method") == "PUT" and UPLOAD.fullmatch(scope["path"]) is not None


def with_default_headers(send: Send) -> Send:
    """Return a `send` that adds each of DEFAULT_HEADERS that an answer does not set itself."""

    async def completed(message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in DEFAULT_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return completed


class BodyLimitMiddleware:
    """Refuses a body that is too large, or that does not arrive in time.

    The time limit applies to the whole body; for an uploaded file, to each pause.
    """

    def __init__(self, app: ASGIApp, http: HttpConfig) -> None:
        self._app = app
        self._http = http

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call with a bounded body."""
        length = header(scope["headers"], b"content-length")
        has_body = header(scope["headers"], b"transfer-encoding") or length not in ("", "0")
        if scope["type"] != "http" or not has_body:
            await self._app(scope, receive, send)
            return
        is_file, now = is_upload(scope), asyncio.get_running_loop().time
        most, seconds = most_bytes(scope, self._http), self._http.body_seconds
        deadline = now() + seconds
        size, is_whole = 0, False

        async def limited_receive() -> Message:
            # HTTPException: FastAPI reports any other error while it reads a body as malformed
            # JSON.
            nonlocal size, is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(now() + seconds if is_file else deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body did not come in time") from None
            size += len(message.get("body", b""))
            if size > most:
                raise HTTPException(413, f"the body is larger than {most} bytes")
            is_whole = not message.get("more_body", False)
            return message

        async def closing_send(message: Message) -> None:
            # A client that is still sending an unread body is disconnected.
            if message["type"] == "http.response.start" and not is_whole:
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        await self._app(scope, limited_receive, closing_send)
