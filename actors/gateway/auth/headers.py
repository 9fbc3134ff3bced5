"""What a call brings along to show who it is, and where a browser says that it comes from."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

RawHeaders = Iterable[tuple[bytes, bytes]]

OWN_PAGES = ("same-origin", "none")
"""What Sec-Fetch-Site says of our own pages, and of an address that a person typed."""


def bearer(headers: RawHeaders) -> str | None:
    """Return the token of the Authorization header."""
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def cookies(headers: RawHeaders, name: str) -> list[str]:
    """Return the values of every cookie of that name; another page's may stand beside ours."""
    pairs = (pair.strip().partition("=") for pair in header(headers, b"cookie").split(";"))
    return [value for found, _, value in pairs if found == name and value]


def is_from_elsewhere(headers: RawHeaders) -> bool:
    """Whether a browser says that a page of another origin makes it call.

    SameSite=Strict leaves out one case: a page of another server on this same machine is of the
    same site, whatever its port.
    """
    site = header(headers, b"sec-fetch-site").strip().lower()
    return bool(site) and site not in OWN_PAGES


def header(headers: RawHeaders, name: bytes) -> str:
    """Return a header's value, empty if it is not there."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return ""


PAIRS = "agiraph.pairs"
"""What a scope has its query's names and values under, once they are read."""


def pairs_of(query: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a query."""
    text = query.decode("latin-1")
    if "%" in text or "+" in text:
        return parse_qsl(text, keep_blank_values=True)
    parts = (part.partition("=") for part in text.split("&") if part)
    return [(name, value) for name, _, value in parts]


def size_of(headers: RawHeaders) -> int:
    """Return the bytes of all names and values."""
    return sum(len(key) + len(value) + 4 for key, value in headers)


def declared_length(headers: RawHeaders) -> int:
    """Return what Content-Length says, 0 if it says nothing."""
    declared = header(headers, b"content-length")
    return int(declared) if declared.isdecimal() else 0


def without(headers: RawHeaders, name: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers but for one."""
    return [(key, value) for key, value in headers if key != name]
