"""How a service is reached: the time-out of a connection, the certificates, when a proxy is used;
which redirects are followed, and how large an answer may be."""

import ipaddress
import os
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agiraph.foreign.http import MOST_REDIRECTS, guard

if TYPE_CHECKING:
    from ssl import SSLContext

CONNECT_SECONDS = 10.0
ANSWER_BYTES = 32 << 20
STREAM_BYTES = 128 << 20
"""The largest answer of a service in one piece, and as events, of which each takes up to 400 bytes
for a token."""

# Overrides HTTP_PROXY and such (`mounts` of the HTTP clients; not all SDKs respect `trust_env`).
PAST_PROXIES: dict[str, None] = {"http://": None, "https://": None, "all://": None}


def is_loopback(url: str) -> bool:
    """Whether a service is on this machine, where no proxy can reach it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def mounts_for(url: str) -> dict[str, None]:
    """Return the `mounts` of an HTTP client for `url`."""
    return PAST_PROXIES if is_loopback(url) else {}


def client_options(url: str) -> dict[str, Any]:
    """Return the options of every HTTP client for the service at `url`; imports httpx2."""
    return {
        "mounts": mounts_for(url),
        "verify": trusted(),
        "headers": {"accept-encoding": "identity"},
        "follow_redirects": True,  # those that the hook lets pass
        "max_redirects": MOST_REDIRECTS,
        "event_hooks": {"response": [guard(ANSWER_BYTES, STREAM_BYTES)]},
    }


def trusted() -> "SSLContext":
    """Return the certificates that services are verified by; imports httpx2 the first time.

    All clients of a process share them: to read them takes 25 milliseconds.
    """
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(file: str | None, folder: str | None) -> "SSLContext":
    import httpx2

    return httpx2.create_ssl_context()  # it looks at these variables itself
