"""Readers of a call's headers: its token, its origin, the host name that it uses.

Checking the Host refuses web pages whose domain name resolves to this machine (DNS rebinding);
checking the Origin refuses pages of other sites that send our cookie.
"""

import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import parse_qsl

MOST_HEADERS = 64
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

RawHeaders = Iterable[tuple[bytes, bytes]]

OWN_PAGES = ("same-origin", "none")
"""Sec-Fetch-Site of our own pages, and of an address that a person typed."""


def bearer(headers: RawHeaders) -> str | None:
    """Return the token of the Authorization header, None without one."""
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def cookies(headers: RawHeaders, name: str) -> list[str]:
    """Return all cookies with this name; another page's cookies may be among them."""
    pairs = (pair.strip().partition("=") for pair in header(headers, b"cookie").split(";"))
    return [value for found, _, value in pairs if found == name and value]


def is_from_elsewhere(headers: RawHeaders) -> bool:
    """Whether a browser marks a call as made by a page of another origin.

    SameSite=Strict does not cover one case: a page of another server on this machine is of the same
    site, whatever its port.
    """
    site = header(headers, b"sec-fetch-site").strip().lower()
    return bool(site) and site not in OWN_PAGES


def header(headers: RawHeaders, name: bytes) -> str:
    """Return a header's value, empty if it is missing."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return ""


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """Return the decoded names and values of a query string, in order."""
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True) if query else []


def size_of(headers: RawHeaders) -> int:
    """Return the size of a call's headers in bytes: all names, values and separators."""
    return sum(len(key) + len(value) + 4 for key, value in headers)


def declared_length(headers: RawHeaders) -> int:
    """Return the Content-Length, 0 without one."""
    declared = header(headers, b"content-length")
    return int(declared) if declared.isdecimal() else 0


class TrustedHosts:
    """The host names that calls may use: loopback's, `host` and `others`.

    On a wildcard address any literal IP address is accepted, and this machine's own name. Without
    TLS of our own, a page may still use HTTPS: a proxy in front of us may provide it.
    """

    def __init__(self, host: str, *others: str, is_tls: bool = False) -> None:
        self._is_wildcard = host in ("", "0.0.0.0", "::")
        own = {socket.gethostname().lower()} if self._is_wildcard else {host.lower()}
        self._schemes = ("https",) if is_tls else ("http", "https")
        self.allow = lru_cache(MOST_HEADERS)(self._allow)
        self._allowed = LOOPBACK | own | {name.lower() for name in others}

    def _allow(self, host_header: str) -> bool:
        """Whether a Host header (`name` or `name:port`) is allowed as a name of this gateway."""
        name = _name_of(host_header)
        if name is None:
            return False
        return name in self._allowed or (self._is_wildcard and _is_ip(name))

    def allow_origin(self, origin: str, host_header: str) -> bool:
        """Whether a browser's Origin is this gateway's own, by the Host header of the call."""
        scheme, mark, rest = origin.partition("://")
        return bool(mark) and scheme in self._schemes and rest.lower() == host_header.lower()


def _name_of(host_header: str) -> str | None:
    """Return the name without its port, None if the header is malformed."""
    value = host_header.strip().lower()
    if value.startswith("["):
        name, bracket, port = value[1:].partition("]")
        if (
            not name
            or not bracket
            or (port and not (port.startswith(":") and port[1:].isdecimal()))
        ):
            return None
        return name
    name, colon, port = value.partition(":")
    if not name or (colon and not port.isdecimal()):
        return None
    return name


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
