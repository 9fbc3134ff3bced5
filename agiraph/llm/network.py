"""How a service is reached: the time-out of a connection, and when no proxy is used."""

import ipaddress
from urllib.parse import urlsplit

CONNECT_SECONDS = 10.0

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
