"""Decoding: from the bytes of a body to text: content type and charset."""

import codecs
import re
from typing import Literal

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOOK_FOR_META = 4096
META = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
# Browsers read pages with the encoding on the left as the one on the right.
BROADER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


def decoded(body: bytes, charset: str = "", *, is_markup: bool = False) -> str:
    """Return a body as text, decoded by its byte order mark, header, meta tag, or a guess.

    Invalid bytes are replaced.
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
        # Cut in the middle of a character: it is UTF-8 nevertheless.
        is_cut = error.start >= len(body) - 4
        return _text(body, "utf-8" if is_cut else "cp1252")


def _meta(body: bytes) -> str | None:
    found = META.search(body[:LOOK_FOR_META])
    named = _known(found.group(1).decode("ascii", "replace")) if found else None
    # The meta tag was read as ASCII, so the encoding cannot be UTF-16 or UTF-32.
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
    except (UnicodeError, LookupError):  # some codecs do not support `replace`
        return _plain(body.decode("utf-8", errors="replace"))


def _plain(text: str) -> str:
    """Return a text with every line end as a newline, and without NUL characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


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
    """Return the kind of a body; without a content type its first bytes decide."""
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
