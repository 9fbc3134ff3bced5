"""How a service is reached: how long a connection may take, and when no proxy is in between."""

import ipaddress
from urllib.parse import urlsplit

CONNECT_SECONDS = 10.0

# What HTTP clients read from HTTP_PROXY and its kin, overruled (`mounts` of their constructors; the
# SDKs heed it, but not all of them `trust_env`).
PAST_PROXIES: dict[str, None] = {"http://": None, "https://": None, "all://": None}


def is_loopback(url: str) -> bool:
    """Whether a service is on this machine, where no proxy of the environment can reach it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def mounts_for(url: str) -> dict[str, None]:
    """Return the `mounts` with which an HTTP client goes to `url`."""
    return PAST_PROXIES if is_loopback(url) else {}
