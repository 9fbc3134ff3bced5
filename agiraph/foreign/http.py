"""Limits of the HTTP answers of foreign services: redirects, size, compression.

`guard` makes a response hook for a client of httpx or of httpx2, so that it also covers the SDKs
that send requests through such a client. The libraries themselves inflate a compressed body piece
by piece without a limit: 64 KiB of gzip become up to 64 MiB in one step.
"""

import asyncio
import sys
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import cache
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from agiraph.core.errors import Refused
from agiraph.core.json_text import parse_json

PIECE_BYTES = 1 << 16
ERROR_BYTES = 1 << 16
"""The part that is read of an answer whose status is an error; the rest is left out."""
MOST_LINES = 1_000_000
"""The lines of an answer. A reader of events needs about 2 microseconds for an empty one, and gzip
packs a thousand of them into one byte. An answer of 300,000 tokens, each an event, has fewer."""
MOST_REDIRECTS = 3
SHOWN_CHARACTERS = 200
SHOWN_ENCODING = 40
MOST_VALUES = 2_000_000
VALUE_MARKS = (b"{", b"[", b",")
ENCODINGS = ("gzip", "x-gzip", "deflate")
READ = ("", "identity", *ENCODINGS)
ACCEPTED = "gzip, deflate"
PORTS = {"http": 80, "https": 443}
KEEPS_METHOD = (307, 308)
GZIP_MAGIC = b"\x1f\x8b"
ANY_HEADER = 32 + zlib.MAX_WBITS
NO_HEADER = -zlib.MAX_WBITS

Hook = Callable[[Any], Awaitable[None]]
"""Takes a response of httpx or httpx2; the two have no type in common."""


class AnswerRefused(Refused):
    """An HTTP answer that is not read: it is too large, or has an unsupported encoding."""


class RedirectRefused(AnswerRefused):
    """An HTTP answer that leads to another origin, or to another method."""


def guard(answer_bytes: int, stream_bytes: int | None = None) -> Hook:
    """Return a response hook that refuses redirects to another origin and limits the body.

    The body may have `answer_bytes`, a stream of events `stream_bytes` (None: no limit, for a
    stream that stays open). The body may have MOST_LINES lines. Of an error the first ERROR_BYTES
    are read, or the status alone if its encoding is not supported.
    """

    async def check(response: Any) -> None:
        refuse_redirect(response)
        is_stream = "text/event-stream" in response.headers.get("content-type", "").lower()
        if response.status_code >= 400:
            is_read = response.headers.get("content-encoding", "").strip().lower() in READ
            if not is_read:
                del response.headers["content-encoding"]
            bound(response, ERROR_BYTES if is_read else 0, cuts=True)
        else:
            bound(response, stream_bytes if is_stream else answer_bytes, most_lines=MOST_LINES)

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

    False for a location with a user name or a password, which would be sent, and for a scheme
    without a host (`http:/path`): HTTP clients send it to the scheme's usual port.
    """
    try:
        given, target = urlsplit(location), urlsplit(urljoin(url, location))
        if given.scheme and not given.netloc:
            return False
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


# --- JSON ----------------------------------------------------------------------------------------


class TooManyValues(ValueError):
    """A JSON text has more values than the limit."""


class RepeatedName(ValueError):
    """An object of a JSON text has a name twice."""


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, TooManyValues.

    Values are counted before they are made, at most one too many for each bracket and comma, also
    in strings: 30 MiB of `{},{},...` become 800 MB and take seconds, in which nothing else runs.
    """
    _check_values(data)
    return parse_json(data)


def read_json_once(data: bytes, most_values: int) -> Any:
    """Return the value of a JSON text with at most `most_values` values; raises as `read_json`.

    Raises RepeatedName for a name twice in one object: readers differ in which value they use.
    """
    _check_values(data)
    value = parse_json(data, object_pairs_hook=_Objects(most_values))
    waiting, left = [value], most_values
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict | list):
            left -= len(inner)
            if left < 0:
                raise TooManyValues(f"it has more than {most_values:,} values")
            waiting += inner.values() if isinstance(inner, dict) else inner
    return value


def _check_values(data: bytes) -> None:
    if sum(map(data.count, VALUE_MARKS)) > MOST_VALUES:
        raise TooManyValues(f"it has more than {MOST_VALUES:,} values")


class _Objects:
    """An object hook for a JSON parser; raises RepeatedName and, early, TooManyValues."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._left -= max(1, len(pairs))
        if self._left < 0:
            raise TooManyValues(f"it has more than {self._most:,} values")
        found = dict(pairs)
        if len(found) < len(pairs):
            raise RepeatedName(Counter(name for name, _ in pairs).most_common(1)[0][0])
        return found


# --- size and compression ------------------------------------------------------------------------


def bound(
    response: Any, most: int | None, *, most_lines: int | None = None, cuts: bool = False
) -> None:
    """Inflate the body of a response while it is read; reading more than `most` bytes is an error.

    `most` also limits the bytes as they are sent. More than `most_lines` lines are an error. With
    `cuts` the body ends at `most` instead. The encodings gzip and deflate are read, no others. The
    error is an AnswerRefused, and a StreamError of the response's library, which SDKs expect.
    """
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        response.headers.pop("content-length", None)
    body, error = _classes_of(type(response).__module__.partition(".")[0])
    response.stream = body(response.stream, encoding, most, most_lines, cuts, error)


class Inflater:
    """Inflates gzip or deflate in pieces of at most PIECE_BYTES. Raises AnswerRefused."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(ANY_HEADER)
        self._has_begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the inflated pieces of these bytes."""
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
        """Return the bytes of a further gzip member; any other data after the end is ignored."""
        rest = self._decoder.unused_data
        if not rest.startswith(GZIP_MAGIC):
            return b""
        self._decoder = zlib.decompressobj(ANY_HEADER)
        return rest


class LineCount:
    """Counts the lines of a body, which end with a newline, a carriage return or both. Pure."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._newlines = self._returns = 0

    def is_exceeded_by(self, piece: bytes) -> bool:
        """Count the lines of the next piece; return whether they are too many."""
        if self._most is None:
            return False
        self._newlines += piece.count(b"\n")
        self._returns += piece.count(b"\r")
        return max(self._newlines, self._returns) > self._most


class BoundedBody:
    """The body of a response, inflated and counted while it is read. Raises `error`."""

    def __init__(
        self,
        body: Any,
        encoding: str,
        most: int | None,
        most_lines: int | None,
        cuts: bool,
        error: type[AnswerRefused],
    ) -> None:
        self._body = body
        self._encoding = encoding
        self._most = most
        self._most_lines = most_lines
        self._cuts = cuts
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        lines = LineCount(self._most_lines)
        async with aclosing(self._inflated()) as pieces:
            async for piece in pieces:
                if left is not None and len(piece) > left:
                    if not self._cuts:
                        raise self._error(f"the answer has more than {self._most} bytes")
                    yield piece[:left]
                    return
                left = None if left is None else left - len(piece)
                if lines.is_exceeded_by(piece):
                    raise self._error(f"the answer has more than {self._most_lines:,} lines")
                yield piece

    async def _inflated(self) -> AsyncGenerator[bytes, None]:
        if self._encoding in ("", "identity"):
            async for piece in self._body:
                yield piece
            return
        if self._encoding not in ENCODINGS:
            shown = self._encoding[:SHOWN_ENCODING]
            raise self._error(f"the answer has the encoding '{shown}' (possible: {ACCEPTED}, none)")
        inflater, sent = Inflater(), 0
        try:
            async for packed in self._body:
                sent += len(packed)
                if self._most is not None and sent > self._most and not self._cuts:
                    # Each part of a packed body can be empty.
                    raise AnswerRefused(f"the answer has more than {self._most} bytes")
                for piece in inflater.pieces(packed):
                    yield piece
                    await asyncio.sleep(0)  # one packed piece can inflate to thousands of these
        except AnswerRefused as refused:
            raise self._error(str(refused)) from None

    async def aclose(self) -> None:
        """Close the response's body."""
        await self._body.aclose()


@cache
def _classes_of(library: str) -> tuple[type[Any], type[AnswerRefused]]:
    """Return BoundedBody and AnswerRefused as classes compatible with an HTTP library."""
    module = sys.modules[library]
    body = type("BoundedStream", (BoundedBody, module.AsyncByteStream), {})
    return body, type("AnswerRefused", (AnswerRefused, module.StreamError), {})
