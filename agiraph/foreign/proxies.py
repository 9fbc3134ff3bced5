"""Proxies: which HTTP proxy a request uses, by the environment variables that curl and others read.

`HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` name a proxy, in either case, the lower one first.
`NO_PROXY` lists hosts that are reached without it, separated by commas: `*`, a name with all its
subdomains (`corp.example`, `.corp.example`, `*.corp.example`), each with `:PORT` if wanted, an IP
address (IPv6 also in brackets), or a network such as `10.0.0.0/8`. Entries that cannot be read
match nothing, as with curl. This machine itself (loopback) is always reached without a proxy.

The HTTP libraries read these variables themselves when a client is made, and refuse to make a
client if any value is invalid, even for another service. Therefore no client of Agiraph reads the
environment (`trust_env=False`), and each is given the proxy of its one service.
"""

import importlib.util
import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from agiraph.core.errors import InvalidInput

SCHEMES: Final = ("http", "https", "socks5", "socks5h")
SOCKS_NEEDS: Final = "socksio"
DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the URL of the proxy for requests to `url`, None if there is none.

    Raises InvalidInput, with the name of the variable, if its value cannot be used.
    """
    target = urlsplit(url)
    if is_loopback(url) or _is_exempt(target, _variable("NO_PROXY", environ)[1]):
        return None
    for name in (f"{target.scheme.upper()}_PROXY", "ALL_PROXY"):
        variable, value = _variable(name, environ)
        if value:
            return _checked(variable, value)
    return None


def is_loopback(url: str) -> bool:
    """Whether a service is on this machine, where no proxy can reach it.

    Connections to `0.0.0.0` and `::`, on which servers listen, lead to this machine.
    """
    host = urlsplit(url).hostname or ""
    try:
        named = ipaddress.ip_address(host)
        address = getattr(named, "ipv4_mapped", None) or named
        return bool(address.is_loopback or address.is_unspecified)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _variable(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return a variable's name as it is set, and its value; '' if it is not set."""
    for spelled in (name.lower(), name):
        if value := environ.get(spelled, "").strip():
            return spelled, value
    return name, ""


def _checked(variable: str, value: str) -> str:
    """Return a proxy's URL; a value without a scheme is an HTTP proxy."""
    shown = value.rpartition("@")[2]
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidInput(f"{variable} is no URL of a proxy: '{shown}'") from None
    scheme = {"socks": "socks5h"}.get(parts.scheme, parts.scheme)
    if scheme not in SCHEMES:
        kinds = ", ".join(f"{one}://" for one in SCHEMES)
        raise InvalidInput(
            f"{variable}: '{shown}' is no proxy that can be used (possible: {kinds})"
        )
    if not has_host:
        raise InvalidInput(f"{variable} names no host: '{shown}'")
    if scheme.startswith("socks") and importlib.util.find_spec(SOCKS_NEEDS) is None:
        raise InvalidInput(f"{variable} is a SOCKS proxy, which needs: pip install {SOCKS_NEEDS}")
    return parts._replace(scheme=scheme).geturl()


def _is_exempt(target: SplitResult, listed: str) -> bool:
    host = (target.hostname or "").rstrip(".")
    port = target.port or DEFAULT_PORTS.get(target.scheme, 0)
    entries = (entry.strip().lower() for entry in listed.split(","))
    return any(entry == "*" or _matches(entry, host, port) for entry in entries if entry)


def _matches(entry: str, host: str, port: int) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name, _, wanted = entry.partition(":")
        name = name.removeprefix("*").strip(".")
        is_port = not wanted or wanted == str(port)
        return bool(name) and is_port and (host == name or host.endswith(f".{name}"))
    named, _, wanted = entry.rpartition("]:") if "]:" in entry else (entry, "", "")
    if not wanted and entry.count(":") == 1:
        named, _, wanted = entry.partition(":")
    try:
        network = ipaddress.ip_network(named.strip("[]"), strict=False)
    except ValueError:
        return False
    return address in network and wanted in ("", str(port))
