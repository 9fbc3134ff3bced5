"""How a service is reached: how long a connection may take, and when no proxy is in between."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

CONNECT_SECONDS = 10.0


def is_loopback(url: str) -> bool:
    """Whether a service is on this machine, where no proxy of the environment can reach it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def client_options(url: str) -> dict[str, Any]:
    """Return how an SDK's own HTTP client goes to `url`: as arguments of its constructor.

    Directly, over connections of our own; where the environment names a proxy, as the library does.
    Imports the HTTP library of the SDKs.
    """
    if not is_loopback(url) and any(getproxies().get(kind) for kind in ("http", "https", "all")):
        return {}
    from agiraph.providers.connections import Connections

    return {"transport": Connections()}
