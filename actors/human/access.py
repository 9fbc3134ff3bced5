"""Who may come in: the token of the home, and the names under which the gateway may be called.

Checking the Host keeps out a web page whose name was made to point at this machine (DNS
rebinding); checking the Origin keeps out a page of another site that uses our cookie.
"""

import hmac
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

TOKEN_BYTES = 32
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE = "agiraph_token"

RawHeaders = Iterable[tuple[bytes, bytes]]


def load_token(path: Path) -> str:
    """Return the home's token, made on the first call; its file is for this user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return _make_token(path)
    with os.fdopen(fd, "rb") as file:
        if stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
            os.fchmod(fd, 0o600)
        token = file.read().decode("ascii", "replace").strip()
    if len(token) >= TOKEN_BYTES and token.isascii():
        return token
    path.unlink()
    return _make_token(path)


def _make_token(path: Path) -> str:
    """Write a new token beside its place and move it there whole."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(fd)
    os.replace(part, path)
    return token


def is_same_token(given: str, token: str) -> bool:
    """Compare in a time that tells nothing of either, length included."""
    one = sha256(given.encode("utf-8", "surrogateescape")).digest()
    other = sha256(token.encode()).digest()
    return hmac.compare_digest(one, other)


class Names:
    """The names under which this gateway may be called."""

    def __init__(self, host: str) -> None:
        """Allow the loopback names, and `host` if it is configured to be another one.

        On a wildcard address any literal IP address serves, and this machine's own name.
        """
        self._is_wildcard = host in ("", "0.0.0.0", "::")
        own = {socket.gethostname().lower()} if self._is_wildcard else {host.lower()}
        self._allowed = LOOPBACK | own

    def allow(self, host_header: str) -> bool:
        """Whether a Host header (`name` or `name:port`) names us."""
        name = _name_of(host_header)
        if name is None:
            return False
        return name in self._allowed or (self._is_wildcard and _is_ip(name))

    def allow_origin(self, origin: str, host_header: str) -> bool:
        """Whether a browser's Origin is this gateway's own, as it was called."""
        scheme, mark, rest = origin.partition("://")
        return bool(mark) and scheme in ("http", "https") and rest.lower() == host_header.lower()


def _name_of(host_header: str) -> str | None:
    """Return the name without its port, None if the header is malformed."""
    value = host_header.strip().lower()
    if value.startswith("["):
        name, bracket, port = value[1:].partition("]")
        if not bracket or (port and not (port.startswith(":") and port[1:].isdecimal())):
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


def bearer(headers: RawHeaders) -> str | None:
    """Return the token of the Authorization header."""
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def cookie(headers: RawHeaders) -> str | None:
    """Return the token of our cookie."""
    for pair in header(headers, b"cookie").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE and value:
            return value
    return None


def header(headers: RawHeaders, name: bytes) -> str:
    """Return a header's value, empty if it is not there."""
    return next((value.decode("latin-1") for key, value in headers if key == name), "")
