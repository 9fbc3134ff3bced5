"""Addresses: the URLs and IP addresses from which a page may be fetched. Pure.

All addresses outside the public internet are refused: this machine, private networks, link-local
addresses (where clouds serve their machines' metadata), multicast, reserved ranges; and every IPv6
form that only wraps such an IPv4 address. The ranges are listed here by name, because the private
ranges of `ipaddress` differ between versions of Python.
"""

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import inet_aton

import httpx

from agiraph.core.errors import InvalidInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

REFUSED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("this machine", ("127.0.0.0/8", "::1/128")),
    ("no address", ("0.0.0.0/8", "::/128")),
    ("cloud metadata", ("168.63.129.16/32", "100.100.100.200/32", "fd00:ec2::/32")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("a private network", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")),
    ("a private network", ("fc00::/7", "fec0::/10")),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    (
        "reserved",
        (
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "240.0.0.0/4", "100::/64", "2001:db8::/32", "64:ff9b:1::/48"),
            *("2001::/23", "3fff::/20", "5f00::/16"),
        ),
    ),
)
_RANGES: tuple[tuple[str, Network], ...] = tuple(
    (reason, ip_network(range_)) for reason, ranges in REFUSED for range_ in ranges
)
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The only IPv6 addresses that are assigned to the public internet."""


def why_refused(address: str) -> str | None:
    """Return why this IP address is refused, None if it is public.

    Raises ValueError for an invalid IP address. A zone (`%eth0`) is never public.
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        return "link-local"
    return _why(parsed)


def why_host_refused(host: str) -> str | None:
    """Return why a host that is written as an IP address is refused, None for any other host.

    Many resolvers also accept an IPv4 address as one number, with fewer parts, in octal or in
    hexadecimal (`2130706433`, `127.1`, `0x7f.1`).
    """
    name = host.rstrip(".")
    with suppress(ValueError):
        return why_refused(name)
    try:
        return _why(IPv4Address(inet_aton(name)))
    except (OSError, ValueError):
        return None


def _why(address: Address) -> str | None:
    for reason, network in _RANGES:
        if address.version == network.version and address in network:
            inner = _wrapped(address)
            return reason if inner is None else _why(inner) or reason
    inner = _wrapped(address)
    if inner is not None:
        return _why(inner)
    is_assigned = isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST
    return None if is_assigned else "reserved"


def _wrapped(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address wraps, None if there is none."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        return low
    return None


LONGEST_URL = 4000
HIGHEST_PORT = 65535
SCHEMES = ("http", "https")
LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "test", "invalid")


def parsed(text: str) -> httpx.URL:
    """Return the URL that `text` names, without its fragment. Raises InvalidInput without one.

    A bare `example.com/page` means https.
    """
    shown = text.strip()
    if not shown or len(shown) > LONGEST_URL or any(mark.isspace() for mark in shown):
        raise InvalidInput(f"'{shown[:80]}' is no url (possible: https://example.com/page)")
    try:
        url = httpx.URL(shown if "://" in shown or _names_a_scheme(shown) else f"https://{shown}")
        return _checked(url, shown).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"'{shown[:80]}' is no url ({error})") from None


def target(url: httpx.URL, location: str) -> httpx.URL:
    """Return the target of a redirect from `url`. Raises InvalidInput if it cannot be fetched."""
    try:
        return _checked(url.join(location), location).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"'{location[:80]}' is no url ({error})") from None


def origin(url: httpx.URL) -> str:
    """Return scheme, host and port of a URL: the part of the web that one robots.txt is about."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def is_local_name(host: str) -> bool:
    """Whether a host's name is known to this machine or network only."""
    return host.lower().rstrip(".").rpartition(".")[2] in LOCAL_NAMES or host in ("home.arpa",)


def _names_a_scheme(text: str) -> bool:
    """Whether `text` begins as `mailto:x` does, not as `example.com:8080/x`."""
    scheme, colon, rest = text.partition(":")
    return bool(colon) and "." not in scheme and not rest[:1].isdigit() and "/" not in scheme


def _checked(url: httpx.URL, shown: str) -> httpx.URL:
    if url.scheme not in SCHEMES:
        raise InvalidInput(
            f"'{shown[:80]}' cannot be fetched: scheme '{url.scheme}' (possible: http, https)"
        )
    if not url.host:
        raise InvalidInput(f"'{shown[:80]}' names no host (possible: https://example.com/page)")
    if url.port is not None and not 0 < url.port <= HIGHEST_PORT:
        raise InvalidInput(f"'{shown[:80]}' is no url (port {url.port})")
    if url.userinfo:
        raise InvalidInput(f"the url of {url.host} holds a name or password; leave them out")
    return url
