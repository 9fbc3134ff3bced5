"""Addresses: which IP addresses of the net a page may be fetched from. Pure.

Refused is what is not the public internet: this machine, private networks, link-local ones (where
clouds serve their machines' metadata), multicast, reserved ranges; and every IPv6 form that only
wraps such an IPv4 address. The ranges stand here by name, because what `ipaddress` counts as
private differs between Python's versions.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

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


def why_refused(address: str) -> str | None:
    """Return why nothing is fetched from this IP address, None if it is public.

    Raises ValueError for what is no IP address. A zone (`%eth0`) is never public.
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        return "link-local"
    return _why(parsed)


def _why(address: Address) -> str | None:
    for reason, network in _RANGES:
        if address.version == network.version and address in network:
            inner = _wrapped(address)
            return reason if inner is None else _why(inner) or reason
    inner = _wrapped(address)
    return _why(inner) if inner is not None else None


def _wrapped(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 one only carries."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return low
    return None
