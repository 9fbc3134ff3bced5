"""Bounds on the HTTP answers of foreign services: redirects, size, compression.

`guard` makes a response hook for a client of httpx or of httpx2, so that it also covers the SDKs
that send requests through such a client. The libraries themselves inflate a compressed body piece
by piece without a limit: 64 KiB of gzip become up to 64 MiB in one step.
"""

import asyncio
import sys
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import cache
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from agiraph.core.errors import Refused

PIECE_BYTES = 1 << 16
ERROR_BYTES = 1 << 16
"""How much is read of an answer whose status is an error; the rest is left out."""
MOST_REDIRECTS = 3
SHOWN_CHARACTERS = 200
ENCODINGS = ("gzip", "x-gzip", "deflate")
ACCEPTED = "gzip, deflate"
PORTS = {"http": 80, "https": 443}
KEEPS_METHOD = (307, 308)
GZIP_MAGIC = b"\x1f\x8b"
ANY_HEADER = 32 + zlib.MAX_WBITS
NO_HEADER = -zlib.MAX_WBITS

Hook = Callable[[Any], Awaitable[None]]
"""Takes a response of httpx or httpx2; the two have no type in common."""


class AnswerRefused(Refused):
    """An HTTP answer that is not read: it is too large, or packed in a way that is not read."""


class RedirectRefused(AnswerRefused):
    """An HTTP answer that leads to another origin, or to another method."""


def guard(answer_bytes: int, stream_bytes: int | None = None) -> Hook:
    """Return a response hook that refuses redirects to another origin and bounds the body.

    The body may have `answer_bytes`; one that is a stream of events `stream_bytes` (None: no limit,
    for a stream that stays open). Of an error the first ERROR_BYTES are read.
    """

    async def check(response: Any) -> None:
        refuse_redirect(response)
        is_stream = "text/event-stream" in response.headers.get("content-type", "").lower()
        if response.status_code >= 400:
            bound(response, ERROR_BYTES, cuts=True)
        else:
            bound(response, stream_bytes if is_stream else answer_bytes)

    return check


# --- redirects -----------------------------------------------------------------------------------


def refuse_redirect(response: Any) -> None:
    """Raise RedirectRefused for a redirect that a request with a key must not follow.

    A redirect within the origin (scheme, host, port) that keeps the method is not refused.
    """
    if not response.has_redirect_location:
        return
    request, location = response.request, response.headers["location"]
    if is_within_origin(str(request.url), location) and (
        request.method in ("GET", "HEAD") or response.status_code in KEEPS_METHOD
    ):
        return
    raise RedirectRefused(why_not_followed(str(request.url), location))


def is_within_origin(url: str, location: str) -> bool:
    """Whether a redirect of `url` to `location` stays at the same scheme, host and port.

    A location with a user name or a password does not: they would be sent.
    """
    try:
        target = urlsplit(urljoin(url, location))
        return _origin(target) == _origin(urlsplit(url)) and target.username is None
    except ValueError:
        return False


def why_not_followed(url: str, location: str) -> str:
    """Return the error for a redirect, with its target but without the target's query."""
    try:
        asked, target = urlsplit(url), urlsplit(urljoin(url, location))
        shown = f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"
        place = f"{asked.scheme}://{asked.netloc.rpartition('@')[2]}"
    except ValueError:
        place, shown = "the service", location
    shown = "".join(filter(str.isprintable, shown))[:SHOWN_CHARACTERS]
    return (
        f"{place} redirects to {shown}, which is not followed: keys are sent only to the URL that "
        "is set (if that is the service, set its URL to this address)"
    )


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


# --- size and compression ------------------------------------------------------------------------


def bound(response: Any, most: int | None, *, cuts: bool = False) -> None:
    """Inflate the body of a response as it is read, and raise AnswerRefused beyond `most` bytes.

    With `cuts` the body ends there instead. The encodings gzip and deflate are read. Raises
    AnswerRefused for another one.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    inflater = None
    if encoding in ENCODINGS:
        inflater = Inflater()
        del response.headers["content-encoding"]  # else the library inflates it once more
        response.headers.pop("content-length", None)
    elif encoding not in ("", "identity"):
        raise AnswerRefused(
            f"the answer has the encoding '{encoding[:40]}' (possible: {ACCEPTED}, none)"
        )
    kind = _stream_class(type(response).__module__.partition(".")[0])
    response.stream = kind(response.stream, most, inflater, cuts)


class Inflater:
    """Inflates gzip or deflate in pieces of at most PIECE_BYTES. Raises AnswerRefused."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(ANY_HEADER)
        self._has_begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what these bytes inflate to."""
        try:
            while data:
                piece = self._inflated(data)
                if piece:
                    yield piece
                data = self._decoder.unconsumed_tail
                if self._decoder.eof:
                    data = self._next_member()
        except zlib.error as error:
            raise AnswerRefused(f"the compressed answer is damaged ({error})") from None

    def _inflated(self, data: bytes) -> bytes:
        try:
            piece = self._decoder.decompress(data, PIECE_BYTES)
        except zlib.error:
            if self._has_begun:
                raise
            self._decoder = zlib.decompressobj(NO_HEADER)  # deflate as some servers send it
            piece = self._decoder.decompress(data, PIECE_BYTES)
        self._has_begun = True
        return piece

    def _next_member(self) -> bytes:
        """Return the bytes of a further gzip member; what else follows the end is ignored."""
        rest = self._decoder.unused_data
        if not rest.startswith(GZIP_MAGIC):
            return b""
        self._decoder = zlib.decompressobj(ANY_HEADER)
        return rest


class BoundedBody:
    """The body of a response, inflated and counted while it is read."""

    def __init__(self, body: Any, most: int | None, inflater: Inflater | None, cuts: bool) -> None:
        self._body = body
        self._most = most
        self._inflater = inflater
        self._cuts = cuts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async with aclosing(self._inflated()) as pieces:
            async for piece in pieces:
                if left is not None and len(piece) > left:
                    if not self._cuts:
                        raise AnswerRefused(f"the answer has more than {self._most} bytes")
                    yield piece[:left]
                    return
                left = None if left is None else left - len(piece)
                yield piece

    async def _inflated(self) -> AsyncGenerator[bytes, None]:
        async for packed in self._body:
            if self._inflater is None:
                yield packed
                continue
            for piece in self._inflater.pieces(packed):
                yield piece
                await asyncio.sleep(0)  # one packed piece can inflate to thousands of these

    async def aclose(self) -> None:
        """Close the connection's side of the body."""
        await self._body.aclose()


@cache
def _stream_class(library: str) -> type[Any]:
    """Return BoundedBody as a stream of an HTTP library, which accepts only its own class."""
    return type("BoundedStream", (BoundedBody, sys.modules[library].AsyncByteStream), {})
