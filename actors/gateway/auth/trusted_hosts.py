"""The names under which the gateway may be called, and whose pages may call it.

Checking the Host keeps out a web page whose name was made to point at this machine (DNS
rebinding); checking the Origin keeps out a page of another site that uses our cookie.
"""

import ipaddress
import socket
from functools import lru_cache

MOST_HEADERS = 64
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class TrustedHosts:
    """The names under which this gateway may be called."""

    def __init__(self, host: str, *others: str, is_tls: bool = False) -> None:
        """Allow the loopback names, `host` if it is configured to be another one, and `others`.

        Without TLS of our own a page may still come by it: from a proxy before us.

        On a wildcard address any literal IP address serves, and this machine's own name.
        """
        self._is_wildcard = host in ("", "0.0.0.0", "::")
        own = {socket.gethostname().lower()} if self._is_wildcard else {host.lower()}
        self._schemes = ("https",) if is_tls else ("http", "https")
        self.allow = lru_cache(MOST_HEADERS)(self._allow)
        self._allowed = LOOPBACK | own | {name.lower() for name in others}

    def _allow(self, host_header: str) -> bool:
        """Whether a Host header (`name` or `name:port`) names us."""
        name = _name_of(host_header)
        if name is None:
            return False
        return name in self._allowed or (self._is_wildcard and _is_ip(name))

    def allow_origin(self, origin: str, host_header: str) -> bool:
        """Whether a browser's Origin is this gateway's own, as it was called."""
        scheme, mark, rest = origin.partition("://")
        return bool(mark) and scheme in self._schemes and rest.lower() == host_header.lower()


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
