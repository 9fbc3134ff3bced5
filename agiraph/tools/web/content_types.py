"""Content types: what is done with a body of a content type: read as a page, shown as text, or
refused.

Pure.
"""

from typing import Literal

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
