"""Network settings for services: time-outs, certificates, proxies, redirects, answer sizes."""

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from agiraph.foreign.http import MOST_REDIRECTS, guard
from agiraph.foreign.proxies import proxy_for

if TYPE_CHECKING:
    from ssl import SSLContext

CONNECT_SECONDS = 10.0
ANSWER_BYTES = 32 << 20
STREAM_BYTES = 128 << 20
"""The largest answer of a service in one piece, and as events, of which each takes up to 400 bytes
for a token."""


def client_options(url: str) -> dict[str, Any]:
    """Return the options of every HTTP client for the service at `url`; imports httpx2.

    Raises InvalidInput for a variable that names no usable proxy.
    """
    return {
        "proxy": proxy_for(url, os.environ),
        "trust_env": False,
        "verify": trusted(),
        "headers": {"accept-encoding": "identity"},
        "follow_redirects": True,  # limited by the hook
        "max_redirects": MOST_REDIRECTS,
        "event_hooks": {"response": [guard(ANSWER_BYTES, STREAM_BYTES)]},
    }


def trusted() -> "SSLContext":
    """Return the certificates to verify services; imports httpx2 the first time.

    All clients of a process share them: reading them takes 25 milliseconds.
    """
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(file: str | None, folder: str | None) -> "SSLContext":
    import httpx2

    return httpx2.create_ssl_context()  # it reads these variables itself
