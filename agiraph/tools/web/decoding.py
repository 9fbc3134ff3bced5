"""Decoding: from the bytes of a body to text: content type, compression, charset."""

import codecs
import re
import zlib
from typing import Literal

from agiraph.core.errors import Refused

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOOK_FOR_META = 4096
META = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
# What pages call so is what browsers read as these.
BROADER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


def decoded(body: bytes, charset: str = "", *, is_markup: bool = False) -> str:
    """Return a body as text: by its byte order mark, header, meta tag, or guessed.

    Bytes that do not fit are replaced.
    """
    for bom, name in BOMS:
        if body.startswith(bom):
            return _text(body, name)
    named = _known(charset) or (_meta(body) if is_markup else None)
    if named is not None:
        return _text(body, named)
    try:
        return _plain(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        # Cut in the middle of a character: it is UTF-8 all the same.
        is_cut = error.start >= len(body) - 4
        return _text(body, "utf-8" if is_cut else "cp1252")


def _meta(body: bytes) -> str | None:
    found = META.search(body[:LOOK_FOR_META])
    named = _known(found.group(1).decode("ascii", "replace")) if found else None
    # It was read as ASCII, so it cannot be that.
    return "utf-8" if named is not None and named.startswith(("utf-16", "utf-32")) else named


def _known(name: str) -> str | None:
    """Return Python's name of a text encoding, None if there is none."""
    try:
        info = codecs.lookup(name.strip().strip("\"'"))
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True):
        return None
    return BROADER.get(info.name, info.name)


def _text(body: bytes, encoding: str) -> str:
    try:
        return _plain(body.decode(encoding, errors="replace"))
    except (UnicodeError, LookupError):  # some codecs know no `replace`
        return _plain(body.decode("utf-8", errors="replace"))


def _plain(text: str) -> str:
    """Write every line end as a newline, and drop NUL, which no text has."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


ACCEPTED = "gzip, deflate"
ANY_HEADER = zlib.MAX_WBITS | 32


class Decompressor:
    """Decompresses a body piece by piece, `limit` bytes in all; `is_full` if there would be more.

    A compressed kilobyte can expand to a megabyte, and httpx decompresses whole pieces, with no
    limit: so bodies are read raw. Raises Refused for an `encoding` (a Content-Encoding) that is
    not known.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Refused(f"its encoding '{name[:40]}' cannot be read (possible: {ACCEPTED})")
        self._inflate = None if name in ("", "identity") else zlib.decompressobj(ANY_HEADER)
        self._may_be_bare = name == "deflate"
        self._left = limit
        self.is_full = False

    def feed(self, raw: bytes) -> bytes:
        """Return the next part of the plain body; raises Refused if `raw` is damaged."""
        if self.is_full or not raw:
            return b""
        if self._inflate is None:
            plain, rest = raw[: self._left], raw[self._left :]
        else:
            plain = self._inflated(raw)
            rest = self._inflate.unconsumed_tail
        self._left -= len(plain)
        self.is_full = self.is_full or bool(rest)
        return plain

    def _inflated(self, raw: bytes) -> bytes:
        assert self._inflate is not None
        try:
            # One byte more than is left tells a body that ends here from one that continues.
            plain = self._inflate.decompress(raw, self._left + 1)
        except zlib.error as error:
            if not self._may_be_bare:
                raise Refused(f"its compressed body is damaged ({error})") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # `deflate` without its header
            self._may_be_bare = False
            return self._inflated(raw)
        self._may_be_bare = False
        if len(plain) > self._left:
            self.is_full = True
            return plain[: self._left]
        return plain


Kind = Literal["page", "text", "refused"]

PAGES = frozenset({"text/html", "application/xhtml+xml"})
TEXTS = frozenset(
    {
        *("application/json", "application/xml", "application/javascript", "application/yaml"),
        *("application/x-yaml", "application/toml", "application/sql", "application/x-sh"),
        *("application/x-ndjson", "application/ld+json", "application/x-javascript"),
        *("application/rtf", "application/x-tex", "application/x-subrip", "message/rfc822"),
    }
)
TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
SNIFFED = 1024


def kind_of(mime: str, body: bytes) -> Kind:
    """Return what a body is; one without a content type is judged by its first bytes."""
    if mime in PAGES:
        return "page"
    if mime.startswith("text/") or mime in TEXTS or mime.endswith(TEXT_SUFFIXES):
        return "text"
    if mime not in ("", "application/octet-stream", "binary/octet-stream"):
        return "refused"
    start = body[:SNIFFED]
    if b"\0" in start or start.startswith(
        (b"%PDF", b"\x89PNG", b"PK\x03\x04", b"GIF8", b"\xff\xd8")
    ):
        return "refused"
    return "page" if b"<html" in start.lower() or b"<!doctype html" in start.lower() else "text"
